// Transforms inside a function that is differentiated itself: each transform, in each place,
// differentiated by each transform. f0 is the sum of x^3. Its gradient is 3 x^2, and its second
// derivatives are diag(6 x). The functions of all places compute the same.
#include <xgrad/functional/checkpoint.hpp>
#include <xgrad/functional/hvp.hpp>
#include <xgrad/nn.hpp>

#include "tensor/compare.hpp"

namespace {

D cubes(D const& x) { return sum(x * x * x); }

/// v times the gradient of f0, found by each transform that can.
struct Vjp {
    static constexpr char const* name = "vjp";
    static D gradient(D const& x, D const& v) { return xg::vjp(cubes, x, v).second; }
};
struct Grad {
    static constexpr char const* name = "grad";
    static D gradient(D const& x, D const& v) { return v * xg::grad(cubes)(x); }
};
struct ValueAndGrad {
    static constexpr char const* name = "value_and_grad";
    static D gradient(D const& x, D const& v) { return v * xg::value_and_grad(cubes, x).second; }
};
struct Jacobian {
    static constexpr char const* name = "jacobian";
    static D gradient(D const& x, D const& v) { return v * xg::jacobian(cubes, x); }
};
struct Jvp { // of the function x^3 of each element, along ones
    static constexpr char const* name = "jvp";
    static D gradient(D const& x, D const& v) {
        return v * xg::jvp([](D const& a) { return a * a * a; }, x, D(xg::ones(x.shape()))).second;
    }
};
struct Hessian { // of x^5 / 20, whose second derivatives are x^3: their derivatives are 3 x^2
    static constexpr char const* name = "hessian";
    static D gradient(D const& x, D const& v) {
        D const diagonal =
            sum(xg::hessian([](D const& a) { return sum(pow(a, 4)) / 4.; }, x), {0}); // 3 x^2
        return v * diagonal;
    }
};
struct Hvp {
    static constexpr char const* name = "hvp";
    static D gradient(D const& x, D const& v) {
        return v *
               xg::hvp([](D const& a) { return sum(pow(a, 4)) / 4.; }, x, D(xg::ones(x.shape())))
                   .second;
    }
};
struct Vhp {
    static constexpr char const* name = "vhp";
    static D gradient(D const& x, D const& v) {
        return v *
               xg::vhp([](D const& a) { return sum(pow(a, 4)) / 4.; }, x, D(xg::ones(x.shape())))
                   .second;
    }
};

/// f0 as a Function whose backward asks the transform.
template <class T> struct InBackward : xg::Function<InBackward<T>> {
    using Saved = std::tuple<D>;
    static D forward(xg::Context<InBackward>& ctx, D const& x) {
        ctx.save_for_backward(x);
        return cubes(x);
    }
    static D backward(xg::Context<InBackward>& ctx, D const& v) {
        auto const [x] = ctx.saved_tensors();
        return T::gradient(x, v);
    }
};
/// f0, whose gradient a hook replaces by what the transform gives.
template <class T> D in_hook(D const& x) {
    D y = x * 1.;
    y.register_hook([x](D const&) { return T::gradient(x, D(1.)); });
    return sum(y * y * y);
}
/// f0 by Euler's theorem, x . grad f0 / 3, under a checkpoint.
template <class T> D in_checkpoint(D const& x) {
    return xg::checkpoint([](D const& a) { return sum(a * T::gradient(a, D(1.))) / 3.; }, x);
}
template <class T> D in_function(D const& x) { return sum(x * T::gradient(x, D(1.))) / 3.; }
/// The same Function inside a checkpoint, which is run again while a pass is recorded.
template <class T> D in_backward_in_checkpoint(D const& x) {
    return xg::checkpoint([](D const& a) { return InBackward<T>::apply(a); }, x);
}

/// z = x^3 / 3 + z / 2 as an implicit function z(x) = 2/3 x^3, with the rule of implicit functions:
/// u = v + u dF/dz, and then u dF/dx. Times 3/2 it is x^3.
template <class T> struct FixedPoint : xg::Function<FixedPoint<T>> {
    using Saved = std::tuple<D>;
    static D forward(xg::Context<FixedPoint>& ctx, D const& x) {
        D z = zeros_like(x);
        for (int i = 0; i < 60; ++i) z = x * x * x / 3. + z / 2.;
        ctx.save_for_backward(x);
        return z;
    }
    static D backward(xg::Context<FixedPoint>& ctx, D const& v) {
        auto const [x] = ctx.saved_tensors();
        D u = v;
        for (int i = 0; i < 60; ++i)
            u = v + xg::vjp([](D const& z) { return z / 2.; }, v, u).second;
        return T::gradient(x, D(1.)) / 3. * u;
    }
};
template <class T> D in_fixed_point(D const& x) { return sum(FixedPoint<T>::apply(x)) * 1.5; }

template <class F>
void check_second_derivatives(
    std::string const& place, F const& f, bool has_hook = false, bool is_custom = true) {
    INFO(place);
    D const x({1., -2.}), v({1., 3.});
    D const first({3., 12.}), diagonal({{6., 0.}, {0., -12.}}), product({6., -36.});
    CHECK(difference(xg::grad(f)(x), first, 1e-9) == "");
    CHECK(difference(xg::hessian(f, x), diagonal, 1e-9) == "");
    CHECK(difference(xg::vhp(f, x, v).second, product, 1e-9) == "");
    CHECK(difference(xg::jacobian(xg::grad(f), x), diagonal, 1e-9) == "");
    CHECK(difference(xg::vjp(xg::grad(f), x, v).second, product, 1e-9) == "");
    if (is_custom) {
        D const leaf({1., -2.}, xg::requires_grad);
        D const g = xg::grad(D(f(leaf)), leaf, {.create_graph = true});
        CHECK(difference(g, first, 1e-9) == "");
        CHECK(difference(xg::grad(sum(g * v), leaf), product, 1e-9) == "");
    }
    if (has_hook) return; // forward over reverse
    CHECK(difference(xg::hvp(f, x, v).second, product, 1e-9) == "");
    CHECK(difference(xg::jvp(xg::grad(f), x, v).second, product, 1e-9) == "");
    CHECK(difference(xg::jvp(f, x, v).second, D(39.), 1e-9) == "");
    CHECK(difference(xg::jacobian(f, x, {.strategy = xg::Mode::forward}), first, 1e-9) == "");
    CHECK(difference(
              xg::jacobian(xg::grad(f), x, {.strategy = xg::Mode::forward}), diagonal, 1e-9) == "");
}

template <class... T> void check_all_places() {
    (
        [] {
            std::string const name = T::name;
            check_second_derivatives(name + " in a custom function's backward",
                [](D const& x) { return InBackward<T>::apply(x); });
            check_second_derivatives(name + " in a function", in_function<T>, false, false);
            check_second_derivatives(name + " in a hook", in_hook<T>, true);
            check_second_derivatives(name + " in a custom function's backward in a checkpoint",
                in_backward_in_checkpoint<T>);
            check_second_derivatives(name + " in a rule for a fixed point", in_fixed_point<T>);
        }(),
        ...);
}

} // namespace

TEST_CASE("what a transform gives is recorded wherever its surroundings are differentiated") {
    check_all_places<Vjp, Grad, ValueAndGrad>();
}
TEST_CASE("so it is for transforms of all derivatives and in forward mode") {
    check_all_places<Jacobian, Jvp, Hessian, Hvp, Vhp>();
}
TEST_CASE("and under a checkpoint in a function that is transformed") {
    D const x({1., -2.});
    D const diagonal({{6., 0.}, {0., -12.}});
    CHECK(difference(xg::hessian(in_checkpoint<Vjp>, x), diagonal, 1e-9) == "");
    CHECK(difference(xg::hessian(in_checkpoint<Jacobian>, x), diagonal, 1e-9) == "");
    CHECK(difference(xg::hessian(in_checkpoint<Hvp>, x), diagonal, 1e-9) == "");
    CHECK(difference(xg::hvp(in_checkpoint<Grad>, x, D({1., 3.})).second, {6., -36.}, 1e-9) == "");
}

TEST_CASE("transforms are recorded at any depth of passes within passes") {
    std::function<D(D const&, int)> deep = [&](D const& x, int depth) -> D {
        return depth ? xg::vjp([&](D const& a) { return sum(deep(a, depth - 1)) * 1.; }, x).second
                     : D(exp(x));
    };
    D const x({0.5});
    CHECK(difference(deep(x, 4), exp(x)) == "");
}

namespace {
/// x^3, whose backward asks for a gradient without saying whether it is recorded.
template <class Options> struct Unsaid : xg::Function<Unsaid<Options>> {
    using Saved = std::tuple<D>;
    static D forward(xg::Context<Unsaid>& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static D backward(xg::Context<Unsaid>& ctx, D const& v) {
        auto const [x] = ctx.saved_tensors();
        xg::EnableGradGuard const on;
        D const leaf = x.detach().requires_grad_();
        return v * xg::grad(cubes(x.requires_grad() ? x : leaf), x.requires_grad() ? x : leaf,
                       Options::value());
    }
};
struct Nothing {
    static xg::GradOptions value() { return {}; }
};
struct No {
    static xg::GradOptions value() { return {.create_graph = false}; }
};
/// x^3, whose backward computes with arrays.
struct Arrays : xg::Function<Arrays> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static D backward(Context& ctx, D const& v) {
        auto const [x] = ctx.saved_tensors();
        xt::xarray<double> const g = 3. * v.array() * x.array() * x.array();
        return D(g);
    }
};
/// 3 x and, for the second argument, nothing: linear, so that its gradient is a constant by right.
struct Linear : xg::Function<Linear> {
    static D forward(Context&, D const& x, D const&) { return x * 3.; }
    static std::tuple<D, D> backward(Context&, D const& v) { return {v * 3., zeros_like(v)}; }
};
} // namespace

TEST_CASE("a second derivative that would be zero because something was not recorded is an error") {
    D const x({1., -2.}), v({1., 3.});
    auto const unsaid = [](D const& a) { return sum(Unsaid<Nothing>::apply(a)); };
    CHECK(difference(xg::grad(unsaid)(x), {3., 12.}) == "");
    CHECK_THROWS_WITH_AS(xg::hessian(unsaid, x),
        doctest::Contains("Give .create_graph = true to differentiate it as well"), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::hvp(unsaid, x, v), doctest::Contains("computed without a graph"), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::vhp(unsaid, x, v), doctest::Contains("computed without a graph"), xg::GraphError);
    // also where it is only a part of the derivative that would be missing
    auto const partly = [&](D const& a) { return sum(a * a) + unsaid(a); };
    CHECK_THROWS_WITH_AS(
        xg::hessian(partly, x), doctest::Contains("computed without a graph"), xg::GraphError);
    // who says that it is a constant gets one
    auto const constant = [](D const& a) { return sum(Unsaid<No>::apply(a)) + sum(a * a); };
    CHECK_THROWS_WITH_AS(xg::hessian([](D const& a) { return sum(a * xg::grad(cubes(a), a)); }, x),
        doctest::Contains("computed without a graph"), xg::GraphError);
    CHECK(difference(xg::hessian(
                         [](D const& a) {
                             return sum(a * a * xg::grad(cubes(a), a, {.create_graph = false}));
                         },
                         x),
              {{6., 0.}, {0., 24.}}) == "");
    CHECK(difference(xg::grad(constant)(x), {5., 8.}) == "");
}

TEST_CASE("a batch of gradients that was not recorded is one, too") {
    D const x({1., -2.});
    auto const f = [](D const& a) {
        return sum(
            xg::grad(D(a * a * a), a, {.gradients = {xg::eye(2)}, .is_grads_batched = true}));
    };
    CHECK(difference(D(f(D({1., -2.}, xg::requires_grad))), D(15.)) == "");
    CHECK_THROWS_WITH_AS(
        xg::hessian(f, x), doctest::Contains("computed without a graph"), xg::GraphError);
}

TEST_CASE(
    "a backward that computes with arrays is an error where it is differentiated, and only there") {
    D const x({1., -2.}), v({1., 3.});
    auto const f = [](D const& a) { return sum(Arrays::apply(a)); };
    CHECK(difference(xg::grad(f)(x), {3., 12.}) == "");
    D const leaf({1., -2.}, xg::requires_grad);
    CHECK(difference(xg::grad(D(f(leaf)), leaf, {.create_graph = true}), {3., 12.}) == "");
    CHECK_THROWS_WITH_AS(xg::hessian(f, x),
        doctest::Contains("Arrays: its backward was not recorded"), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::hvp(f, x, v),
        doctest::Contains("Arrays: its backward was not recorded"), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::hessian([&](D const& a) { return sum(a * a) + f(a); }, x),
        doctest::Contains("Arrays: its backward was not recorded"), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::hessian([&](D const& a) { return sum(square(Arrays::apply(a))); }, x),
        doctest::Contains("Arrays: its backward was not recorded"), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::jvp(f, x, v),
        doctest::Contains("ArraysBackward: its backward pass was not recorded"), xg::GraphError);
}

TEST_CASE("a function that is linear has the second derivative zero, and no error") {
    D const x({1., -2.}), w({4., 5.}), v({1., 3.});
    auto const f = [&](D const& a) { return sum(Linear::apply(a, a)); };
    CHECK(difference(xg::hessian(f, x), {{0., 0.}, {0., 0.}}) == "");
    CHECK(difference(xg::hvp(f, x, v).second, {0., 0.}) == "");
    CHECK(difference(xg::jvp(f, x, v).second, D(12.)) == "");
    CHECK(difference(xg::hessian([&](D const& a) { return sum(square(Linear::apply(a, w))); }, x),
              {{18., 0.}, {0., 18.}}) == "");
}

TEST_CASE("a parameter of a module is an input of a transform as itself, and not as a copy") {
    struct Two : xg::nn::Module<Two> {
        xg::nn::Parameter<double> w{*this, "w", D({2., 3.})}, v{*this, "v", D({5., 7.})};
    } const module;
    auto const cube = [&](D const& w) {
        CHECK(w.data() == module.w.data());
        return sum(w * w * w);
    };
    CHECK(allclose(xg::grad(cube)(module.w), D({12., 27.})));
    CHECK(allclose(xg::grad(cube, module.w), D({12., 27.})));
    CHECK(xg::value_and_grad(cube)(module.w).first.item() == 35);
    auto const product = [&](D const& w, D const& v) {
        CHECK(w.data() == module.w.data());
        CHECK(v.data() == module.v.data());
        return sum(w * v);
    };
    auto const [of_w, of_v] = xg::grad(product)(module.w, module.v);
    CHECK(allclose(of_w, module.v));
    CHECK(allclose(of_v, module.w));
}

TEST_CASE("a tangent of a captured tensor reaches a gradient that reads only that tensor") {
    D const x(3.), q(2.), one(1.);
    auto const product = [&](D const& p) { // p
        return D(xg::grad([&](D const& a) { return a * p; })(x));
    };
    CHECK(xg::jvp(product, q, one).second.item() == 1);
    CHECK(xg::hessian([&](D const& p) { return square(product(p)); }, q).item() == 2);
    auto const through = [&](D const& p) { // cos(3) p
        return D(xg::grad([&](D const& a) {
            D const s = sin(a);
            return D(s * p);
        })(x));
    };
    CHECK(xg::jvp(through, q, one).second.item() == doctest::Approx(std::cos(3.)));
}
