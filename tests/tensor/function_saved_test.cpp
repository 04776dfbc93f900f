// What a custom Function saves, and which gradients it gets and gives.
#include "compare.hpp"

namespace {

/// x^2, which saves its argument.
struct Square : xg::Function<Square> {
    using Saved = std::tuple<D>;
    static auto forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return 2. * x * g;
    }
};

/// e^x, which saves its result, and 1/x: saves both.
struct ExpAndReciprocal : xg::Function<ExpAndReciprocal> {
    using Saved = std::tuple<D, D>;
    static auto forward(Context& ctx, D const& x) {
        D const e = exp(x), r = 1. / x;
        ctx.save_for_backward(r, e);
        return std::tuple(e, r);
    }
    static auto backward(Context& ctx, D const& grad_e, D const& grad_r) {
        auto const [r, e] = ctx.saved_tensors();
        return grad_e * e - grad_r * r * r;
    }
};

/// Saves undefined and optional tensors, vectors of tensors, and a value that is neither argument
/// nor result.
struct SavesAllKinds : xg::Function<SavesAllKinds> {
    using Saved =
        std::tuple<D, std::optional<D>, std::optional<D>, std::vector<D>, xg::Tensor<bool>>;
    static D forward(Context& ctx, D const& x, std::vector<D> const& factors) {
        ctx.save_for_backward(D(), std::nullopt, x, std::vector<D>(), x > 0.);
        ctx.save_for_backward(D(), std::nullopt, x, factors, x > 0.);
        D product = relu(x);
        for (auto const& f : factors) product *= f;
        return product;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [nothing, none, x, factors, positive] = ctx.saved_tensors();
        CHECK_FALSE(nothing.defined());
        CHECK_FALSE(none.has_value());
        CHECK(x.value().defined());
        D gx = where(positive, g, 0.);
        for (auto const& f : factors) gx = gx * f;
        return std::tuple(gx, std::nullopt);
    }
};

/// Saves nothing, where it is told so.
struct SavesSometimes : xg::Function<SavesSometimes> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x, bool save) {
        if (save) ctx.save_for_backward(x);
        return 3. * x;
    }
    static auto backward(Context& ctx, D const& g) {
        ctx.saved_tensors();
        return std::tuple(3. * g, std::nullopt);
    }
};

template <class E = xg::Error, class F> std::string message(F f) {
    try {
        f();
    } catch (E const& e) { return e.what(); }
    return "nothing was thrown";
}

} // namespace

TEST_CASE("saved tensors come back with the type and the values that were saved") {
    static_assert(std::same_as<decltype(std::declval<SavesAllKinds::Context&>().saved_tensors()),
        SavesAllKinds::Saved>);
    D const x({-1., 2.}, xg::requires_grad), a({3., 4.}), b({5., 6.});
    sum(SavesAllKinds::apply(x, std::vector{a, b})).backward();
    CHECK(difference(x.grad(), {0., 24.}) == "");
}

TEST_CASE("what a Function saved is listed by position, read from outside, and freed by backward") {
    D const x({1., 2.}, xg::requires_grad);
    D const t = x * 1., y = Square::apply(t);
    auto* const node = y.grad_fn();
    REQUIRE(node->saved_tensors().size() == 1);
    CHECK(node->saved_tensors()[0].name == "0");
    auto const saved = node->saved("0").unpack();
    CHECK(share_memory(saved, t));
    CHECK(saved.grad_fn() == t.grad_fn());
    sum(y).backward();
    CHECK(message<xg::GraphError>([&] {
        node->saved("0").unpack();
    }).find("Trying to backward through the graph a second time") == 0);
    CHECK(message<xg::GraphError>([&] {
        sum(y).backward();
    }).find("Trying to backward through the graph a second time") == 0);
    CHECK(Square::apply(x).grad_fn()->saved("0").unpack().is_same(x));
    auto const [e, r] = ExpAndReciprocal::apply(x);
    CHECK(e.grad_fn()->saved("0").unpack().output_nr() == 1);
    CHECK(e.grad_fn()->saved("1").unpack().grad_fn() == e.grad_fn());
}

TEST_CASE("a kept graph can be passed again; one that saved nothing can be anyway") {
    D const x({1., 2.}, xg::requires_grad);
    auto const loss = sum(Square::apply(x));
    loss.backward({.retain_graph = true});
    loss.backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
    CHECK(message<xg::GraphError>([&] { sum(SavesSometimes::apply(x, false)).backward(); }) ==
          "SavesSometimes: there are no saved_tensors() here: they are what forward gave to "
          "save_for_backward()");
    CHECK(difference(xg::grad(sum(SavesSometimes::apply(x, true)), x), {3., 3.}) == "");
}

TEST_CASE(
    "arguments and results that were changed in place since are errors that name the Function") {
    D const x({1., 2.}, xg::requires_grad);
    D t = x * 1.;
    D const y = Square::apply(t);
    t += 1.;
    CHECK(message<xg::VersionError>([&] { sum(y).backward(); })
              .find("which is output 0 of MulBackward, is at version 1; expected version 0 "
                    "instead. It was saved by SquareBackward.") != std::string::npos);
    auto [e, r] = ExpAndReciprocal::apply(x);
    r.detach() += 1.;
    CHECK(message<xg::VersionError>([&, y = e] {
        sum(y).backward();
    }).find("which is output 1 of ExpAndReciprocalBackward, is at version 1") != std::string::npos);
}

TEST_CASE("a saved result has the Function's history, so that gradients of gradients are right") {
    D const x({0.5, 2.}, xg::requires_grad);
    auto const [e, r] = ExpAndReciprocal::apply(x);
    D const first = xg::grad(sum(e + 2. * r), x, {.create_graph = true});
    CHECK(difference(first, D(exp(x) - 2. / (x * x))) == "");
    D const second = xg::grad(sum(first), x, {.create_graph = true});
    CHECK(difference(second, D(exp(x) + 4. / (x * x * x))) == "");
    CHECK(difference(xg::grad(sum(second), x), D(exp(x) - 12. / (x * x * x * x))) == "");
}

TEST_CASE("hooks on saved tensors see what a Function saves, once each") {
    D const x({1., 2.}, xg::requires_grad);
    int packed = 0, unpacked = 0;
    D y, e, r;
    {
        xg::SavedTensorsHooks const hooks(
            [&](xg::AnyTensor const& t) {
                ++packed;
                CHECK_FALSE(t.requires_grad());
                return D(t.as<double>() * 10.);
            },
            [&](D const& t) {
                ++unpacked;
                return D(t / 10.);
            });
        y = Square::apply(x);
        CHECK(packed == 1);
        std::tie(e, r) = ExpAndReciprocal::apply(x);
        CHECK(packed == 3);
        xg::NoGradGuard const off;
        Square::apply(x);
        CHECK(packed == 3);
    }
    D const first = xg::grad(sum(y), x, {.create_graph = true});
    CHECK(unpacked == 1);
    CHECK(difference(first, {2., 4.}) == "");
    CHECK(difference(xg::grad(sum(first), x), {2., 2.}) == "");
    sum(e + r).backward();
    CHECK(unpacked == 3);
    CHECK(difference(x.grad(), D(exp(x) - 1. / (x * x))) == "");
    D const z = Square::apply(x);
    z.grad_fn()->saved("0").register_hooks(
        [](xg::AnyTensor const& t) { return t.as<double>().clone(); },
        [](D const& t) { return D(t * 100.); });
    CHECK(difference(xg::grad(sum(z), x), {200., 400.}) == "");
}

TEST_CASE("a hook that throws while a Function saves leaves everything as it was") {
    D const x({1., 2.}, xg::requires_grad);
    xg::SavedTensorsHooks const hooks(
        [](xg::AnyTensor const&) -> int { throw 7; }, [](int) { return D(); });
    CHECK_THROWS_AS(Square::apply(x), int);
    CHECK(x.is_leaf());
    CHECK(x.version() == 0);
}
