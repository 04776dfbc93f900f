// Several tangents in one pass: jacobian() and hessian() in forward mode, how often a graph is
// passed, which mode is chosen, and that all modes agree.
#include <functional>

#include <xgrad/functional/hvp.hpp>
#include <xgrad/ops/cumulative.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

xg::JacobianOptions const forward{.strategy = xg::Mode::forward},
    reverse{.strategy = xg::Mode::reverse};

/// Both modes of the Jacobian of a function of one or several tensors, and what the default is.
template <class F, class X> void check_modes(F const& f, X const& x) {
    auto const rows = xg::jacobian(f, x, reverse), columns = xg::jacobian(f, x, forward),
               chosen = xg::jacobian(f, x);
    auto const agree = [](auto const& a, auto const& b) {
        auto const left = xg::detail::erased(a), right = xg::detail::erased(b);
        REQUIRE(left.size() == right.size());
        for (std::size_t i = 0; i < left.size(); ++i) {
            CHECK_FALSE(left[i].requires_grad());
            if (left[i].dtype() == xg::DType::float64)
                CHECK(difference(left[i].template as<double>(), right[i].template as<double>()) ==
                      "");
            else if (left[i].dtype() == xg::DType::float32)
                CHECK(
                    difference(left[i].template as<float>(), right[i].template as<float>()) == "");
            else
                CHECK(difference(left[i].template as<complex<double>>(),
                          right[i].template as<complex<double>>()) == "");
        }
    };
    agree(rows, columns);
    agree(rows, chosen);
}

/// The same without a type for each function, so that the file compiles quickly.
using Function = std::function<D(D const&)>;
void modes_agree(D const& x, std::initializer_list<Function> all) {
    for (auto const& f : all) check_modes(f, x);
}

/// Counts how often saved tensors are unpacked: as often as a pass reads them.
template <class F> int unpackings(F const& call) {
    int count = 0;
    auto const pack = [](xg::AnyTensor const& t) { return t; };
    auto const unpack = [&](xg::AnyTensor const& t) {
        ++count;
        return t;
    };
    xg::SavedTensorsHooks const hooks(pack, unpack);
    call();
    return count;
}

/// a^3, with a count of the calls of its backward.
struct Cube : xg::Function<Cube> {
    using Saved = std::tuple<D>;
    static inline int calls = 0;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static D backward(Context& ctx, D const& g) {
        ++calls;
        auto const [x] = ctx.saved_tensors();
        return 3. * g * x * x;
    }
};
/// The same with a jvp.
struct CubeWithJvp : xg::Function<CubeWithJvp> {
    using Saved = std::tuple<D>;
    static inline int calls = 0, backward_calls = 0;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static D backward(Context& ctx, D const& g) {
        ++backward_calls;
        auto const [x] = ctx.saved_tensors();
        return 3. * g * x * x;
    }
    static D jvp(Context& ctx, D const& t) {
        ++calls;
        auto const [x] = ctx.saved_tensors();
        CHECK(t.shape() == x.shape());
        return 3. * t * x * x;
    }
};
/// 2 a, with a backward that is not linear in g.
template <class Changed> struct Twice : xg::Function<Twice<Changed>> {
    static D forward(typename Twice::Context&, D const& x) { return 2. * x; }
    static D backward(typename Twice::Context&, D const& g) { return Changed::of(2. * g); }
};
struct Normalized {
    static D of(D const& g) { return g / sqrt(sum(g * g)); }
};
struct Clipped {
    static D of(D const& g) { return D(clamp(g, -1., 1.)); }
};
struct Once : xg::Function<Once> {
    static constexpr bool once_differentiable = true;
    static D forward(Context&, D const& x) { return 2. * x; }
    static D backward(Context&, D const& g) { return 2. * g; }
};

} // namespace

TEST_CASE("1,000 residuals of six parameters, against the closed form") {
    D const t = xg::linspace(0., 4., 1000), y = xg::ones({1000});
    D const p({1., 0.5, 2., 1.5, 0.3, 0.7});
    int calls = 0;
    auto const residual = [&](D const& a) {
        ++calls;
        return a[0] * exp(-a[1] * t) + a[2] * exp(-a[3] * t) + a[4] * sin(a[5] * t) - y;
    };
    D const first = exp(-0.5 * t), second = exp(-1.5 * t);
    D const wanted = xg::stack({first, D(-1. * t * first), second, D(-2. * t * second),
                                   D(sin(0.7 * t)), D(0.3 * t * cos(0.7 * t))},
        1);
    for (auto const strategy : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse}) {
        calls = 0;
        CHECK(difference(xg::jacobian(residual, p, {.strategy = strategy}), wanted) == "");
        CHECK(calls == 1);
    }
    CHECK(difference(xg::jacobian(residual, p), wanted) == "");
    // the parameters as inputs of their own
    auto const columns =
        xg::jacobian([&](D const& a, D const& k, D const& b,
                         D const& l) { return D(a * exp(-k * t) + b * exp(-l * t) - y); },
            xg::inputs(D(1.), D(0.5), D(2.), D(1.5)));
    CHECK(difference(std::get<0>(columns), first) == "");
    CHECK(difference(std::get<3>(columns), D(-2. * t * second)) == "");
}

TEST_CASE("eight tangents go in one pass") {
    D const t = xg::linspace(0.1, 1., 30);
    auto const f = [&](D const& a) { return D(sin(unsqueeze(a, 1) * t)); };
    auto const passes = [&](std::size_t inputs, xg::JacobianOptions const& options) {
        D const x = xg::linspace(0., 1., inputs);
        return unpackings([&] { xg::jacobian(f, x, options); });
    };
    int const one = passes(1, forward);
    CHECK(one > 0);
    CHECK(passes(8, forward) == one);
    CHECK(passes(9, forward) == 2 * one);
    CHECK(passes(20, forward) == 3 * one);
    CHECK(passes(20, {}) == one);          // an expression of x: no tangent is pushed
    CHECK(passes(2, reverse) == 60 * one); // a row of J in each pass
    CHECK(passes(2, {.strict = true}) == 60 * one);
    // inputs of which each has few elements share the passes
    auto const of_two = [&](D const& a, D const& b) { return D(exp(a[0] * t) * b + a[1]); };
    int const both = unpackings([&] { xg::jacobian(of_two, xg::inputs(D({1., 2.}), D(3.))); });
    CHECK(both == unpackings([&] {
        xg::jvp(of_two, xg::inputs(D({1., 2.}), D(3.)), std::tuple(D({1., 0.}), D(0.)));
    }));
}

TEST_CASE("more outputs than inputs: forward mode; else reverse mode") {
    D const t = xg::linspace(0.1, 1., 4);
    // a jvp is called for each column, a backward for each row
    using Calls = std::pair<int, int>;
    auto const calls_of = [](auto const& f, auto const& x) {
        CubeWithJvp::calls = CubeWithJvp::backward_calls = 0;
        xg::jacobian(f, x);
        return Calls(CubeWithJvp::calls, CubeWithJvp::backward_calls);
    };
    auto const calls = [&](std::size_t inputs) {
        return calls_of([&](D const& a) { return D(CubeWithJvp::apply(sum(a) * t)); },
            D(xg::linspace(0., 1., inputs)));
    };
    CHECK(calls(2) == Calls(2, 0));
    CHECK(calls(3) == Calls(3, 0));
    CHECK(calls(4) == Calls(0, 4));
    CHECK(calls(5) == Calls(0, 4));
    // two directions for a complex number
    auto const of_complex = [&](std::size_t outputs) {
        return calls_of(
            [&](Z const& a) {
                return D(CubeWithJvp::apply(abs2(a) * xg::linspace(0., 1., outputs)));
            },
            Z(1. + 1.i));
    };
    CHECK(of_complex(2) == Calls(0, 2));
    CHECK(of_complex(3) == Calls(2, 0));
}

TEST_CASE("a jvp is called for each tangent, a backward once for all") {
    D const x({1., 2., -1.}), t = xg::linspace(0., 1., 4);
    auto const wanted =
        xg::jacobian([&](D const& a) { return D(xg::pow(unsqueeze(a, 1) * t, 3)); }, x, reverse);
    Cube::calls = CubeWithJvp::calls = 0;
    auto const f = [&](D const& a) { return D(Cube::apply(unsqueeze(a, 1) * t)); };
    CHECK(difference(xg::jacobian(f, x, forward), wanted) == "");
    CHECK(Cube::calls == 1);
    auto const g = [&](D const& a) { return D(CubeWithJvp::apply(unsqueeze(a, 1) * t)); };
    CHECK(difference(xg::jacobian(g, x), wanted) == "");
    CHECK(CubeWithJvp::calls == 3);
}

TEST_CASE("a function that has hooks keeps reverse mode") {
    D const x({1., 2.}), ones = xg::ones({3, 2});
    int calls = 0;
    auto const rows_of = [&](auto const& hook) {
        calls = 0;
        xg::jacobian(
            [&](D const& a) {
                D y = a * ones;
                hook(a, y);
                return D(y * y);
            },
            x);
        return calls;
    };
    auto const count = [&](auto const&...) { ++calls; };
    CHECK(rows_of([&](D const&, D& y) { y.register_hook(count); }) == 6);
    CHECK(rows_of([&](D const&, D& y) { y.grad_fn()->register_hook(count); }) == 6);
    CHECK(rows_of([&](D const&, D& y) { y.grad_fn()->register_prehook(count); }) == 6);
    CHECK(rows_of([&](D const& a, D&) { D(a).register_hook(count); }) == 6);
    CHECK(rows_of([&](D const&, D& y) { y.register_hook(count).remove(); }) == 0);
    // a hook that changes a gradient changes the Jacobian
    auto const doubled = [&](D const& a) {
        D y = a * ones;
        y.register_hook([](D const& g) { return D(2. * g); });
        return y;
    };
    auto const plain = [&](D const& a) { return D(2. * a * ones); };
    CHECK(difference(xg::jacobian(doubled, x), xg::jacobian(plain, x)) == "");
    // .grad of what is in the middle
    D kept;
    xg::jacobian(
        [&](D const& a) {
            kept = a * ones;
            kept.retain_grad();
            return D(kept * kept);
        },
        x);
    CHECK(kept.grad().defined());
    // hooks of what does not depend on the inputs are called in no mode
    D const w({1., 2.}, xg::requires_grad);
    int others = 0;
    auto const captured = [&](D const& a) {
        D v = w * 2.;
        v.register_hook([&](D const&) { ++others; });
        return D(CubeWithJvp::apply(a * ones) * v);
    };
    CubeWithJvp::calls = 0;
    xg::jacobian(captured, x);
    CHECK(CubeWithJvp::calls == 2);
    CHECK(others == 0);
}

TEST_CASE_TEMPLATE("a backward that is not linear keeps reverse mode", How, Normalized, Clipped) {
    D const x({1., 2.}), ones = xg::ones({3, 2});
    auto const f = [&](D const& a) { return D(Twice<How>::apply(a * ones)); };
    CHECK(difference(xg::jacobian(f, x), xg::jacobian(f, x, reverse)) == "");
    CHECK(difference(xg::jacobian(f, x)(0), {{1., 0.}, {0., 1.}}) == "");
    auto const loss = [&](D const& a) { return sum(sin(Twice<How>::apply(a * a)) * a); };
    CHECK(difference(xg::hessian(loss, x), xg::hessian(loss, x, reverse)) == "");
    // where it does not depend on the inputs, forward mode is chosen
    D const w({1., 2.}, xg::requires_grad);
    CubeWithJvp::calls = 0;
    xg::jacobian(
        [&](D const& a) { return D(CubeWithJvp::apply(a * ones) * Twice<How>::apply(w)); }, x);
    CHECK(CubeWithJvp::calls == 2);
}

TEST_CASE("a sum of gradients takes a batch of tangents") {
    D const x({0.5, 2.}, xg::requires_grad);
    D const first = sum(sin(x)), second = sum(exp(x));
    D const g = xg::grad(D(first + second), x, {.create_graph = true});
    CHECK(g.grad_fn()->formula() == "Add(a, b)");
    CHECK(g.grad_fn()->forward_rule() == xg::detail::ForwardRule::batch);
}

TEST_CASE("a checkpoint is evaluated once for all tangents of a pass") {
    D const x({1., 2.}), ones = xg::ones({3, 2});
    int calls = 0;
    auto const f = [&](D const& a) {
        return xg::checkpoint(
            [&](D const& b) {
                ++calls;
                D const s = sin(b * ones), c = cos(s);
                return D(exp(c) * s);
            },
            a);
    };
    xg::jacobian(f, x);
    CHECK(calls == 1 + 1);
    calls = 0;
    xg::jacobian(f, x, reverse);
    CHECK(calls == 1 + 6);
}

TEST_CASE(
    "a function without forward mode is differentiated in reverse mode, unless forward mode was "
    "asked for") {
    D const x({1., 2.}), ones = xg::ones({3, 2});
    auto const f = [&](D const& a) { return D(Once::apply(a * ones)); };
    CHECK(difference(xg::jacobian(f, x),
              xg::jacobian([&](D const& a) { return D(2. * a * ones); }, x)) == "");
    CHECK_THROWS_WITH_AS(
        xg::jacobian(f, x, forward), doctest::Contains("forward mode needs a jvp"), xg::GraphError);
    auto const checkpointed = [&](D const& a) {
        return xg::checkpoint([&](D const& b) { return D(sin(b) * ones); }, a);
    };
    CHECK(difference(xg::jacobian(checkpointed, x),
              xg::jacobian([&](D const& a) { return D(sin(a) * ones); }, x)) == "");
}

TEST_CASE("all modes agree: views, joins and changes in place") {
    xg::manual_seed(1);
    D const x = xg::randn({11}), w = xg::randn({3, 4});
    modes_agree(x, {[&](D const& a) { return D(a(xg::slice(1, 9, 2)) * a[3]); },
                       [&](D const& a) { return D(unsqueeze(a, 1) * a); },
                       [&](D const& a) {
                           return D(reshape(a(xg::slice(0, 10)), {2, 5}).t() * 2.);
                       },
                       [&](D const& a) { return D(flip(a, 0) * a); },
                       [&](D const& a) {
                           return xg::cat({D(a * a), a, D(sin(a))});
                       },
                       [&](D const& a) {
                           return xg::stack({D(a * a), a, D(exp(a))}, 1);
                       },
                       [&](D const& a) {
                           auto const parts = reshape(a(xg::slice(0, 8)), {4, 2}).unbind(1);
                           return D(parts[0] * sin(parts[1]));
                       },
                       [&](D const& a) {
                           return D(a.expand({3, 11}) * a);
                       },
                       [&](D const& a) {
                           D y = a * 2.;
                           y(xg::slice(2, 5)) *= y[0];
                           y[7] = a[1] * a[2];
                           return D(y * y);
                       },
                       [&](D const& a) {
                           D y = xg::zeros({5, 11});
                           y[1] = a * a;
                           y(xg::all, 3) += a[0];
                           return D(sin(y));
                       },
                       [&](D const& a) { return D(where(a > 0., a * a, exp(a))); }});
    check_modes([&](D const& a) { return std::tuple(D(a * a), D(sum(a)), w); }, x);
}

TEST_CASE("all modes agree: sums, products of matrices, operations on whole arrays") {
    xg::manual_seed(2);
    D const x = xg::randn({3, 4}), w = xg::randn({4, 5});
    modes_agree(x, {[&](D const& a) { return D(sum(a * a, {0})); },
                       [&](D const& a) { return D(mean(sin(a), 1) * 3.); },
                       [&](D const& a) { return D(sum(a * a, {1}, xg::keepdims) * a); },
                       [&](D const& a) { return D(sum(exp(a) * a) * unsqueeze(a, 1)); },
                       [&](D const& a) { return D(matmul(a, w)); },
                       [&](D const& a) { return D(matmul(a, mT(a)) * sum(a)); },
                       [&](D const& a) { return D(cumsum(a * a, 1)); },
                       [&](D const& a) { return D(cumprod(a, 1)); },
                       [&](D const& a) { return D(prod(a, 0) * unsqueeze(a, 1)); },
                       [&](D const& a) { return D(max(a, 1) * a.t()); },
                       [&](D const& a) {
                           return D(a.index_select(1, xg::Tensor<std::int64_t>({0, 2, 2})));
                       }});
}

TEST_CASE("all modes agree: scalar types") {
    xg::manual_seed(3);
    D const x = xg::randn({3});
    F const w = xg::randn<float>({3});
    Z const z = xg::randn<complex<double>>({5});
    // three real directions, three more, and then ten: pairs are cut by the end of a batch
    check_modes(
        [](D const& a, F const& b, Z const& c) {
            return std::tuple(D(sin(a) * unsqueeze(abs2(c), 1)), F(b * b),
                D(unsqueeze(abs2(c * exp(c)), 1) * a * cast<double>(b)), D(real(c * c)));
        },
        xg::inputs(x, w, z));
    check_modes([](F const& a) { return D(sin(a) * xg::linspace(0., 1., 3)); }, w);
    check_modes([](Z const& c) { return Z(c * c * conj(c) + unsqueeze(exp(c), 1)); }, z);
    check_modes([](Z const& c) { return Z(sum(c * conj(c) * c, {0}) * c); }, z);
    check_modes([](Z const& c) { return D(view_as_real(Z(c * c))); }, z);
    check_modes(
        [](Z const& c) { return Z(matmul(unsqueeze(c, 1), unsqueeze(c, 0)) * real(c)); }, z);
    check_modes(
        [](D const& a) {
            return D(real(view_as_complex(reshape(a * xg::ones({4, 3}), {6, 2}))));
        },
        x);
}

TEST_CASE("a parameter that appears several times, in one formula or in many") {
    D const x({0.3, -0.7});
    D const t = xg::linspace(0., 1., 20);
    modes_agree(x, {[&](D const& a) { return D(a[0] * a[0] * t + a[0] * sin(a[0] * t) + a[1]); },
                       [&](D const& a) { return D(unsqueeze(a * a * sin(a), 1) * t); },
                       [&](D const& a) {
                           D y = a[0] * t;
                           for (int i = 0; i < 20; ++i) y = sin(y) * a[1] + y;
                           return y;
                       }});
}

TEST_CASE("inputs and outputs that do not depend on each other") {
    D const x({1., 2.}), w({3., 4.}), t = xg::linspace(0., 1., 9);
    auto const J = xg::jacobian(
        [&](D const& a, D const&) { return std::tuple(D(a[0] * t), t); }, xg::inputs(x, w));
    auto const& [first, second] = J;
    D wanted = xg::zeros({9, 2});
    wanted(xg::all, 0) = t;
    CHECK(difference(std::get<0>(first), wanted) == "");
    CHECK(difference(std::get<1>(first), xg::zeros({9, 2})) == "");
    CHECK(difference(std::get<0>(second), xg::zeros({9, 2})) == "");
    CHECK(difference(std::get<1>(second), xg::zeros({9, 2})) == "");
    CHECK(xg::jacobian([&](D const&) { return t; }, xg::zeros({0})).shape() == xg::Shape{9, 0});
    CHECK(xg::jacobian(
              [&](D const& a) {
                  return D(a * xg::zeros({0, 2}));
              },
              x)
              .shape() == xg::Shape{0, 2, 2});
}

TEST_CASE("a parameter that does not move contributes nothing where its derivative is infinite") {
    D const t = xg::linspace(0., 2., 3); // sqrt has an infinite derivative at the first
    auto const f = [&](D const& a) { return D(a[0] * t + a[1] * sqrt(a[2] * t)); };
    D const J = xg::jacobian(f, D({1., 0.5, 4.}));
    CHECK(difference(J(xg::all, 0), t) == "");
    CHECK(difference(J(xg::all, 1), D(sqrt(4. * t))) == "");
}

TEST_CASE("many elements, on several threads") {
    std::size_t const n = 200'000;
    D const t = xg::linspace(0., 1., n), x({0.5, 2.});
    auto const J = xg::jacobian([&](D const& a) { return D(a[0] * exp(a[1] * t)); }, x);
    CHECK(difference(D(J(xg::all, 0)), D(exp(2. * t))) == "");
    CHECK(difference(D(J(xg::all, 1)), D(0.5 * t * exp(2. * t))) == "");
    // and a sum over them, of which the gradient reads the same
    D const s = xg::jacobian(
        [&](D const& a) {
            return sum(a[0] * exp(a[1] * unsqueeze(t, 1)) * xg::ones({1, 3}), {0});
        },
        x);
    CHECK(difference(s(0, 0), D(sum(exp(2. * t))), 1e-10) == "");
    CHECK(difference(s(2, 1), D(sum(0.5 * t * exp(2. * t))), 1e-10) == "");
}

TEST_CASE("a Hessian in forward mode over reverse mode, eight columns in a pass") {
    xg::manual_seed(4);
    auto const agree = [](auto const& f, auto const& x) {
        auto const rows = xg::detail::erased(xg::hessian(f, x, reverse)),
                   columns = xg::detail::erased(xg::hessian(f, x, forward)),
                   chosen = xg::detail::erased(xg::hessian(f, x));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            CHECK(difference(columns[i].template as<double>(), rows[i].template as<double>(),
                      1e-11) == "");
            CHECK(difference(
                      chosen[i].template as<double>(), rows[i].template as<double>(), 1e-11) == "");
        }
    };
    D const x = xg::randn({11}), w = xg::randn({3, 11}), s(0.3), t = xg::linspace(0., 1., 50);
    agree([](D const& a) { return sum(a * a * a) + prod(a); }, x);
    agree(
        [](D const& a) {
            D const head = a(xg::slice(0, 10)), tail = a(xg::slice(1, 11));
            return sum(100. * square(tail - square(head)) + square(1. - head));
        },
        x);
    agree([&](D const& a) { return sum(square(tanh(matmul(w, a)))); }, x);
    agree([&](D const& a) { return sum(square(sum(exp(a) * unsqueeze(w, 2), {1}))); }, x);
    agree([&](D const& a) { return sum(square(a[0] * exp(-a[1] * t) + a[2] * sin(a[3] * t))); }, x);
    agree([&](D const& a, D const& b) { return sum(square(a * b) * w + mean(a * exp(b))); },
        xg::inputs(x, s));
    agree([&](D const& a) { return sum(Cube::apply(a * w)); }, x);
    agree([&](D const&) { return sum(w); }, x);
    int const one = unpackings([&] {
        xg::hessian([](D const& a) { return sum(sin(a) * a); }, xg::linspace(0., 1., 8), forward);
    });
    CHECK(unpackings([&] {
        xg::hessian([](D const& a) { return sum(sin(a) * a); }, xg::linspace(0., 1., 17), forward);
    }) < 4 * one);
    CHECK_THROWS_WITH_AS(xg::hessian([](D const& a) { return sum(a * a); }, x,
                             {.create_graph = true, .strategy = xg::Mode::forward}),
        "hessian: create_graph or strict and Mode::forward are not supported together",
        xg::GraphError);
    xg::TransformOptions const options{.strict = true};
    CHECK(xg::hessian([](D const& a) { return sum(a * a * a); }, x, options).shape() ==
          xg::Shape{11, 11});
}
