// The option `rows` of jacobian() and hessian(): the first axis numbers independent problems. And
// Jacobians of expressions, whose kernels write them.
#include <xgrad/map.hpp>
#include <xgrad/xgrad.hpp>

#include "tensor/compare.hpp"

using C = xg::Tensor<std::complex<double>>;
using xg::all;
using xg::slice;

namespace {

/// Numbers between 0.3 and 1.9 that are not equal to each other.
D numbers(xg::Shape const& shape) {
    auto const n = static_cast<double>(xg::numel(shape));
    return reshape(D(1.1 + 0.8 * sin(xg::arange<double>(n) * 12.9898)), shape);
}
/// The derivatives row by row, each by a call of jacobian() for that row.
template <class Fn, class T> xg::Tensor<T> by_hand(Fn const& f, xg::Tensor<T> const& x) {
    std::vector<xg::Tensor<T>> rows;
    for (std::size_t r = 0; r < x.shape()[0]; ++r) {
        auto const i = static_cast<std::ptrdiff_t>(r);
        xg::Tensor<T> const row = x(slice(i, i + 1));
        auto const one = xg::jacobian(f, row, {.strategy = xg::Mode::reverse});
        // [1, o..., 1, i...] without the axes of one row
        xg::Shape shape = one.shape();
        shape.erase(one.dim() - x.dim());
        shape.erase(0);
        rows.push_back(reshape(one, shape));
    }
    return stack(rows, 0);
}
template <class T> bool close(xg::Tensor<T> const& a, xg::Tensor<T> const& b) {
    return a.shape() == b.shape() && allclose(a, b, 1e-6, 1e-9);
}

auto const distance = [](auto const& a) {
    auto const d0 = a(all, 0) - a(all, 3), d1 = a(all, 1) - a(all, 4), d2 = a(all, 2) - a(all, 5);
    return sqrt(square(d0) + square(d1) + square(d2));
};

/// All modes give the same as a loop over rows.
template <class Fn, class T> void check(Fn const& f, xg::Tensor<T> const& x) {
    auto const wanted = by_hand(f, x);
    for (auto mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse})
        CHECK(close(xg::jacobian(f, x, {.strategy = mode, .rows = true}), wanted));
    CHECK(close(xg::jacobian(f, x, {.create_graph = true, .rows = true}), wanted));
}

} // namespace

TEST_CASE("rows: expressions of slices, and functions of intermediate values") {
    D const x = numbers({5, 6});
    check([](D const& a) { return D(distance(a)); }, x);
    CHECK(close(D(xg::jacobian(distance, x, {.rows = true})(all, slice(0, 3)) *
                    distance(x)(all, xg::newaxis)),
        D(x(all, slice(0, 3)) - x(all, slice(3, 6)))));
    check([](D const& a) { return D(a * a + sin(a)); }, x);
    check([](D const& a) { return D(a(all, slice(0, 5)) * a(all, slice(1, 6))); }, x);
    check([](D const& a) { return D(sum(a * a, 1)); }, x);
    check([](D const& a) { return D(mean(a * a(all, slice(0, 1)), 1)); }, x);
    check([](D const& a) { return D(a(all, 0) * a(all, 1) + a(all, 0)); }, x);
    check(
        [](D const& a) {
            D const u = a(all, 0) * a(all, 1), v = exp(-a(all, 2));
            return D(u * v + u);
        },
        x);
    check(
        [](D const& a) {
            return stack(std::vector<D>{D(distance(a)), D(a(all, 1) / a(all, 2))}, 1);
        },
        x);
    check([](D const& a) { return cat(std::vector<D>{a, D(a * a)}, 1); }, x);
    check([](D const& a) { return D(tanh(matmul(a, numbers({6, 3})))); }, x);
    check([](D const& a) { return flip(D(square(flip(a, 0))), 0); }, x);
    check(
        [](D const& a) {
            return D(xg::map([](auto p, auto q) { return p * p * sin(q); }, a(all, 0), a(all, 5)));
        },
        x);
    check([](D const& a) { return D(reshape(a, {-1, 2, 3}) * 2. + 1.); }, x);
    check([](D const& a) { return D(exp(a) / sum(exp(a), {1}, xg::keepdims)); }, x);
    check([](F const& a) { return F(a(all, 0) * a(all, 1)); }, F({{1.f, 2.f}, {3.f, 4.f}}));
    D w = numbers({6});
    w.requires_grad_();
    check([&](D const& a) { return D(sum(a * w, 1)); }, x);
    check([](D const& a) { return D(a * 3.); }, numbers({4}));
    check([](D const& a) { return D(a(all, 0) * a(all, 1)); }, numbers({1, 2}));
}

TEST_CASE("rows: a transposed input, one without elements, and constants") {
    D const x = transpose(numbers({6, 4}));
    check([](D const& a) { return D(distance(a)); }, x);
    CHECK(xg::jacobian(distance, xg::zeros({0, 6}), {.rows = true}).shape() == xg::Shape{0, 6});
    CHECK(close(xg::jacobian(
                    [](D const&) {
                        return xg::ones({4, 2});
                    },
                    x, {.rows = true}),
        D(xg::zeros({4, 2, 6}))));
}

TEST_CASE("rows: several inputs and outputs") {
    D const x = numbers({4, 3}), k = numbers({4});
    auto const f = [](D const& a, D const& b) {
        D const s = sum(a * a, 1);
        return std::tuple(D(s * b), D(a * b(all, xg::newaxis)));
    };
    for (auto mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse}) {
        auto const [of_first, of_second] =
            xg::jacobian(f, xg::inputs(x, k), {.strategy = mode, .rows = true});
        auto const& [sx, sk] = of_first;
        auto const& [mx, mk] = of_second;
        CHECK(close(sx, D(2. * x * k(all, xg::newaxis))));
        CHECK(close(sk, D(sum(x * x, 1))));
        CHECK(close(mx, D(xg::eye(3) * k(all, xg::newaxis, xg::newaxis))));
        CHECK(close(mk, x));
    }
}

TEST_CASE("rows: complex numbers") {
    D const re = numbers({3, 2}), im = numbers({3, 2}) * 0.7;
    C const z = xg::complex(re, im);
    check([](C const& a) { return C(a(all, 0) * conj(a(all, 1)) + a(all, 0)); }, z);
    check(
        [](C const& a) {
            C const b = a * a;
            return C(b * conj(a));
        },
        z);
    auto const size =
        xg::jacobian([](C const& a) { return D(sum(square(abs(a)), 1)); }, z, {.rows = true});
    CHECK(close(size, C(2. * z)));
}

TEST_CASE("rows: Hessians") {
    D const x = numbers({4, 3});
    auto const energy = [](D const& a) {
        return D(a(all, 0) * a(all, 0) * a(all, 1) + exp(a(all, 2)) * a(all, 1));
    };
    D wanted = xg::zeros({4, 3, 3});
    for (std::ptrdiff_t r = 0; r < 4; ++r) {
        D const one =
            xg::hessian([&](D const& a) { return D(sum(energy(a))); }, D(x(slice(r, r + 1))));
        wanted(r) = reshape(one, {3, 3});
    }
    for (auto mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse}) {
        CHECK(close(xg::hessian(energy, x, {.strategy = mode, .rows = true}), wanted));
        CHECK(close(xg::hessian([&](D const& a) { return D(sum(energy(a))); }, x,
                        {.strategy = mode, .rows = true}),
            wanted));
    }
    CHECK(close(xg::hessian(energy, x, {.create_graph = true, .rows = true}), wanted));
    auto const two = xg::hessian([](D const& a, D const& b) { return D(sum(a * a, 1) * b); },
        xg::inputs(x, numbers({4})), {.rows = true});
    CHECK(close(std::get<1>(std::get<0>(two)), D(2. * x)));
    CHECK(close(std::get<1>(std::get<1>(two)), D(xg::zeros({4}))));
    CHECK(std::get<1>(std::get<1>(two)).shape() == xg::Shape{4});
}

TEST_CASE("rows: gradients per sample, of inputs and of parameters") {
    D const data = numbers({5, 3}), target = numbers({5}), w = numbers({3});
    auto const loss = [&](D const& v) { return D(square(sum(data * v, 1) - target)); };
    D const each = xg::jacobian(loss, broadcast_to(w, {5, 3}), {.rows = true});
    D leaf = w.copy();
    leaf.requires_grad_();
    D const losses = square(matmul(data, leaf) - target);
    CHECK(
        close(each, xg::grad(losses, leaf, {.gradients = {xg::eye(5)}, .is_grads_batched = true})));
}

TEST_CASE("rows: recorded, and within other transforms") {
    D const x = numbers({4, 2});
    auto const f = [](D const& a) { return D(a(all, 0) * a(all, 0) * a(all, 1)); };
    auto const norm = [&](D const& a) {
        return D(sum(square(xg::jacobian(f, a, {.rows = true}))));
    };
    // the Jacobian of a row is (2 a b, a^2)
    D const a = x(all, 0), b = x(all, 1);
    D const wanted =
        stack(std::vector<D>{D(8. * a * b * b + 4. * a * a * a), D(8. * a * a * b)}, 1);
    CHECK(close(xg::grad(norm)(x), wanted));
    CHECK(close(xg::jvp([&](D const& p) { return xg::jacobian(f, p, {.rows = true}); }, x,
                    D(xg::ones({4, 2})))
                    .second,
        stack(std::vector<D>{D(2. * b + 2. * a), D(2. * a)}, 1)));
}

TEST_CASE("rows that meet are found") {
    D const x = numbers({6, 3});
    auto const meets = [&](auto const& f) {
        for (auto mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse})
            CHECK_THROWS_WITH_AS(xg::jacobian(f, x, {.strategy = mode, .rows = true}),
                doctest::Contains("each row is a problem of its own"), xg::GraphError);
    };
    meets([](D const& a) { return D(a - mean(a, 0)); });
    meets([](D const& a) { return D(exp(a) / sum(exp(a), {0}, xg::keepdims)); });
    meets([](D const& a) { return cumsum(a, 0); });
    meets([](D const& a) { return flip(a, 0); });
    meets([](D const& a) { return D(a * roll(a, 1, 0)); });
    meets([](D const& a) { return matmul(D(numbers({6, 6})), a); });
    meets([](D const& a) { return D(a * sum(a)); });
    meets([](D const& a) { return D(a * a(slice(0, 1))); });
    meets([](D const& a) { return D(transpose(D(reshape(a, {3, 6})))); });
    CHECK_THROWS_AS(xg::hessian([](D const& a) { return D(sum(a(slice(0, 5)) * a(slice(1, 6)))); },
                        x, {.rows = true}),
        xg::GraphError);
    CHECK_THROWS_AS(
        xg::hessian([](D const& a) { return D(sum(square(roll(a, 1, 0)), 1)); }, x, {.rows = true}),
        xg::GraphError);
    D const square_ = numbers({4, 4});
    CHECK_THROWS_AS(xg::jacobian([](D const& a) { return D(sum(a, 0)); }, square_, {.rows = true}),
        xg::GraphError);
    CHECK_THROWS_AS(
        xg::jacobian([](D const& a) { return D(transpose(a) * 2.); }, square_, {.rows = true}),
        xg::GraphError);
}

TEST_CASE("rows that meet are found: each pair of few rows, and the last, first and middle row") {
    auto const refused = [](auto const& f, auto const& x) {
        try {
            xg::jacobian(f, x, {.rows = true});
        } catch (xg::GraphError const&) { return true; }
        return false;
    };
    auto const of_checkpoint = [](auto const& f) { // has no forward mode
        return [=](D const& a) { return xg::checkpoint(f, a); };
    };
    for (std::ptrdiff_t n : {2, 3, 6, 7, 13, 70}) {
        D const x = numbers({static_cast<std::size_t>(n), 2});
        D m = xg::eye(static_cast<std::size_t>(n));
        auto const f = [&](D const& a) { return matmul(m, a); };
        for (std::ptrdiff_t to = 0; to < n; ++to)
            for (std::ptrdiff_t from = 0; from < n; from += 1 + n / 7) {
                if (to == from) continue;
                m(to, from) = 1e-12;
                CHECK(refused(f, x));
                if (n == 6) CHECK(refused(of_checkpoint(f), x));
                m(to, from) = 0.;
            }
        CHECK(!refused(f, x));
        CHECK(!refused(of_checkpoint(f), x));
    }
    for (std::ptrdiff_t n : {2, 3, 6, 71, 1000}) {
        auto const size = static_cast<std::size_t>(n);
        D const x = numbers({size, 3});
        for (std::ptrdiff_t row : {std::ptrdiff_t(0), n / 2, n - 1}) {
            auto const all_read_it = [&](D const& a) { return D(a * a(row)); };
            auto const it_reads_all = [&](D const& a) {
                D y = a * 1.;
                y(row) = mean(a, 0);
                return y;
            };
            CHECK(refused(all_read_it, x));
            CHECK(refused(all_read_it, numbers({size})));
            CHECK(refused(it_reads_all, x));
            CHECK(refused(of_checkpoint(all_read_it), x));
            CHECK(refused(of_checkpoint(it_reads_all), x));
            CHECK(refused([&](F const& a) { return F(a * a(row)); }, xg::ones<float>(x.shape())));
            CHECK(refused([&](C const& a) { return C(a * conj(a(row))); }, C(xg::complex(x, x))));
            CHECK_THROWS_AS(xg::hessian([&](D const& a) { return D(sum(all_read_it(a), 1)); }, x,
                                {.rows = true}),
                xg::GraphError);
            CHECK_THROWS_AS(
                xg::hessian([&](D const& a) { return sum(all_read_it(a)); }, x, {.rows = true}),
                xg::GraphError);
            CHECK_THROWS_AS(
                xg::jacobian([&](D const& a, D const& b) { return std::tuple(a, D(a * b(row))); },
                    std::tuple(x, D(x * 2.)), {.rows = true}),
                xg::GraphError);
        }
    }
}

TEST_CASE("rows: wrong shapes") {
    D const x = numbers({3, 2});
    CHECK_THROWS_WITH_AS(xg::jacobian([](D const& a) { return D(sum(a)); }, x, {.rows = true}),
        "jacobian: The first axis of all inputs and outputs numbers the rows, but output 0 has "
        "shape [] and no axis",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::jacobian([](D const& a) { return a; }, D(2.), {.rows = true}),
        "jacobian: The first axis of all inputs and outputs numbers the rows, but input 0 has "
        "shape [] and no axis",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::jacobian([](D const& a, D const&) { return a; },
                             xg::inputs(x, D(xg::ones({2}))), {.rows = true}),
        "jacobian: The first axis of all inputs and outputs numbers the rows, but input 1 has "
        "shape [2], and input 0 [3, 2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::hessian([](D const& a) { return D(a * a); }, x, {.rows = true}),
        "hessian: The Tensor returned by the function given to hessian should contain a single "
        "element for each row, its shape is [3, 2]",
        xg::ShapeError);
    CHECK_THROWS_AS(xg::hessian([](D const& a) { return D(sum(a, 1)); }, x), xg::ShapeError);
}

TEST_CASE("Jacobians of expressions: the kernel writes them") {
    D const t = numbers({7});
    auto const same = [](auto const& f, auto const& x) {
        D copy = x; // a hook keeps reverse mode, and so does create_graph
        D const recorded = xg::jacobian(f, x, {.create_graph = true});
        D const found = xg::jacobian(f, x);
        CHECK(close(found, recorded));
        CHECK(found.is_contiguous());
    };
    same([&](D const& p) { return D(p[0] * exp(-p[1] * t) + p[2] * exp(-p[3] * t) + p[4]); },
        numbers({5}));
    same([](D const& a) { return D(sin(a)); }, numbers({3, 4}));
    same([](D const& a) { return D(sum(a * a, 0)); }, numbers({3, 4}));
    same([](D const& a) { return D(mean(a * a, 1)); }, numbers({3, 4}));
    same(
        [](D const& a) {
            return D(sum(a * broadcast_to(a(slice(0, 1)), {3, 4}), 1));
        },
        numbers({3, 4}));
    same([](D const& a) { return D(a(slice(1, 4)) * a(slice(0, 3)) + a(slice(0, 3))); },
        numbers({4}));
    same([](D const& a) { return D(a * a(slice(0, 1))); }, numbers({4}));
    same([](D const& a) { return D(transpose(a) * a); }, numbers({3, 3}));
    same([](D const& a) { return transpose(D(exp(a))); }, numbers({3, 2}));
    same([](D const& a) { return cat(std::vector<D>{D(a * a), D(1. / a)}, 0); }, numbers({4}));
    same([](D const& a) { return D(a[0] * a[1]); }, numbers({2}));
    same([](D const& a) { return D(sum(a * a)); }, numbers({5}));
    same([](D const& a) { return D(a + 1.); }, D(2.));
    int called = 0;
    D const j = xg::jacobian(
        [&](D const& a) {
            D y = a * a;
            y.register_hook([&](D const& g) {
                ++called;
                return 2. * g;
            });
            return y;
        },
        numbers({2}));
    CHECK(called == 2);
}
