// Gradients of gradients of fused expressions: one Node more, and one pass more.
#include "walk.hpp"

namespace {

D ramp(std::size_t n, double first, double step) {
    D x = xg::zeros({n});
    for (std::size_t i = 0; i < n; ++i) x.mutable_data()[i] = first + step * static_cast<double>(i);
    return x;
}

/// The Hessian of a sum times a direction.
template <class... T>
auto hessian_times(D const& loss, std::tuple<T...> const& x, std::vector<xg::AnyTensor> const& v) {
    auto const g = std::apply(
        [&](auto const&... t) {
            return xg::grad(xg::TensorsOrEdges{loss}, {t...}, {.create_graph = true});
        },
        x);
    auto const h =
        std::apply([&](auto const&... t) { return xg::grad(g, {t...}, {.gradients = v}); }, x);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple<T...>(h[I].template as<typename T::value_type>()...);
    }(std::index_sequence_for<T...>{});
}

} // namespace

TEST_CASE("the Hessian of a fused sum times a direction is the one on paper, for every number of "
          "elements") {
    for (std::size_t n : {1u, 2u, 3u, 7u, 8u, 16u, 17u, 255u, 256u, 300u}) {
        D const a = ramp(n, -1, 0.01).requires_grad_(), b = ramp(n, 0.5, 0.003).requires_grad_(),
                p = ramp(n, 1, -0.02), q = ramp(n, -2, 0.03);
        auto const [ha, hb] =
            hessian_times(sum(tanh(a * b) + log(1 + a * a)), xg::inputs(a, b), {p, q});
        D wanted_a = xg::zeros({n}), wanted_b = xg::zeros({n});
        for (std::size_t i = 0; i < n; ++i) {
            double const x = a.data()[i], y = b.data()[i], u = p.data()[i], v = q.data()[i];
            double const t = std::tanh(x * y), s = 1 - t * t, ds = -2 * t * s * (u * y + x * v),
                         r = 1 / (1 + x * x);
            wanted_a.mutable_data()[i] = ds * y + s * v + 2 * u * r - 4 * x * x * u * r * r;
            wanted_b.mutable_data()[i] = ds * x + s * u;
        }
        CHECK(difference(ha, wanted_a) == "");
        CHECK(difference(hb, wanted_b) == "");
    }
}

TEST_CASE(
    "the gradients of one expression are one Node, which tells what it is and what it saves") {
    D const a({1., 2.}, xg::requires_grad), b({3., 4.}, xg::requires_grad);
    D const y = sin(a) * b;
    auto const g = xg::grad(
        {y}, {a, b}, {.gradients = {D({1., 1.}, xg::requires_grad)}, .create_graph = true});
    REQUIRE(g[0].grad_fn());
    CHECK(g[0].grad_fn() == g[1].grad_fn());
    CHECK(g[0].grad_fn()->name() == "MulBackwardBackward");
    CHECK(g[0].output_nr() + g[1].output_nr() == 1);
    CHECK(g[0].grad_fn()->next_edges().size() == 3);
    CHECK(operations_of(g[0]) == 1);
    std::string names;
    for (auto const& saved : g[0].grad_fn()->saved_tensors()) names += saved.name + " ";
    CHECK(names == "a b gradient ");
    CHECK(g[0].grad_fn()->saved("a").unpack().is_same(a));
    CHECK(g[0].grad_fn()->formula().find("Mul(Sin(a), b)") != std::string::npos);
}

TEST_CASE("a result that was saved for the gradient serves the second one too") {
    D const x({0.5, -1.}, xg::requires_grad), v({2., 3.});
    D const g = grad(D(exp(x)), x, {.gradients = {D({1., 10.})}, .create_graph = true});
    CHECK(g.grad_fn()->saved("result").unpack().requires_grad());
    CHECK(difference(grad(g, x, {.gradients = {v}}), {2. * std::exp(0.5), 30. * std::exp(-1.)}) ==
          "");
}

TEST_CASE(
    "each incoming gradient gets its derivative, through broadcasting and sums over axes as well") {
    D const m({{1., 2.}, {3., 4.}}, xg::requires_grad), row({0.5, 2.}, xg::requires_grad),
        v({{1., -1.}, {2., 0.5}}), w({3., 4.});
    auto const derivative = [&](D const& y, D const& seed) {
        auto const g = xg::grad({y}, {m, row}, {.gradients = {seed}, .create_graph = true});
        return xg::grad({g[0], g[1]}, {seed}, {.gradients = {v, w}})[0].as<double>();
    };
    // the gradients are linear in the seed: their derivative for it is that of m m row in the
    // direction (v, w)
    auto const moved = [&](double a, double b, double c, double d) {
        return 2 * a * b * c + a * a * d;
    };
    double const at00 = moved(1, 1, 0.5, 3), at01 = moved(2, -1, 2, 4), at10 = moved(3, 2, 0.5, 3),
                 at11 = moved(4, 0.5, 2, 4);
    CHECK(difference(derivative(m * m * row, D({{1., 2.}, {3., 4.}}, xg::requires_grad)),
              {{at00, at01}, {at10, at11}}) == "");
    CHECK(difference(derivative(sum(m * m * row), D(2., xg::requires_grad)),
              D(at00 + at01 + at10 + at11)) == "");
    CHECK(difference(derivative(sum(m * m * row, {0}), D({1., 2.}, xg::requires_grad)),
              {at00 + at10, at01 + at11}) == "");
    CHECK(difference(derivative(sum(m * m * row, {1}, true), D({{1.}, {2.}}, xg::requires_grad)),
              {{at00 + at01}, {at10 + at11}}) == "");
    CHECK(difference(derivative(mean(m * m * row, {1}), D({1., 2.}, xg::requires_grad)),
              {(at00 + at01) / 2, (at10 + at11) / 2}) == "");
}

TEST_CASE("one tensor at several places gets the sum of its second derivatives, whichever places "
          "want one") {
    D const x({2., -3.}, xg::requires_grad), y({0.5, 1.}, xg::requires_grad);
    // sum(x x y + y where(x > 0, x, 1)): Hessian (2 y, 2 x + [x > 0]; same, 0)
    auto const loss = [&] { return sum(x * x * y + y * where(x > 0, x, 1.)); };
    auto const [hx, hy] = hessian_times(loss(), xg::inputs(x, y), {D({1., 1.}), D({10., 10.})});
    CHECK(difference(hx, {2 * 0.5 + 5 * 10., 2 * 1. - 6 * 10.}) == "");
    CHECK(difference(hy, {5., -6.}) == "");
}

TEST_CASE("a gradient that is not differentiated takes no part, nor do tensors that ask for none") {
    D const x({2., 3.}, xg::requires_grad), y({5., 7.}, xg::requires_grad), c({11., 13.});
    auto const g = xg::grad({sum(x * x * y * c)}, {x, y}, {.create_graph = true});
    auto const only_y = xg::grad(
        {g[1]}, {x, y}, {.gradients = {D({1., 2.})}, .retain_graph = true, .allow_unused = true});
    CHECK(difference(only_y[0].as<double>(), {44., 156.}) == "");
    if (only_y[1].defined()) CHECK(difference(only_y[1].as<double>(), {0., 0.}) == "");
    auto const only_x = xg::grad({g[0]}, {x, y}, {.gradients = {D({1., 2.})}});
    CHECK(difference(only_x[0].as<double>(), {110., 364.}) == "");
    CHECK(difference(only_x[1].as<double>(), {44., 156.}) == "");
}

TEST_CASE("what stands still adds nothing, even where its own derivative is infinite") {
    double const inf = std::numeric_limits<double>::infinity();
    D const x({-2., 3.}, xg::requires_grad), ones({1., 1.});
    auto const second = [&](D const& y) {
        return std::get<0>(hessian_times(sum(y), xg::inputs(x), {ones}));
    };
    CHECK(difference(second(pow(x, D({2., 3.}))), {2., 18.}) == "");
    CHECK(difference(second(x * x * sqrt(D({0., 4.}))), {0., 4.}) == "");
    CHECK(difference(second(x * x + D({0., 1.}) * log(D({0., 1.}) * 0. + 1.) * x), {2., 2.}) == "");
    D const scores({0., -inf}, xg::requires_grad);
    auto const [h] = hessian_times(sum(exp(scores * D({2., 2.}))), xg::inputs(scores), {ones});
    CHECK(difference(h, {4., 0.}) == "");
}

TEST_CASE("a linear expression has gradients without history, and with one for the incoming "
          "gradient that can be passed again") {
    D const x({1., 2.}, xg::requires_grad);
    CHECK_FALSE(grad(sum(3. * x - 1.), x, {.create_graph = true}).requires_grad());
    D const seed({5., 6.}, xg::requires_grad);
    D const g = grad(D(3. * x), x, {.gradients = {seed}, .create_graph = true});
    for (int pass = 0; pass < 2; ++pass)
        CHECK(difference(grad(g, seed, {.gradients = {D({1., 2.})}}), {3., 6.}) == "");
}

TEST_CASE("the second pass frees what the first one saved, unless it is told to keep it") {
    D const x({1., 2.}, xg::requires_grad), v({1., 1.});
    D const y = sum(x * x * x);
    D const g = grad(y, x, {.create_graph = true});
    for (int pass = 0; pass < 3; ++pass)
        CHECK(
            difference(grad(g, x, {.gradients = {v}, .retain_graph = pass < 2}), {6., 12.}) == "");
    auto const again = doctest::Contains("Trying to backward through the graph a second time");
    CHECK_THROWS_WITH_AS(static_cast<void>(grad(g, x, {.gradients = {v}})), again, xg::GraphError);
    CHECK(difference(grad(y, x), {3., 12.}) == "");
    // the first graph may be gone before the second pass
    D const z = sum(x * x * x);
    D const h = grad(z, x, {.retain_graph = false, .create_graph = true});
    CHECK_THROWS_WITH_AS(static_cast<void>(grad(z, x)), again, xg::GraphError);
    CHECK(difference(grad(h, x, {.gradients = {v}}), {6., 12.}) == "");
}

TEST_CASE("a change in place of what the first pass saved is an error of the second") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1., seed({1., 1.});
    D const z = y * y;
    D const g = grad(z, x, {.gradients = {seed}, .create_graph = true});
    SUBCASE("of an operand") { y += 1.; }
    SUBCASE("of the incoming gradient") { seed += 1.; }
    auto const text = doctest::Contains("has been modified by an inplace operation");
    CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(g), x)), text, xg::VersionError);
}

TEST_CASE("hooks on saved tensors see what the first pass saves, and each is unpacked once in the "
          "second") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad), v({1., 1.});
    D const y = sum(x * x * w);
    int packed = 0, unpacked = 0;
    std::vector<xg::AnyTensor> g;
    {
        xg::SavedTensorsHooks const hooks([&](xg::AnyTensor const& t) { return ++packed, t; },
            [&](xg::AnyTensor const& t) { return ++unpacked, t; });
        g = xg::grad({y}, {x, w}, {.create_graph = true});
    }
    CHECK(packed == 3);
    CHECK(unpacked == 0);
    auto const h = xg::grad(g, {x, w}, {.gradients = {v, v}});
    CHECK(unpacked == 3);
    CHECK(difference(h[0].as<double>(), {8., 12.}) == "");
    CHECK(difference(h[1].as<double>(), {2., 4.}) == "");
}

TEST_CASE("hooks on the gradients and on their Node run in the second pass") {
    D const x({1., 2.}, xg::requires_grad);
    D g = grad(sum(x * x * x), x, {.create_graph = true});
    int seen = 0;
    g.register_hook([&](D const& u) { return ++seen, D(2. * u); });
    g.grad_fn()->register_prehook([&](std::vector<xg::AnyTensor> const&) { ++seen; });
    CHECK(difference(grad(sum(g), x), {12., 24.}) == "");
    CHECK(seen == 2);
}

TEST_CASE("a window on other memory that is a leaf itself has second derivatives") {
    auto const memory = xg::full<double>({3, 5}, 0.);
    D x = memory(xt::all(), xg::slice(0, {}, 2)).transpose();
    x.fill_(1.5);
    x.requires_grad_();
    D const cubed = xg::grad(sum(x * x * x), x, {.create_graph = true});
    CHECK(difference(xg::grad(sum(cubed), x), xg::full<double>({3, 3}, 9.)) == "");
    D const product =
        xg::grad(sum(matmul(x, x)), x, {.create_graph = true}); // sums of rows and of columns
    CHECK(difference(xg::grad(sum(product), x), xg::full<double>({3, 3}, 6.)) == "");
    D row = memory(1).detach();
    row.requires_grad_();
    D const gradient = xg::grad(sum(exp(2 * row)), row, {.create_graph = true});
    CHECK(difference(xg::grad(sum(gradient), row),
              {4 * std::exp(3.), 4., 4 * std::exp(3.), 4., 4 * std::exp(3.)}) == "");
}
