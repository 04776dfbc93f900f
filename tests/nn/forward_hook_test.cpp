// Hooks around forward: what they see, what they replace, which run when something throws.
#include "graph/threads.hpp"
#include "two_layers.hpp"

namespace {

struct Twice : nn::Module<Twice> {
    D forward(D const& x) const { return 2. * x; }
};
struct Mixed : nn::Module<Mixed> {
    std::tuple<D, int> forward(D const& x, F const& y, int n) const {
        return {x * cast<double>(y), n};
    }
};
struct AnyType : nn::Module<AnyType> {
    template <class T> auto forward(xg::Tensor<T> const& x, int n) const { return x * T(n); }
};
struct Overloaded : nn::Module<Overloaded> {
    D forward(D const& x) const { return x + 1.; }
    F forward(F const& x) const { return x + 2.f; }
};
struct Throwing : nn::Module<Throwing> {
    D forward(D const& x) const {
        if (x.item() > 0) throw std::out_of_range("boom");
        return x;
    }
};
struct Nothing : nn::Module<Nothing> {
    int* calls;
    explicit Nothing(int& n) : calls(&n) {}
    void forward(std::vector<int>& out) const { out.push_back(++*calls); }
};

struct WithFlag : nn::Module<WithFlag> {
    D forward(D const& x, bool negative = false) const { return negative ? D(-x) : 2. * x; }
};
/// As an LSTM's: the state may be left out.
struct WithState : nn::Module<WithState> {
    std::tuple<D, D> forward(D const& x, D const& h = {}, std::optional<D> const& c = {}) {
        D const sum = h.defined() ? D(x + h) : x;
        return {sum, c ? D(sum * *c) : sum};
    }
};

} // namespace

TEST_CASE("a pre-hook replaces the argument, a forward hook the result; each sees what the one "
          "before it returned") {
    Twice m;
    m.register_forward_pre_hook([](Twice&, D const& x) { return x + 1.; });
    m.register_forward_pre_hook([](Twice&, D const& x) { CHECK(difference(x, {4.}) == ""); });
    m.register_forward_hook([](Twice&, std::tuple<D> const& in, D const& y) {
        CHECK(difference(std::get<0>(in), {4.}) == "");
        return D(y * 10.);
    });
    m.register_forward_hook([](Twice&, auto const&, D const& y) -> std::optional<D> {
        CHECK(difference(y, {80.}) == "");
        return std::nullopt;
    });
    CHECK(difference(m(D({3.})), {80.}) == "");
    CHECK(difference(m.forward(D({3.})), {6.}) == "");
}

TEST_CASE("several arguments of several types, and a tuple as result") {
    Mixed m;
    m.register_forward_pre_hook(
        [](Mixed&, D const& x, F const& y, int n) { return std::tuple(D(x + 1.), y, n + 1); });
    m.register_forward_hook(
        [](Mixed&, std::tuple<D, F, int> const& in, std::tuple<D, int> const& out) {
            CHECK(std::get<2>(in) == 8);
            return std::tuple(std::get<0>(out), std::get<1>(out) * 2);
        });
    auto const [y, n] = m(D({1.}), F({3.f}), 7);
    CHECK(difference(y, {6.}) == "");
    CHECK(n == 16);
}

TEST_CASE("prepend and remove") {
    std::string log;
    Twice m;
    auto const note = [&](char const* what) {
        return [&log, what](auto const&...) { log += what; };
    };
    auto b = m.register_forward_pre_hook(note("b"));
    m.register_forward_pre_hook(note("a"), {.prepend = true});
    auto d = m.register_forward_hook(note("d"));
    m.register_forward_hook(note("c"), {.prepend = true});
    m(D({1.}));
    CHECK(log == "abcd");
    b.remove(), d.remove(), d.remove();
    m(D({1.}));
    CHECK(log == "abcdac");
}

TEST_CASE("a forward that is a template or overloaded has hooks on tensors of any type") {
    AnyType m;
    m.register_forward_pre_hook([](AnyType&, std::vector<xg::AnyTensor> const& in) {
        REQUIRE(in.size() == 2);
        CHECK_FALSE(in[1].defined());
        return std::vector<xg::AnyTensor>{F(in[0].as<float>() + 1.f), {}};
    });
    m.register_forward_hook([](AnyType&, auto const&, std::vector<xg::AnyTensor> const& out) {
        CHECK(difference(out.at(0).template as<float>(), {8.f}) == "");
    });
    CHECK(difference(m(F({3.f}), 2), {8.f}) == "");

    Overloaded o;
    int calls = 0;
    o.register_forward_hook([&](Overloaded&, std::vector<xg::AnyTensor> const&,
                                std::vector<xg::AnyTensor> const&) { ++calls; });
    CHECK(difference(o(D({1.})), {2.}) == "");
    CHECK(difference(o(F({1.f})), {3.f}) == "");
    CHECK(calls == 2);
}

TEST_CASE("hooks of all modules come first, and may replace by tensors of the same types") {
    std::string log;
    Twice m;
    m.register_forward_pre_hook([&](auto const&...) { log += "own "; });
    auto pre = nn::register_module_forward_pre_hook(
        [&](nn::AnyModule& any, std::vector<xg::AnyTensor> const& in) {
            log += std::string(any.kind()) + " ";
            return std::vector<xg::AnyTensor>{D(in[0].as<double>() + 1.)};
        });
    auto post = nn::register_module_forward_hook(
        [&](nn::AnyModule&, std::vector<xg::AnyTensor> const&,
            std::vector<xg::AnyTensor> const& out) { return out; });
    CHECK(difference(m(D({1.})), {4.}) == "");
    CHECK(log == "Twice own ");
    auto wrong = nn::register_module_forward_pre_hook(
        [](auto&, auto const&) { return std::vector<xg::AnyTensor>{F({1.f})}; });
    CHECK_THROWS_WITH_AS(m(D({1.})),
        "a forward pre-hook gave a tensor of type float32 for number 0, which has type float64",
        xg::TypeError);
    wrong.remove();
    auto many = nn::register_module_forward_pre_hook(
        [](auto&, auto const&) { return std::vector<xg::AnyTensor>(2); });
    CHECK_THROWS_WITH_AS(
        m(D({1.})), "a forward pre-hook returned 2 tensors for 1 arguments", xg::GraphError);
    many.remove(), pre.remove(), post.remove();
    CHECK(difference(m(D({1.})), {2.}) == "");
}

TEST_CASE("several threads call one module under a hook of all modules") {
    std::atomic<int> calls = 0;
    auto handle = nn::register_module_forward_hook([&](auto&&...) { ++calls; });
    for (int round = 0; round < 50; ++round) {
        Twice const m;
        at_once(2, [&](int i) { CHECK(D(m(D({1. + i}))).item() == 2 + 2 * i); });
    }
    handle.remove();
    CHECK(calls == 100);
}

TEST_CASE("always_call: the hook also runs where forward throws, with an undefined result") {
    Throwing m;
    int always = 0, normal = 0, undefined = 0;
    m.register_forward_hook(
        [&](Throwing&, auto const&, D const& y) { ++always, undefined += !y.defined(); },
        {.always_call = true});
    m.register_forward_hook([&](Throwing&, auto const&, D const&) { ++normal; });
    CHECK_THROWS_AS(m(D({1.})), std::out_of_range);
    CHECK(always == 1);
    CHECK(undefined == 1);
    CHECK(normal == 0);
    m(D({-1.}));
    CHECK(always == 2);
    CHECK(undefined == 1);
    CHECK(normal == 1);
}

TEST_CASE("always_call: a hook that another one registers before it throws is called, also where "
          "it stands in the memory of one that is gone") {
    Twice m;
    int calls = 0;
    std::vector<xg::HookHandle> first, others;
    auto const always = [&](int i) {
        auto f = [&, i](nn::AnyModule&, auto const&, auto const&) {
            ++calls;
            if (i < 16) first[static_cast<std::size_t>(i)].remove();
        };
        return nn::register_module_forward_hook(std::move(f), {.always_call = true});
    };
    for (int i = 0; i < 16; ++i) first.push_back(always(i));
    m.register_forward_hook([&](Twice&, auto const&, D const&) {
        for (int i = 0; i < 64; ++i) others.push_back(always(16));
        throw std::runtime_error("second");
    });
    CHECK_THROWS_WITH(m(D({1.})), "second");
    for (auto& handle : others) handle.remove();
    CHECK(calls == 16 + 64);
}

TEST_CASE("always_call: once, where a later hook throws; what it throws itself becomes a warning") {
    Warnings warnings;
    Twice m;
    int calls = 0;
    m.register_forward_hook(
        [&](auto&, auto const&, D const& y) { calls += y.defined(); }, {.always_call = true});
    m.register_forward_hook([](auto&, auto const&, D const&) { throw std::out_of_range("first"); });
    m.register_forward_hook(
        [](auto&, auto const&, D const&) { throw std::runtime_error("second"); },
        {.always_call = true});
    CHECK_THROWS_AS(m(D({1.})), std::out_of_range);
    CHECK(calls == 1);
    REQUIRE(warnings.texts.size() == 1);
    CHECK(warnings.texts[0].find("second") != std::string::npos);
}

TEST_CASE("what is no tensor is passed as it is, with hooks and without") {
    int calls = 0;
    Nothing m(calls);
    std::vector<int> out;
    m(out);
    auto handle =
        m.register_forward_hook([](Nothing&, std::tuple<std::vector<int>&> const& in,
                                    std::tuple<> const&) { CHECK(std::get<0>(in).size() == 2); });
    m(out);
    CHECK(out == std::vector{1, 2});
}

TEST_CASE("forward may take optional tensors, with hooks and without") {
    struct Shifted : nn::Module<Shifted> {
        std::optional<D> forward(D const& x, std::optional<D> const& shift) const {
            return shift ? D(x + *shift) : x;
        }
    };
    Shifted m;
    D const x({1.}, xg::requires_grad), two({2.}, xg::requires_grad);
    for (int hooks = 0; hooks < 2; ++hooks) {
        CHECK(difference(m(x, two).value(), {3.}) == "");
        CHECK(difference(m(x, 2. * two).value(), {5.}) == "");
        CHECK(difference(m(x, std::nullopt).value(), {1.}) == "");
        if (hooks) break;
        m.register_forward_pre_hook([](Shifted&, D const&, std::optional<D> const& shift) {
            if (shift) CHECK(shift->numel() == 1);
        });
        m.register_full_backward_hook([&](Shifted&, Gradients const& in, Gradients const&) {
            CHECK(in[1].defined());
            return Gradients{in[0], D({10.})};
        });
    }
    m(x, two)->backward(D({1.}));
    CHECK(difference(two.grad(), {10.}) == "");
}

TEST_CASE("default arguments of forward may be left out in a call") {
    WithFlag const flag;
    CHECK(difference(flag(D({3.})), {6.}) == "");
    CHECK(difference(flag(D({3.}), true), {-3.}) == "");
    WithState state;
    CHECK(difference(std::get<1>(state(D({3.}))), {3.}) == "");
    CHECK(difference(std::get<1>(state(D({3.}), D({4.}))), {7.}) == "");
    CHECK(difference(std::get<1>(state(D({3.}), D({4.}), D({10.}))), {70.}) == "");
}

TEST_CASE("hooks see those arguments that the call gives, and forward has its own values for the "
          "others") {
    using Tensors = std::vector<xg::AnyTensor>;
    WithFlag flag;
    std::size_t count = 0;
    flag.register_forward_pre_hook([&](WithFlag&, Tensors const& in) {
        count = in.size();
        Tensors next = in;
        next[0] = D(in[0].as<double>() + 1.);
        return next;
    });
    flag.register_forward_hook([](WithFlag&, Tensors const& in, Tensors const& out) {
        CHECK(difference(in[0].as<double>(), {4.}) == "");
        return Tensors{D(10. * out[0].as<double>())};
    });
    CHECK(difference(flag(D({3.})), {80.}) == "");
    CHECK(count == 1);
    CHECK(difference(flag(D({3.}), true), {-40.}) == "");
    CHECK(count == 2);

    WithState state;
    D const x({2.}, xg::requires_grad), h({5.}, xg::requires_grad);
    std::string seen;
    state.register_full_backward_hook([&](WithState&, Tensors const& grad_input, Tensors const&) {
        for (auto const& g : grad_input)
            seen += g.defined() ? std::to_string(g.as<double>().item()).substr(0, 3) + " " : "- ";
    });
    sum(std::get<1>(state(x))).backward();
    CHECK(seen == "1.0 ");
    sum(std::get<1>(state(x, h, D({3.})))).backward();
    CHECK(seen == "1.0 3.0 3.0 0.0 "); // zeros for an argument that requires no gradient
    CHECK(difference(x.grad(), {4.}) == "");
    CHECK(difference(h.grad(), {3.}) == "");
}
