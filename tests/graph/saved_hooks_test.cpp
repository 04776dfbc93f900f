// Hooks on saved tensors: which of them are called, when, and their errors.
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "walk.hpp"

namespace {

auto const same = [](xg::AnyTensor const& t) { return t; };

struct Counts {
    int packed = 0, unpacked = 0;
    auto pack() {
        return [this](xg::AnyTensor const& t) {
            ++packed;
            return t;
        };
    }
    auto unpack() {
        return [this](xg::AnyTensor const& t) {
            ++unpacked;
            return t;
        };
    }
};

struct Broken {};

} // namespace

TEST_CASE("pack runs once for each saved tensor, unpack once for each pass that needs it") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    Counts n;
    D y;
    {
        xg::SavedTensorsHooks const hooks(n.pack(), n.unpack());
        y = x * w;
        CHECK(n.packed == 2);
        y = exp(y);
        CHECK(n.packed == 3);
    }
    D const z = sum(y * y);
    CHECK(n.packed == 3);
    CHECK(n.unpacked == 0);
    z.backward({.retain_graph = true});
    CHECK(n.unpacked == 3);
    z.backward();
    CHECK(n.unpacked == 6);
    CHECK(n.packed == 3);
    CHECK_THROWS_AS(z.backward(), xg::GraphError);
    CHECK(n.unpacked == 6);
}

TEST_CASE("nothing is packed where nothing is saved") {
    D const x({1., 2.}, xg::requires_grad), c({3., 4.});
    Counts n;
    xg::SavedTensorsHooks const hooks(n.pack(), n.unpack());
    D const a = x + c, b = 2. * x, s = sum(x), view = x[0], k = c * c;
    {
        xg::NoGradGuard const off;
        D const q = x * x;
    }
    CHECK(n.packed == 0);
    D const y = x * c;
    CHECK(n.packed == 1);
}

TEST_CASE("what pack returns is kept in the tensor's place, and may be of any type") {
    D const x({1., 2.}, xg::requires_grad);
    xg::SavedTensorsHooks const hooks([](xg::AnyTensor const& t) { return values(t.as<double>()); },
        [](std::vector<double> const& v) {
            return D({10. * v[0], 10. * v[1]});
        });
    D const y = x * x;
    CHECK(difference(y.grad_fn()->saved("a").unpack().as<double>(), {10., 20.}) == "");
    CHECK(difference(grad(sum(y), x), {20., 40.}) == "");
}

TEST_CASE("hooks may keep a saved tensor on disk") {
    auto const folder =
        std::filesystem::temp_directory_path() /
        ("xgrad_saved_" + std::to_string(std::hash<std::thread::id>{}(std::this_thread::get_id())));
    std::filesystem::create_directory(folder);
    D const x({1., 2., 3.}, xg::requires_grad);
    {
        int files = 0;
        xg::SavedTensorsHooks const hooks(
            [&](xg::AnyTensor const& t) {
                auto const path = folder / std::to_string(files++);
                auto const v = values(t.as<double>());
                std::ofstream(path, std::ios::binary)
                    .write(reinterpret_cast<char const*>(v.data()),
                        static_cast<std::streamsize>(v.size() * sizeof(double)));
                return path;
            },
            [](std::filesystem::path const& path) {
                D t = xg::zeros({3});
                std::ifstream(path, std::ios::binary)
                    .read(reinterpret_cast<char*>(t.mutable_data()), 3 * sizeof(double));
                return t;
            });
        D const y = exp(x);
        D const z = y * x;
        sum(z).backward();
        CHECK(files == 3);
        CHECK(difference(x.grad(), D(exp(x.detach()) * (x.detach() + 1.))) == "");
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("both hooks run without recording, with a tensor without history") {
    D const x({1., 2.}, xg::requires_grad);
    bool recorded = false;
    auto const look = [&](xg::AnyTensor const& t) {
        recorded |=
            xg::is_grad_enabled() || t.requires_grad() || D(t.as<double>() * 2.).requires_grad();
        return t;
    };
    xg::SavedTensorsHooks const hooks(look, look);
    D const y = x * x;
    D const z = y * y;
    sum(z).backward();
    CHECK_FALSE(recorded);
    CHECK(xg::is_grad_enabled());
    CHECK(difference(x.grad(), {4., 32.}) == "");
}

TEST_CASE("of nested hooks the innermost count, for the thread that made them") {
    D const x({1., 2.}, xg::requires_grad);
    Counts outer, inner;
    {
        xg::SavedTensorsHooks const a(outer.pack(), outer.unpack());
        D y;
        {
            xg::SavedTensorsHooks const b(inner.pack(), inner.unpack());
            y = x * x;
            std::thread([&] { static_cast<void>(D(x * x)); }).join();
        }
        CHECK(inner.packed == 1);
        CHECK(outer.packed == 0);
        sum(sin(y)).backward();
        CHECK(inner.unpacked == 1);
        CHECK(outer.packed == 1);
        CHECK(outer.unpacked == 1);
    }
    static_cast<void>(D(x * x));
    CHECK(outer.packed == 1);
}

TEST_CASE("double backward passes through the hooks") {
    D const a({5.}, xg::requires_grad);
    auto const derivative = [&](auto pack, auto unpack) {
        xg::SavedTensorsHooks const hooks(pack, unpack);
        D const y = a * a * a;
        D const g = grad(sum(y), a, {.create_graph = true});
        return grad(sum(g), a);
    };
    auto const doubled = [](xg::AnyTensor const& t) { return D(2. * t.as<double>()); };
    CHECK(difference(derivative(same, same), {30.}) == "");
    auto const first = [&](auto pack, auto unpack) {
        xg::SavedTensorsHooks const hooks(pack, unpack);
        return grad(sum(a * a), a);
    };
    CHECK(difference(first(same, same), {10.}) == "");
    CHECK(difference(first(doubled, same), {20.}) == "");
    CHECK(difference(first(same, doubled), {20.}) == "");
    CHECK(difference(first(doubled, doubled), {40.}) == "");
}

TEST_CASE("the second derivative of a cube is 6a, 12a, 24a or 48a where hooks double none, or what "
          "forward, backward or both save") {
    auto const doubled = [](xg::AnyTensor const& t) { return D(2. * t.as<double>()); };
    auto const hooks = [&](bool doubles) {
        return doubles ? std::make_unique<xg::SavedTensorsHooks>(doubled, same)
                       : std::make_unique<xg::SavedTensorsHooks>(same, same);
    };
    for (auto const& [forward, backward, wanted] :
        {std::tuple{false, false, 6.}, {true, false, 12.}, {false, true, 24.}, {true, true, 48.}}) {
        D const a({5.}, xg::requires_grad);
        auto outer = hooks(forward);
        D const y = pow(a, 3);
        outer.reset();
        outer = hooks(backward);
        D const g = grad(y, a, {.gradients = {D({1.})}, .create_graph = true});
        outer.reset();
        CHECK(difference(grad(g, a, {.gradients = {D({1.})}}), {wanted * 5.}) == "");
    }
}

TEST_CASE(
    "hooks that double what one Node saved double the second derivative of a cube once for each") {
    D const a({5.}, xg::requires_grad);
    auto const doubled = [](xg::AnyTensor const& t) { return D(2. * t.as<double>()); };
    auto const second = [&](auto pack, auto unpack) {
        D const y = pow(a, 3);
        auto const saved = y.grad_fn()->saved("a");
        saved.register_hooks(pack, unpack);
        D const g = grad(y, a, {.gradients = {D({1.})}, .create_graph = true});
        D const at_doubled = grad(g, a, {.gradients = {D({1.})}});
        return std::pair{values(g)[0], values(at_doubled)[0]};
    };
    CHECK(second(same, same) == std::pair{75., 30.});
    CHECK(second(doubled, same) == std::pair{300., 60.});
    CHECK(second(same, doubled) == std::pair{300., 60.});
    CHECK(second(doubled, doubled) == std::pair{1200., 120.});
}

TEST_CASE("hooks of one saved tensor pack at once") {
    D const x({1., 2.}, xg::requires_grad);
    Counts n;
    D const y = x * x;
    y.grad_fn()->saved("a").register_hooks(n.pack(), n.unpack());
    CHECK(n.packed == 1);
    CHECK(n.unpacked == 0);
    CHECK(difference(y.grad_fn()->saved("a").unpack().as<double>(), {1., 2.}) == "");
    CHECK(n.unpacked == 1);
    sum(y).backward();
    CHECK(n.unpacked == 2);
    CHECK(difference(x.grad(), {2., 4.}) == "");
}

TEST_CASE("hooks are set once, and before the value is freed") {
    D const x({1., 2.}, xg::requires_grad);
    auto const twice =
        doctest::Contains("Calling register_hooks on a saved tensor whose hooks have already been "
                          "set. Hint: only one pair of hooks is allowed at a time.");
    D const y = x * x;
    auto const saved = y.grad_fn()->saved("a");
    saved.register_hooks(same, same);
    CHECK_THROWS_WITH_AS(saved.register_hooks(same, same), twice, xg::GraphError);
    sum(y).backward();
    CHECK_THROWS_WITH_AS(saved.register_hooks(same, same),
        doctest::Contains("Calling register_hooks on a saved tensor after it has been freed."),
        xg::GraphError);
    xg::SavedTensorsHooks const hooks(same, same);
    D const z = x * x;
    CHECK_THROWS_WITH_AS(z.grad_fn()->saved("a").register_hooks(same, same), twice, xg::GraphError);
}

TEST_CASE("a pack hook must not change its argument") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * 1.;
    auto const spoil = [](xg::AnyTensor const& t) {
        t.as<double>() += 1.;
        return t;
    };
    auto const text =
        doctest::Contains("A saved tensor pack hook is modifying its input in place.");
    {
        xg::SavedTensorsHooks const hooks(spoil, same);
        CHECK_THROWS_WITH_AS(D(y * y), text, xg::GraphError);
    }
    D const z = y * y;
    CHECK_THROWS_WITH_AS(z.grad_fn()->saved("a").register_hooks(spoil, same), text, xg::GraphError);
}

TEST_CASE("unpack must return a tensor of the same shape and type") {
    D const x({1., 2.}, xg::requires_grad);
    auto const failure = [&](auto unpack) {
        xg::SavedTensorsHooks const hooks(same, unpack);
        D const y = sum(x * x);
        try {
            y.backward();
        } catch (xg::TypeError const& e) { return std::string(e.what()); }
        return std::string();
    };
    std::string const text = "Output of saved tensor unpack_hook expected to be a tensor of type "
                             "float64 and shape [2] but got ";
    CHECK(failure([](xg::AnyTensor const&) { return D({1., 2., 3.}); }) == text + "[float64 [3]]");
    CHECK(failure([](xg::AnyTensor const&) { return F({1.f, 2.f}); }) == text + "[float32 [2]]");
    CHECK(failure([](xg::AnyTensor const&) { return xg::AnyTensor(); }) == text + "[undefined]");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("exceptions of hooks come out as they are, and the graph stays usable") {
    D const x({1., 2.}, xg::requires_grad);
    {
        xg::SavedTensorsHooks const hooks(
            [](xg::AnyTensor const& t) -> xg::AnyTensor {
                if (t.defined()) throw Broken();
                return t;
            },
            same);
        CHECK_THROWS_AS(D(x * x), Broken);
        D y = D(x * 1.);
        CHECK_THROWS_AS(y *= y, Broken);
        CHECK(difference(y, {1., 2.}) == "");
        CHECK(y.version() == 0);
    }
    bool broken = true;
    D y;
    {
        xg::SavedTensorsHooks const hooks(same, [&](xg::AnyTensor const& t) {
            if (broken) throw Broken();
            return t;
        });
        y = sum(x * x);
    }
    CHECK_THROWS_AS(y.backward(), Broken);
    CHECK(xg::is_grad_enabled());
    broken = false;
    y.backward();
    CHECK(difference(x.grad(), {2., 4.}) == "");
}

TEST_CASE("where hooks are disabled, making them fails with the given words; the innermost count") {
    D const x({1., 2.}, xg::requires_grad);
    {
        xg::DisableSavedTensorsHooks const off("not here");
        CHECK_THROWS_WITH_AS(
            static_cast<void>(xg::SavedTensorsHooks(same, same)), "not here", xg::GraphError);
        {
            xg::DisableSavedTensorsHooks const inner("nor here");
            CHECK_THROWS_WITH_AS(
                static_cast<void>(xg::SavedTensorsHooks(same, same)), "nor here", xg::GraphError);
        }
        CHECK_THROWS_WITH_AS(
            static_cast<void>(xg::SavedTensorsHooks(same, same)), "not here", xg::GraphError);
        CHECK(difference(grad(sum(x * x), x), {2., 4.}) == "");
        bool in_other_thread = false;
        std::thread([&] {
            xg::SavedTensorsHooks const theirs(same, same);
            in_other_thread = true;
        }).join();
        CHECK(in_other_thread);
    }
    Counts n;
    xg::SavedTensorsHooks const hooks(n.pack(), n.unpack());
    CHECK_THROWS_WITH_AS(
        static_cast<void>(xg::DisableSavedTensorsHooks("too late")), "too late", xg::GraphError);
    static_cast<void>(D(x * x));
    CHECK(n.packed == 1);
}

TEST_CASE("a change of what hooks packed is theirs to notice") {
    D const x({1., 2.}, xg::requires_grad);
    D w({3., 4.});
    D y;
    SUBCASE("a copy is as it was") {
        xg::SavedTensorsHooks const hooks(
            [](xg::AnyTensor const& t) { return t.as<double>().clone(); },
            [](D const& t) { return t; });
        y = sum(x * w);
        w += 1.;
        CHECK(difference(grad(y, x), {3., 4.}) == "");
    }
    SUBCASE("the tensor itself shows its new values") {
        xg::SavedTensorsHooks const hooks(same, same);
        y = sum(x * w);
        w += 1.;
        CHECK(difference(grad(y, x), {4., 5.}) == "");
    }
}

TEST_CASE("saved tensors of every kind of Node pass through the hooks") {
    D const x({{1., 2.}, {3., 5.}}, xg::requires_grad);
    Counts n;
    auto const f = [&] {
        D y = matmul(x, x);
        y *= y;
        y[0].exp_();
        return D(sum(prod(x, {0}) * y / 1e30) + sum(fft(x)(xt::all(), 1).real() * D({1., 2.})));
    };
    D const want = grad(f(), x);
    xg::SavedTensorsHooks const hooks(n.pack(), n.unpack());
    CHECK(difference(grad(f(), x), want) == "");
    CHECK(n.packed > 5);
    CHECK(n.unpacked == n.packed);
}
