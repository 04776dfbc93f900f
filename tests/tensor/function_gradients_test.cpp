// Gradients of custom Functions: undefined ones, ones that do not fit, ones that are not to be
// differentiated.
#include "compare.hpp"

namespace {

/// Passes on what the test asks for.
struct Pair : xg::Function<Pair> {
    struct Data {
        std::vector<bool>* defined;
    };
    static auto forward(Context& ctx, D const& x, std::vector<bool>* defined, bool materialize,
        bool materialize_non_diff) {
        ctx.defined = defined;
        ctx.set_materialize_grads(materialize);
        ctx.set_materialize_non_diff_grads(materialize_non_diff);
        D const a = 2. * x, b = 3. * x, c = 4. * x;
        ctx.mark_non_differentiable(c);
        return std::tuple(a, b, c, x > 0.);
    }
    static auto backward(Context& ctx, D const& a, D const& b, D const& c, std::nullopt_t) {
        *ctx.defined = {a.defined(), b.defined(), c.defined()};
        for (auto const& g : {a, b, c})
            if (g.defined()) CHECK(g.shape() == xg::Shape{2});
        D sum;
        if (a.defined()) sum = 2. * a;
        if (b.defined()) sum = sum.defined() ? D(sum + 3. * b) : D(3. * b);
        return std::tuple(sum, std::nullopt, std::nullopt, std::nullopt);
    }
};

/// Returns no gradient, or an undefined one.
struct NoGradient : xg::Function<NoGradient> {
    static auto forward(Context&, D const& x, D const& w) { return x * w; }
    static auto backward(Context&, D const&) { return std::tuple(std::nullopt, D()); }
};

/// A mask of zeros and ones, which has no gradient though its numbers are real.
struct Positive : xg::Function<Positive> {
    static D forward(Context& ctx, D const& x) {
        D const mask = cast<double>(x > 0.);
        ctx.mark_non_differentiable(mask);
        return mask;
    }
    static std::nullopt_t backward(Context&, D const&) { return std::nullopt; }
};

/// A gradient of any shape.
struct Shaped : xg::Function<Shaped> {
    struct Data {
        xg::Shape shape;
    };
    static D forward(Context& ctx, D const& x, xg::Shape shape) {
        ctx.shape = std::move(shape);
        return sum(x);
    }
    static auto backward(Context& ctx, D const&) {
        return std::tuple(xg::ones(ctx.shape), std::nullopt);
    }
};

/// A gradient of any shape for one of the tensors that stand behind a number.
struct ShapedLater : xg::Function<ShapedLater> {
    struct Data {
        xg::Shape one, element;
    };
    static D forward(Context& ctx, double factor, D const& x, std::vector<D> const& more,
        xg::Shape one, xg::Shape element) {
        ctx.one = std::move(one);
        ctx.element = std::move(element);
        return sum(factor * x) + sum(more[1]);
    }
    static auto backward(Context& ctx, D const&) {
        std::vector<D> more{D(), xg::ones(ctx.element)};
        return std::tuple(std::nullopt, xg::ones(ctx.one), more, std::nullopt, std::nullopt);
    }
};

/// As many gradients as asked for.
struct Many : xg::Function<Many> {
    struct Data {
        std::size_t count;
    };
    static D forward(Context& ctx, std::vector<D> const& x, std::size_t count) {
        ctx.count = count;
        return sum(x[0]);
    }
    static auto backward(Context& ctx, D const& g) {
        return std::tuple(std::vector<D>(ctx.count, g.expand({1})), std::nullopt);
    }
};

/// A gradient for a tensor that may not have been given.
struct Optional : xg::Function<Optional> {
    static D forward(Context&, D const& x, std::optional<D> const& y) {
        return y ? D(x + *y) : D(x * 1.);
    }
    static auto backward(Context&, D const& g) { return std::tuple(g, std::optional<D>(g)); }
};

/// x^3, with a backward that is no tensor operation.
struct CubeOnce : xg::Function<CubeOnce> {
    using Saved = std::tuple<D>;
    static constexpr bool once_differentiable = true;
    static auto forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static auto backward(Context& ctx, D const& g) {
        CHECK_FALSE(xg::is_grad_enabled());
        auto const [x] = ctx.saved_tensors();
        return 3. * x * x * g;
    }
};

/// Gives an ill-defined gradient.
struct Nan : xg::Function<Nan> {
    static auto forward(Context&, D const& x) { return x * 1.; }
    static auto backward(Context&, D const& g) { return g / 0. - g / 0.; }
};

struct Throws : xg::Function<Throws> {
    static D forward(Context&, D const& x, bool in_forward) {
        if (in_forward) throw 3;
        return x * 1.;
    }
    static auto backward(Context&, D const& g) {
        if (g.defined()) throw 4;
        return std::tuple(g, std::nullopt);
    }
};

template <class E = xg::Error, class F> std::string message(F f) {
    try {
        f();
    } catch (E const& e) { return e.what(); }
    return "nothing was thrown";
}

} // namespace

TEST_CASE(
    "a result that was not used has gradient zero, or an undefined one if that is asked for") {
    D const x({1., -2.}, xg::requires_grad);
    std::vector<bool> defined;
    auto const of_first = [&](bool materialize, bool materialize_non_diff) {
        auto const [a, b, c, d] = Pair::apply(x, &defined, materialize, materialize_non_diff);
        CHECK_FALSE(c.requires_grad());
        CHECK_FALSE(c.grad_fn());
        CHECK_FALSE(d.requires_grad());
        return xg::grad(sum(a), x);
    };
    CHECK(difference(of_first(true, true), {2., 2.}) == "");
    CHECK(defined == std::vector{true, true, true});
    CHECK(difference(of_first(true, false), {2., 2.}) == "");
    CHECK(defined == std::vector{true, true, false});
    CHECK(difference(of_first(false, true), {2., 2.}) == "");
    CHECK(defined == std::vector{true, false, false});
}

TEST_CASE("an undefined gradient leaves .grad alone, and hooks are told") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D t = x * 1.;
    int undefined = 0;
    t.register_hook([&](D const& g) { undefined += !g.defined(); });
    w.register_hook([&](D const& g) { undefined += !g.defined(); });
    auto const y = NoGradient::apply(t, w);
    sum(pow(y, 2)).backward();
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(w.grad().defined());
    CHECK(undefined == 2);
    CHECK_FALSE(xg::grad(sum(NoGradient::apply(t, w)), x, {.allow_unused = true}).defined());
}

TEST_CASE("results that are marked as non-differentiable are constants") {
    D const x({1., -2.}, xg::requires_grad);
    D const mask = Positive::apply(x);
    CHECK_FALSE(mask.requires_grad());
    CHECK(difference(xg::grad(sum(x * mask), x), {1., 0.}) == "");
    CHECK(difference(xg::grad(sum(Optional::apply(x, mask)), x), {1., 1.}) == "");
}

TEST_CASE(
    "a gradient that can be broadcast from the argument's shape is summed; any other is an error") {
    D const x({{1.}, {2.}, {3.}}, xg::requires_grad), number(1., xg::requires_grad);
    CHECK(difference(xg::grad(Shaped::apply(x, xg::Shape{4, 3, 2}), x), {{8.}, {8.}, {8.}}) == "");
    CHECK(difference(xg::grad(Shaped::apply(number, xg::Shape{2, 3}), number), D(6.)) == "");
    CHECK(message<xg::ShapeError>([&] { Shaped::apply(x, xg::Shape{10}).backward(); }) ==
          "function ShapedBackward returned an invalid gradient at index 0 - got [10] but expected "
          "shape compatible with [3, 1] (argument 0 of forward)");
    CHECK(message<xg::ShapeError>([&] {
        Shaped::apply(x, xg::Shape{3}).backward();
    }).find("got [3] but") != std::string::npos);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE(
    "the error of a gradient of another shape names the argument of forward and its element") {
    D const x({1., 2.}, xg::requires_grad), number(1., xg::requires_grad);
    auto const gradients = [&](xg::Shape one, xg::Shape element) {
        return xg::grad(ShapedLater::apply(2., x, std::vector{number, number}, one, element),
            xg::inputs(x, number));
    };
    auto const [to_x, to_number] = gradients({3, 2}, {7});
    CHECK(difference(to_x, {3., 3.}) == "");
    CHECK(difference(to_number, D(7.)) == "");
    CHECK(message<xg::ShapeError>([&] { gradients({7}, {}); }) ==
          "function ShapedLaterBackward returned an invalid gradient at index 0 - got [7] but "
          "expected shape compatible with [2] "
          "(argument 1 of forward)");
    CHECK(message<xg::ShapeError>([&] {
        gradients({}, {});
    }).find("got [] but expected shape compatible with [2]") != std::string::npos);
    D const pair({1., 2.}, xg::requires_grad);
    auto const y = ShapedLater::apply(2., x, std::vector{number, pair}, xg::Shape{2}, xg::Shape{3});
    CHECK(message<xg::ShapeError>([&] { y.backward(); }) ==
          "function ShapedLaterBackward returned an invalid gradient at index 2 - got [3] but "
          "expected shape compatible with [2] "
          "(argument 2 of forward, element 1)");
}

TEST_CASE("a vector of arguments gets as many gradients") {
    D const a({1.}, xg::requires_grad), b({2.}, xg::requires_grad), constant({3.});
    Many::apply(std::vector{a, constant, b}, 3).backward();
    CHECK(difference(b.grad(), {1.}) == "");
    CHECK_FALSE(constant.grad().defined());
    CHECK(message<xg::GraphError>([&] {
        Many::apply(std::vector{a, b}, 1).backward();
    }) == "function ManyBackward returned an incorrect number of gradients (expected 2, got 1) for "
          "argument 0, a vector of tensors");
}

TEST_CASE("a gradient for a tensor that was left out is an error") {
    D const x({1.}, xg::requires_grad);
    CHECK(message<xg::GraphError>([&] { Optional::apply(x, std::nullopt).backward(); }) ==
          "function OptionalBackward returned a gradient different than std::nullopt at position "
          "1, but the corresponding forward input was not a tensor");
}

TEST_CASE("a Function that is differentiable once says so where its gradient is differentiated") {
    D const x({1., 2.}, xg::requires_grad);
    D const first = xg::grad(sum(CubeOnce::apply(x)), x, {.create_graph = true});
    CHECK(difference(first, {3., 12.}) == "");
    CHECK(first.requires_grad());
    CHECK(first.grad_fn()->name() == "Error");
    CHECK(message<xg::GraphError>([&] { xg::grad(sum(first), x); }) ==
          "CubeOnce: trying to differentiate twice a function that was marked with "
          "once_differentiable");
    D const upstream({1., 1.}, xg::requires_grad);
    D const y = CubeOnce::apply(x);
    D const second = xg::grad(y, x, {.gradients = {upstream}, .create_graph = true});
    CHECK(message<xg::GraphError>([&] {
        xg::grad(sum(second), upstream);
    }).find("trying to differentiate twice") != std::string::npos);
    CHECK_FALSE(xg::grad(sum(CubeOnce::apply(x)), x).requires_grad());
}

TEST_CASE("anomaly mode names the Function") {
    D const x({1., 2.}, xg::requires_grad);
    xg::AnomalyMode const watch;
    std::vector<std::string> warnings;
    auto const handler =
        xg::set_warning_handler([&](std::string const& text) { warnings.push_back(text); });
    auto const text = message<xg::GraphError>([&] { sum(Nan::apply(x)).backward(); });
    xg::set_warning_handler(handler);
    CHECK(text.find("Function 'NanBackward' returned nan values in its 0th output.") == 0);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find(
              "Error detected in NanBackward. Traceback of forward call that caused the error:") ==
          0);
}

TEST_CASE("exceptions in forward and in backward come out as they are, and leave nothing behind") {
    D const x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_AS(Throws::apply(x, true), int);
    CHECK(xg::is_grad_enabled());
    CHECK(x.is_leaf());
    CHECK(x.version() == 0);
    D const y = Throws::apply(x, false);
    CHECK_THROWS_AS(sum(y).backward(), int);
    CHECK_FALSE(x.grad().defined());
}
