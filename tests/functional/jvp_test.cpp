// jvp(), forward mode: values by closed forms, structures, every kind of Node on the way, modes,
// nesting, errors.
#include <xgrad/functional/hvp.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {
auto push = [](auto f, auto const& x, auto const& v) { return xg::jvp(f, x, v).second; };
}

TEST_CASE("jvp gives the value and the derivative along v") {
    D const x({1., 2., 3.});
    auto const [y, t] = xg::jvp([](D const& a) { return a * a + sum(a); }, x, D({1., 10., 100.}));
    CHECK(difference(y, {7., 10., 15.}) == "");
    CHECK(difference(t, {113., 151., 711.}) == "");
    CHECK_FALSE(y.requires_grad());
    CHECK_FALSE(t.requires_grad());
    CHECK(difference(xg::jvp([](D const& a) { return exp(2. * a); }, D(0.)).second, D(2.)) == "");
}

TEST_CASE("tangents of tuples, of several scalar types") {
    D const x({1., 2.});
    F const w({3.f, 4.f});
    Z const z({1. + 2.i, 3. - 1.i});
    auto const f = [](D const& a, F const& b, Z const& c) {
        return std::tuple(a * b, sum(abs2(c)), c * c, D(7.));
    };
    auto const [y, t] =
        xg::jvp(f, xg::inputs(x, w, z), std::tuple(D({1., 0.}), F({0.f, 10.f}), Z({1., 1.i})));
    auto const& [product, squares, square, constant] = t;
    CHECK(difference(std::get<0>(y), {3., 8.}) == "");
    CHECK(difference(product, {3., 20.}) == "");
    CHECK(difference(squares, D(2. * (1. - 1.))) == ""); // 2 Re sum conj(z) v
    CHECK(difference(square, {2. * (1. + 2.i), 2. * (3. - 1.i) * 1.i}) == "");
    CHECK(difference(constant, D(0.)) == "");
}

TEST_CASE("the derivative of a complex function is its real linear one") {
    Z const z({1. + 2.i}), v({2. - 1.i});
    std::complex<double> const at = 1. + 2.i, u = 2. - 1.i;
    CHECK(difference(push([](Z const& a) { return exp(a); }, z, v), Z({u * std::exp(at)})) == "");
    CHECK(difference(push([](Z const& a) { return conj(a); }, z, v), Z({std::conj(u)})) == "");
    CHECK(difference(push([](Z const& a) { return abs2(a); }, z, v),
              D({2 * std::real(std::conj(at) * u)})) == "");
    CHECK(difference(push([](Z const& a) { return a * a * conj(a); }, z, v),
              Z({2. * at * std::conj(at) * u + at * at * std::conj(u)})) == "");
}

TEST_CASE("tangents pass every kind of Node") {
    D const x({1., 2., 3., 4.}), v({1., 10., 100., 1000.}),
        w({{1., 2.}, {3., 5.}}, xg::requires_grad);
    CHECK(difference(
              push([](D const& a) { return prod(a); }, x, v), D(24. + 120. + 800. + 6000.)) == "");
    CHECK(difference(push([](D const& a) { return amax(a); }, x, v), D(1000.)) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             return sum(reshape(a, {2, 2}), {0});
                         },
                         x, v),
              {101., 1010.}) == "");
    CHECK(difference(push(
                         [&](D const& a) {
                             return matmul(reshape(a, {2, 2}), w);
                         },
                         x, v),
              {{31., 52.}, {3100., 5200.}}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             return matmul(reshape(a, {1, 4}), reshape(a, {4, 1}));
                         },
                         x, v),
              {{2. * (1. + 20. + 300. + 4000.)}}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             return mT(reshape(a, {2, 2}))(0);
                         },
                         x, v),
              {1., 100.}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             return cat(std::vector<D>{
                                 a(xg::slice(2, 4)), D({5.}), D(a(xg::slice(0, 1)) * 2.)});
                         },
                         x, v),
              {100., 1000., 0., 2.}) == "");
    CHECK(difference(push([](D const& a) { return masked_select(a, a > 2.5); }, x, v),
              {100., 1000.}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             return a + reshape(a, {4, 1});
                         },
                         D({1., 2., 3., 4.}), D({1., 0., 0., 0.}))(0),
              {2., 1., 1., 1.}) == "");
    CHECK(difference(push([](D const& a) { return cast<float>(a); }, x, v),
              {1.f, 10.f, 100.f, 1000.f}) == "");
    CHECK(difference(push([](D const& a) { return real(ifft(fft(a))); }, x, v), v, 1e-12) == "");
    CHECK(difference(push([](D const& a) { return where(a > 2.5, a * a, a); }, x, v),
              {1., 10., 600., 8000.}) == "");
}

TEST_CASE("tangents find their way through many Nodes, against differences and the gradient") {
    auto const f = [](D const& x) {
        D left = x, right = x;
        for (int i = 0; i < 12; ++i) {
            auto const parts = xg::split(xg::cat(std::vector<D>{left * 0.9, sin(right)}), 2);
            left = parts[1] + parts[0];
            right = parts[1] * left;
        }
        return std::tuple(left, right, sum(left) * right);
    };
    D const x({0.3, 0.7}), v({1., -2.}), w({0.4, 1.1});
    auto const weighed = [&](auto const& all) {
        return D(sum(w * (std::get<0>(all) + 2. * std::get<1>(all) - std::get<2>(all)))).item();
    };
    auto const pushed = xg::jvp(f, x, v).second;
    double const h = 1e-6;
    CHECK(weighed(pushed) ==
          doctest::Approx((weighed(f(D(x + h * v))) - weighed(f(D(x - h * v)))) / (2 * h))
              .epsilon(1e-6));
    D const pulled = xg::vjp(f, x, std::tuple(w, D(2. * w), D(-w))).second;
    CHECK(weighed(pushed) == doctest::Approx(D(sum(pulled * v)).item()).epsilon(1e-12));
}

TEST_CASE("tangents pass changes in place and views") {
    D const x({1., 2., 3.}), v({1., 10., 100.});
    CHECK(difference(push(
                         [](D const& a) {
                             D b = a.clone();
                             b *= b;
                             b += a;
                             return b;
                         },
                         x, v),
              {3., 50., 700.}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             D b = a.clone();
                             b(0) = D(sum(a));
                             b(xg::slice(1, 3)) *= 2.;
                             return b;
                         },
                         x, v),
              {111., 20., 200.}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             D b = xg::zeros<double>({3});
                             b(1) += a(2) * a(2);
                             return b * a;
                         },
                         x, v),
              {0., 2. * 600. + 9. * 10., 0.}) == "");
    CHECK(difference(push(
                         [](D const& a) {
                             auto parts = unbind(a);
                             return parts[0] * parts[2];
                         },
                         x, v),
              D(103.)) == "");
    // The tangent of a part is a result of its own, and no view of v.
    D const tangent_of_v = v.detach().clone().requires_grad_();
    for (auto const& part : {std::function([](D const& a) { return xg::split(a, 1)[0]; }),
             std::function([](D const& a) {
                 return xg::unbind(xg::stack({a, a}))[0];
             })}) {
        D t = push(part, x, tangent_of_v);
        CHECK_FALSE(t.requires_grad());
        CHECK_THROWS_WITH_AS(
            sum(t * t).backward(), doctest::Contains("does not require grad"), xg::GraphError);
        t += D(1.).requires_grad_();
        CHECK(t.requires_grad());
    }
}

TEST_CASE("only the function's own use of its argument counts, and nothing collects a gradient") {
    D x({1., 2.}, xg::requires_grad);
    D const c({3., 4.}, xg::requires_grad), v({1., 1.});
    CHECK(difference(push([&](D const& a) { return a * x * c; }, x, v), {3., 8.}) == "");
    CHECK(difference(push([&](D const&) { return x * c; }, x, v), {0., 0.}) == "");
    CHECK(difference(push([](D const& a) { return a; }, x, v), v) == "");
    CHECK_FALSE(x.grad().defined());
    xg::NoGradGuard const off;
    CHECK(difference(push([](D const& a) { return a * a; }, x, v), {2., 4.}) == "");
    xg::InferenceMode const inference;
    CHECK(difference(push([](D const& a) { return a * a; }, xg::zeros<double>({2}) + 3., v),
              {6., 6.}) == "");
}

TEST_CASE("jvp nests, in itself and with reverse mode") {
    D const x({1., 2.}), v({1., 10.});
    auto const cube = [](D const& a) { return a * a * a; };
    auto const along = [&](auto f) { return [=](D const& a) { return xg::jvp(f, a, v).second; }; };
    CHECK(difference(push(along(cube), x, v), {6., 1200.}) == "");
    CHECK(difference(push(along(along(cube)), x, v), {6., 6000.}) == "");
    // reverse over forward, and forward over reverse
    CHECK(
        difference(xg::grad([&](D const& a) { return sum(along(cube)(a)); })(x), {6., 120.}) == "");
    CHECK(difference(push(xg::grad([&](D const& a) { return sum(cube(a)); }), x, v), {6., 120.}) ==
          "");
    CHECK(difference(push(
                         [](D const& a) {
                             return xg::grad([](D const& b) { return prod(b) * sum(b * b); })(a);
                         },
                         x, v),
              {162., 135.}) == "");
    // the tangents are differentiable in v, too
    D u({1., 1.}, xg::requires_grad);
    auto const t = xg::jvp(cube, x, u, {.create_graph = true}).second;
    CHECK(difference(xg::grad(sum(t), u), {3., 12.}) == "");
}

TEST_CASE("a Hessian-vector product is forward over reverse") {
    D const x({1., 2., 3.}), v({1., 0., -1.});
    auto const f = [](D const& a) { return sum(sin(a) * a) + prod(a); };
    auto const h = xg::hessian(f, x);
    CHECK(difference(xg::hvp(f, x, v).second, D(reshape(matmul(h, reshape(v, {3, 1})), {3})),
              1e-12) == "");
    CHECK(difference(xg::hvp(f, x, v).second, xg::vhp(f, x, v).second, 1e-12) == "");
    Z const z({1. + 2.i, -0.5i}), w({0.3 - 1.i, 2.});
    auto const g = [](Z const& a) { return sum(square(abs2(a) - 1.)) + real(sum(exp(a))); };
    CHECK(difference(xg::hvp(g, z, w).second, xg::vhp(g, z, w).second, 1e-12) == "");
}

TEST_CASE("a Jacobian made of columns is that made of rows") {
    auto const f = [](D const& a, D const& b) {
        return std::tuple(reshape(a, {3, 1}) * b, exp(a) * prod(b));
    };
    auto const at = xg::inputs(D({1., 2., 3.}), D({4., 5.}));
    auto const rows = xg::jacobian(f, at),
               columns = xg::jacobian(f, at, {.strategy = xg::Mode::forward});
    CHECK(difference(std::get<0>(std::get<0>(columns)), std::get<0>(std::get<0>(rows))) == "");
    CHECK(difference(std::get<1>(std::get<0>(columns)), std::get<1>(std::get<0>(rows))) == "");
    CHECK(
        difference(std::get<0>(std::get<1>(columns)), std::get<0>(std::get<1>(rows)), 1e-12) == "");
    CHECK(
        difference(std::get<1>(std::get<1>(columns)), std::get<1>(std::get<1>(rows)), 1e-12) == "");
}

namespace {

/// 3 x, with a jvp that says that it was called.
struct Triple : xg::Function<Triple> {
    static inline int calls = 0;
    static D forward(Context&, D const& x, double) { return 3. * x; }
    static auto backward(Context&, D const& g) { return std::tuple(3. * g, std::nullopt); }
    static auto jvp(Context&, D const& t, std::nullopt_t) {
        ++calls;
        return 3. * t;
    }
};

/// x_0 x_1 ..., and a count of them.
struct ProductOfAll : xg::Function<ProductOfAll> {
    using Saved = std::tuple<std::vector<D>>;
    static std::tuple<D, int> forward(Context& ctx, std::vector<D> const& x) {
        ctx.save_for_backward(x);
        D y = x[0].clone();
        for (std::size_t i = 1; i < x.size(); ++i) y *= x[i];
        return {y, static_cast<int>(x.size())};
    }
    static std::vector<D> backward(Context& ctx, D const& g, std::nullopt_t) {
        auto const [x] = ctx.saved_tensors();
        std::vector<D> all;
        for (std::size_t i = 0; i < x.size(); ++i) {
            D others = g;
            for (std::size_t j = 0; j < x.size(); ++j)
                if (j != i) others = others * x[j];
            all.push_back(others);
        }
        return all;
    }
};

struct Once : xg::Function<Once> {
    static constexpr bool once_differentiable = true;
    static D forward(Context&, D const& x) { return 2. * x; }
    static D backward(Context&, D const& g) { return 2. * g; }
};

/// Two results, of which the tangents come from jvp.
struct SinCos : xg::Function<SinCos> {
    using Saved = std::tuple<D, D>;
    static std::tuple<D, D> forward(Context& ctx, D const& x) {
        D s = sin(x), c = cos(x);
        ctx.save_for_backward(s, c);
        return {s, c};
    }
    static D backward(Context& ctx, D const& gs, D const& gc) {
        auto const [s, c] = ctx.saved_tensors();
        return gs * c - gc * s;
    }
    static auto jvp(Context& ctx, D const& t) {
        auto const [s, c] = ctx.saved_tensors();
        return std::tuple(t * c, -t * s);
    }
};

/// A jvp that computes with numbers.
struct CubeByNumbers : xg::Function<CubeByNumbers> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return 3. * x * x * g;
    }
    static D jvp(Context& ctx, D const& t) {
        auto const [x] = ctx.saved_tensors();
        D along = xg::zeros(x.shape());
        for (std::size_t i = 0; i < x.numel(); ++i)
            along.mutable_data()[i] = 3 * x.data()[i] * x.data()[i] * t.data()[i];
        return along;
    }
};

/// a * b, which computes only the gradients that are needed.
struct Times : xg::Function<Times> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& a, D const& b) {
        ctx.save_for_backward(a, b);
        return a * b;
    }
    static std::tuple<D, D> backward(Context& ctx, D const& g) {
        auto const [a, b] = ctx.saved_tensors();
        D of_a, of_b;
        if (ctx.needs_input_grad(0)) of_a = g * b;
        if (ctx.needs_input_grad(1)) of_b = g * a;
        return {of_a, of_b};
    }
};

struct Wrong : xg::Function<Wrong> {
    static D forward(Context&, D const& x) { return 2. * x; }
    static D backward(Context&, D const& g) { return 2. * g; }
    static D jvp(Context&, D const&) { return xg::ones<double>({7}); }
};

} // namespace

TEST_CASE("a Function's jvp is used; without one its backward is differentiated") {
    D const x({1., 2.}), v({1., 10.});
    Triple::calls = 0;
    CHECK(difference(push([](D const& a) { return sin(Triple::apply(a, 1.)); }, x, v),
              {3. * std::cos(3.), 30. * std::cos(6.)}) == "");
    CHECK(Triple::calls == 1);
    CHECK(difference(push(
                         [](D const& a) {
                             return std::get<0>(
                                 ProductOfAll::apply(std::vector<D>{a, D(a * a), D({2., 2.})}));
                         },
                         x, v),
              {6., 240.}) == "");
    auto const both = push(
        [](D const& a) {
            auto const [s, c] = SinCos::apply(a);
            return s * s + c * c;
        },
        x, v);
    CHECK(difference(both, {0., 0.}, 1e-12) == "");
    CHECK(difference(push(
                         [&](D const& b) {
                             return push([](D const& a) { return std::get<0>(SinCos::apply(a)); },
                                 b, D({1., 1.}));
                         },
                         x, v),
              {-std::sin(1.), -10. * std::sin(2.)}) == "");
}

TEST_CASE("a derivative in a backward pass is not limited to what that pass needs") {
    auto const f = [](D const& a) { return Times::apply(sin(a), cos(a)); };
    D const x({0.3, -0.7}, xg::requires_grad), v({1., 10.});
    D const along({std::cos(0.6), 10. * std::cos(-1.4)});
    D found;
    D y = 2. * x;
    y.register_hook([&](D const&) { found = push(f, D({0.3, -0.7}), v); });
    sum(y).backward();
    CHECK(difference(found, along) == "");

    // a function under checkpoint() is called again in the backward pass
    auto const g = [&](D const& a) { return xg::linearize(f, a).second(v); };
    auto const second =
        xg::grad([&](D const& a) { return sum(xg::checkpoint(g, a)); }, D({0.3, -0.7}));
    CHECK(difference(second, {-2. * std::sin(0.6), -20. * std::sin(-1.4)}) == "");
}

TEST_CASE("errors of jvp") {
    D const x({1., 2.}), v({1., 10.});
    auto const square = [](D const& a) { return a * a; };
    CHECK_THROWS_WITH_AS(xg::jvp(square, x, D({1., 2., 3.})),
        "jvp: v has invalid size: should be [2] but got [3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::jvp(square, x),
        "jvp: the vector v can only be left out where there is a single tensor with a single "
        "element to multiply it with",
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::jvp([](D const&) { return D({1.}); }, x, v, {.strict = true}),
        "jvp: Output 0 of the user-provided function does not require gradients. The outputs must "
        "be computed in a differentiable manner from the input when running in strict mode.",
        xg::GraphError);
    D const other({1., 2.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(xg::jvp([&](D const&) { return other * 2.; }, x, v, {.strict = true}),
        "jvp: Output 0 of the user-provided function is independent of the inputs. This is not "
        "allowed in strict mode.",
        xg::GraphError);
    CHECK_THROWS_WITH_AS(push([](D const& a) { return Once::apply(a); }, x, v),
        "Once: forward mode needs a jvp, since a backward that is once_differentiable cannot stand "
        "in for it",
        xg::GraphError);
    auto const cube = [](D const& a) { return CubeByNumbers::apply(a); };
    CHECK(difference(push(cube, x, v), D(3. * x * x * v)) == "");
    CHECK_THROWS_WITH_AS(xg::vjp([&](D const& a) { return push(cube, a, v); }, x, v),
        "CubeByNumbers: its jvp was not recorded, so that it cannot be differentiated: let it "
        "compute with operations on tensors, or mark the function with once_differentiable",
        xg::GraphError);
    CHECK_THROWS_WITH_AS(push([](D const& a) { return Wrong::apply(a); }, x, v),
        "function Wrong: jvp returned a tangent of shape [7] for result 0 of shape [2]",
        xg::ShapeError);
}
