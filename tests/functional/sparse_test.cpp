// Sparse Jacobians and Hessians: patterns of each kind of Node, colourings, and entries, compared
// with the dense functions, with closed forms, and on random functions.
#include <functional>
#include <random>

#include <xgrad/functional/checkpoint.hpp>
#include <xgrad/implicit.hpp>
#include <xgrad/map.hpp>
#include <xgrad/ops/cumulative.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/vmap.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

using I = xg::Tensor<std::int64_t>;
using Function = std::function<D(D const&)>;

D noise(std::mt19937& random, xg::Shape const& shape) {
    D t = xg::zeros<double>(shape);
    std::uniform_real_distribution<double> number(0.5, 1.5);
    for (auto& x : std::span(t.mutable_data(), t.numel())) x = number(random);
    return t;
}
D noise(xg::Shape const& shape) {
    std::mt19937 random(1);
    return noise(random, shape);
}

/// The Jacobian of f agrees with the dense one, and has so many entries; -1 for any number.
void check_jacobian(Function const& f, D const& x, std::ptrdiff_t entries = -1) {
    auto const plan = xg::sparsity(f, x, {.check = true});
    auto const sparse = plan.jacobian(x);
    D const dense = xg::jacobian(f, x);
    auto const rows = sparse.rows(), cols = sparse.cols();
    CHECK(static_cast<std::size_t>(rows * cols) == dense.numel());
    CHECK(difference(sparse.to_dense(), dense.reshape({rows, cols})) == "");
    CHECK_FALSE(sparse.values().requires_grad());
    if (entries >= 0) CHECK(sparse.nonzeros() == entries);
}
/// The same for a Hessian.
void check_hessian(Function const& f, D const& x, std::ptrdiff_t entries = -1) {
    auto const sparse = xg::sparse_hessian(f, x, {.check = true});
    D const dense = xg::hessian(f, x);
    auto const n = sparse.rows();
    CHECK(difference(sparse.to_dense(), dense.reshape({n, n})) == "");
    if (entries >= 0) CHECK(sparse.nonzeros() == entries);
}

/// A product of operands that broadcast.
struct Scaled : xg::Function<Scaled> {
    using Saved = std::tuple<D, D>;
    static constexpr bool is_elementwise = true;
    static D forward(Context& ctx, D const& a, D const& b) {
        ctx.save_for_backward(a, b);
        return a * b;
    }
    static std::tuple<D, D> backward(Context& ctx, D const& g) {
        auto const& [a, b] = ctx.saved_tensors();
        return {g * b, g * a};
    }
    static D jvp(Context& ctx, D const& s, D const& t) {
        auto const& [a, b] = ctx.saved_tensors();
        return s * b + a * t;
    }
};

} // namespace

TEST_CASE("a formula is diagonal in full operands, and a broadcast one goes to all that read it") {
    D const x = noise({3, 4});
    check_jacobian([](D const& a) { return sin(a) * a; }, x, 12);
    check_jacobian([](D const& a) { return a * sum(a, 0); }, x, 12 * 3);
    check_jacobian([](D const& a) { return a(0) * a; }, x, 12 + 8);
    check_jacobian([](D const& a) { return a * sum(a, 1, xg::keepdims); }, x, 12 * 4);
    check_jacobian([](D const& a) { return exp(a) / sum(exp(a), 1, xg::keepdims); }, x, 12 * 4);
}

TEST_CASE("a derivative that is 0 at these values stays in the pattern") {
    D const x = xg::zeros<double>({5});
    check_jacobian([](D const& a) { return a * a; }, x, 5);
    check_hessian([](D const& a) { return sum(a * a * a * a); }, x, 5);
    D const m = xg::zeros<double>({3, 3});
    check_jacobian([](D const& a) { return matmul(a, a); }, m, 9 * 5);
    D const unit = D(xg::eye<double>(3));
    check_jacobian([](D const& a) { return matmul(a, a); }, unit, 9 * 5);
}

TEST_CASE("sums, means and other reductions along axes") {
    D const x = noise({3, 4});
    check_jacobian([](D const& a) { return sum(a * a, 0); }, x, 12);
    check_jacobian([](D const& a) { return mean(exp(a), {1}); }, x, 12);
    check_jacobian([](D const& a) { return sum(a * a); }, x, 12);
    check_jacobian([](D const& a) { return prod(a, 0); }, x, 12);
    check_jacobian([](D const& a) { return logsumexp(a, 1); }, x, 12);
    check_jacobian([](D const& a) { return amax(a, 1); }, x);
    check_jacobian([](D const& a) { return cumsum(a, 0); }, x, 12 * 3);
    check_jacobian([](D const& a) { return cumprod(a, 1); }, x, 12 * 4);
}

TEST_CASE("slices, views, gathers, joins and changes in place") {
    D const x = noise({3, 4});
    check_jacobian([](D const& a) { return a(xg::slice(0, 3, 2), xg::slice(1, 3)); }, x, 4);
    check_jacobian([](D const& a) { return transpose(a).reshape({2, 6}); }, x, 12);
    check_jacobian([](D const& a) { return broadcast_to(a, {2, 3, 4}); }, x, 24);
    check_jacobian([](D const& a) { return index_select(a, 1, I({3, 0, 0})); }, x, 9);
    check_jacobian([](D const& a) { return gather(a, 0, I({{0, 1, 2, 2}, {1, 1, 0, 2}})); }, x, 8);
    check_jacobian(
        [](D const& a) {
            return index_add(a, 0, I({1, 1}), a(xg::slice(0, 2)));
        },
        x, 12 + 8 - 4);
    check_jacobian([](D const& a) { return xg::cat({D(a * 2.), a}, 1); }, x, 24);
    check_jacobian([](D const& a) { return xg::stack({a, D(sin(a))}); }, x, 24);
    check_jacobian([](D const& a) { return roll(flip(a, 1), 1, 0); }, x, 12);
    check_jacobian([](D const& a) { return xg::pad(a, {1, 1}) * 2.; }, x, 12);
    check_jacobian([](D const& a) { return diagonal(a); }, x, 3);
    check_jacobian([](D const& a) { return tril(a); }, x, 6);
    check_jacobian([](D const& a) { return sort(a, 1); }, x);
    check_jacobian(
        [](D const& a) {
            auto const parts = xg::split(a, 2, 1);
            return parts[0] * parts[1];
        },
        x, 12);
    check_jacobian(
        [](D const& a) {
            D b = a * 1.;
            b(1) = b(0) * 3.;
            b(2) *= b(1);
            return b;
        },
        x, 4 + 4 + 8);
}

TEST_CASE("products of matrices, of vectors, and stacks of them") {
    D const x = noise({3, 4}), w = noise({4, 5}), v = noise({4});
    check_jacobian([&](D const& a) { return matmul(a, w); }, x, 15 * 4);
    check_jacobian([&](D const& a) { return matmul(x, a); }, w, 15 * 4);
    check_jacobian([&](D const& a) { return matmul(a, v); }, x, 12);
    check_jacobian([&](D const& a) { return matmul(x, a); }, v, 12);
    check_jacobian([](D const& a) { return outer(a, a); }, v, 16 * 2 - 4);
    D const stack = noise({6, 2, 2});
    check_jacobian([](D const& a) { return matmul(mT(a), a); }, stack, 6 * (2 * 2 + 2 * 4));
    check_hessian([](D const& a) { return sum(matmul(mT(a), a)); }, stack);
}

TEST_CASE("what is not known is dense between inputs and outputs") {
    struct Cube : xg::Function<Cube> {
        using Saved = std::tuple<D>;
        static D forward(Context& ctx, D const& a) {
            ctx.save_for_backward(a);
            return a * a * a;
        }
        static D backward(Context& ctx, D const& g) {
            auto const& [a] = ctx.saved_tensors();
            return 3. * a * a * g;
        }
    };
    check_jacobian([](D const& a) { return Cube::apply(a); }, noise({4}), 16);
    check_jacobian([](D const& a) { return D(a * 2.); }, noise({4}), 4);
}

TEST_CASE("an output without a tangent, and what is made of it, adds no entries") {
    struct WithConstant : xg::Function<WithConstant> {
        static std::tuple<D, D> forward(Context&, D const& a) {
            return {a * 2., xg::ones<double>({2, 3})};
        }
        static D backward(Context&, D const& g, D const&) { return g * 2.; }
        static std::tuple<D, D> jvp(Context&, D const& t) { return {t * 2., D()}; }
    };
    check_jacobian(
        [](D const& a) {
            auto const [y, ones] = WithConstant::apply(a);
            return D(sin(y) + D(ones(0)) * D(transpose(ones)(xg::all, 1)));
        },
        noise({3}), 9);
}

TEST_CASE("structures of inputs and results, constants, and no entries at all") {
    D const x = noise({3}), y = noise({2, 3});
    auto const f = [](D const& a, D const& b) { return std::tuple(D(a * b), D(sum(a))); };
    auto const plan = xg::sparsity(f, xg::inputs(x, y), {.check = true});
    auto const j = plan.jacobian(xg::inputs(x, y));
    CHECK(j.rows() == 7);
    CHECK(j.cols() == 9);
    CHECK(j.nonzeros() == 6 + 6 + 3);
    auto const blocks = xg::jacobian(f, xg::inputs(x, y));
    D const top = xg::cat({D(std::get<0>(std::get<0>(blocks)).reshape({6, 3})),
                              D(std::get<1>(std::get<0>(blocks)).reshape({6, 6}))},
        1);
    CHECK(difference(D(j.to_dense()(xg::slice(0, 6))), top) == "");
    auto const none = xg::sparse_jacobian([](D const&) { return D({1., 2.}); }, x);
    CHECK(none.nonzeros() == 0);
    CHECK(none.rows() == 2);
    check_hessian([](D const& a) { return sum(a); }, x, 0);
    check_jacobian([](D const& a) { return a; }, x, 3);
}

TEST_CASE("rows are compressed where columns need more colours") {
    D const x = noise({100});
    auto const full_column = xg::sparsity([](D const& a) { return a * a(0); }, x);
    CHECK(full_column.jacobian_colors() == 2);
    auto const full_row = xg::sparsity(
        [](D const& a) {
            return xg::cat({D(sum(a * a).reshape({1})), D(a * a)});
        },
        x);
    CHECK(full_row.jacobian_colors() == 2);
    check_jacobian(
        [](D const& a) {
            return xg::cat({D(sum(a * a).reshape({1})), D(a * a)});
        },
        x, 200);
}

TEST_CASE("a star colouring of a chain has three colours, of a grid few") {
    D const x = noise({50}), grid = noise({8, 8});
    auto const chain = [](D const& a) {
        D const p = a(xg::slice(1, 50)), q = a(xg::slice(0, 49));
        return sum((p - q * q) * (p - q * q));
    };
    auto const plan = xg::sparsity(chain, x, {.check = true});
    CHECK(plan.hessian_colors() == 3);
    CHECK(plan.hessian_pattern().nonzeros() == 148);
    auto const h = plan.hessian(x);
    for (std::size_t i = 0; i < 50; ++i) // -4 x_i beside the diagonal
        if (i < 49) CHECK(h.to_dense().data()[i * 51 + 1] == doctest::Approx(-4 * x.data()[i]));
    check_hessian(chain, x, 148);
    check_hessian(
        [](D const& a) {
            D const c = a - roll(a, 1, 0), d = a - roll(a, 1, 1);
            return sum(sqrt(1. + c * c + d * d));
        },
        grid);
}

TEST_CASE("second derivatives of sums of expressions are assembled without passes") {
    std::mt19937 random(4);
    I const index({4, 4, 0, 2});
    std::vector<Function> const functions{
        [](D const& a) { return sum(exp(a(0) * a) * sin(a(xg::slice(1, 2)))); },
        [&](D const& a) { return sum(pow(index_select(a, 0, index) - a(xg::slice(0, 4)), 4)); },
        [](D const& a) {
            return sum(sin(a(xg::slice(0, 4)) * a(xg::slice(1, 5)))) * 3. + sum(a * a * a);
        },
        [](D const& a) { return mean(a(xg::slice(0, 3)) * a(xg::slice(0, 3)) * a(4)); },
        [](D const& a) {
            D const m = a.reshape({5, 1}), n = a.reshape({1, 5});
            return sum(exp(m * n)); // neither operand is broadcast to the shape of the other
        },
    };
    for (auto const& f : functions) {
        auto const plan = xg::sparsity(f, noise(random, {5}), {.check = true});
        for (int i = 0; i < 2; ++i) {
            D const x = noise(random, {5});
            CHECK(difference(plan.hessian(x).to_dense(), xg::hessian(f, x)) == "");
        }
    }
    auto const g = [](D const& a) {
        return a.data()[0] > 1 ? sum(a * a * a) : sum(a * a * a) + sum(exp(a(xg::slice(0, 2))));
    };
    auto const plan = xg::sparsity(g, D({2., 1., 3.}));
    CHECK(plan.hessian(D({3., 2., 1.})).values().data()[0] == 18);
    CHECK_THROWS_WITH_AS(plan.hessian(D({0.5, 2., 1.})),
        "sparse_hessian: the function records another graph at these values than where the plan "
        "was made: WindowBackward in the place of nothing. Make another plan, or give .replan "
        "= true",
        xg::GraphError);
}

TEST_CASE("a plan serves other values, also through an operand of float or complex numbers") {
    std::mt19937 random(2);
    auto const f = [](auto const& a) { return a(xg::slice(1, 9)) * exp(a(xg::slice(0, 8))); };
    auto const plan = xg::sparsity([&](D const& a) { return D(f(a)); }, noise({9}));
    for (int i = 0; i < 3; ++i) {
        D const x = noise(random, {9});
        CHECK(difference(plan.jacobian(x).to_dense(),
                  xg::jacobian([&](D const& a) { return D(f(a)); }, x)) == "");
    }
    F const single = xg::cast<float>(noise({9}));
    CHECK(
        difference(xg::sparse_jacobian([&](F const& a) { return F(f(a)); }, single, {.check = true})
                       .to_dense(),
            xg::jacobian([&](F const& a) { return F(f(a)); }, single)) == "");
    Z const z = noise({9}) + 1i * noise(random, {9});
    auto const complex_agrees = [&](auto const& g, xg::SparsityOptions const& options = {}) {
        auto const sparse = xg::sparse_jacobian(g, z, options);
        CHECK(difference(sparse.to_dense(), xg::jacobian(g, z)) == "");
    };
    complex_agrees([&](Z const& a) { return Z(f(a)); }, {.check = true});
    complex_agrees([&](Z const& a) { return Z(conj(a) * a(0)); }, {.check = true});
    complex_agrees([](Z const& a) { return Z(a * conj(a) * sum(a)); }, {.check = true});
}

TEST_CASE("a pattern can be given") {
    D const x = noise({3});
    auto const f = [](D const& a) { return a * a; };
    auto const diagonal = xg::SparsePattern::of_entries(3, 3, {{2, 2}, {0, 0}, {1, 1}, {0, 0}});
    CHECK(diagonal.nonzeros() == 3);
    CHECK(diagonal == xg::SparsePattern(3, 3, {0, 1, 2, 3}, {0, 1, 2}));
    CHECK(xg::sparse_jacobian(f, x, {.jacobian = diagonal}).nonzeros() == 3);
    CHECK_THROWS_WITH_AS(
        xg::sparse_jacobian(f, x, {.jacobian = xg::SparsePattern::of_entries(2, 3, {})}),
        "sparse_jacobian: a pattern of 2 rows and 3 columns is given for derivatives of 3 rows and "
        "3 "
        "columns",
        xg::ShapeError);
    auto const g = [](D const& a) { return sum(a * a * a); };
    CHECK_THROWS_WITH_AS(
        xg::sparse_hessian(g, x, {.hessian = xg::SparsePattern::of_entries(3, 3, {{0, 1}})}),
        "sparse_hessian: the given pattern of a Hessian is not symmetric", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::sparse_jacobian([](D const& a) { return cumsum(a, 0); }, x,
                             {.jacobian = diagonal, .check = true}),
        "sparse_jacobian: row 1 has derivatives outside of the pattern at these values: a branch, "
        "an index or a mask of the function depends on them. Make another plan, or give a pattern",
        xg::GraphError);
}

TEST_CASE("a plan is not used where the indices, masks or Nodes of a function are others") {
    struct Chooses : xg::Function<Chooses> { // its backward branches
        using Saved = std::tuple<D>;
        static D forward(Context& ctx, D const& a) {
            ctx.save_for_backward(a);
            return where(a(0) > 1., a * a, a * flip(a, 0));
        }
        static D backward(Context& ctx, D const& g) {
            auto const& [a] = ctx.saved_tensors();
            return a.data()[0] > 1. ? D(2. * g * a) : D(g * flip(a, 0) + flip(D(g * a), 0));
        }
    };
    D const w = xg::eye<double>(5), x({2., 1., 4., 3., 5.});
    std::vector<std::pair<char const*, Function>> const functions{
        {"Gather", [](D const& a) { return D(sort(a).values * a); }},
        {"Gather", [](D const& a) { return D(sort(a, 0, true).values * a); }},
        {"Gather", [&](D const& a) { return D(sort(D(matmul(w, a))).values * a); }},
        {"Gather", [](D const& a) { return D(sort(cumprod(a - 2.2, 0)).values * a(0)); }},
        {"Gather", [](D const& a) { return D(square(topk(a, 2).values)); }},
        {"Gather", [](D const& a) { return D(a * median(a, 0).values); }},
        {"Gather", [](D const& a) { return D(a * quantile(a, 0.3, 0)); }},
        {"IndexSelect", [](D const& a) { return D(a * a(argsort(a))); }},
        {"IndexAdd", [](D const& a) { return D(square(index_add(a, 0, argsort(a), D(a * a)))); }},
        {"MaskedSelect", [](D const& a) { return D(square(a(a > 2.5))); }},
        {"Window", [](D const& a) { return D(a * a(argmax(a).item())); }},
        {"Roll", [](D const& a) { return D(a * roll(a, argmax(a).item(), 0)); }},
        {"WindowBackward in the place of MulBackward",
            [](D const& a) { return D(a.data()[0] > 1. ? D(a * a) : D(sin(a) * a(0))); }},
        {"SinBackward in the place of nothing",
            [](D const& a) { return a.data()[0] > 1. ? D(a * a) : D(sin(D(a * a))); }},
        {"nothing in the place of SinBackward",
            [](D const& a) { return a.data()[0] < 1. ? D(a * a) : D(sin(D(a * a))); }},
        {"", [](D const& a) { return D(Chooses::apply(a) * a); }},
        {"", [](D const& a) { return D(a * amax(a)); }},
        {"", [](D const& a) { return D(a * median(a)); }},
        {"", [](D const& a) { return D(where(a > 2.5, a * a, a)); }},
    };
    for (std::size_t i = 0; i < functions.size(); ++i) {
        INFO("function " << i);
        auto const& [name, f] = functions[i];
        Function const total = [&f = f](D const& a) { return D(sum(f(a) * f(a))); };
        auto const plan = xg::sparsity(f, x), of_total = xg::sparsity(total, x);
        auto replanned = xg::sparsity(f, x, {.replan = true}),
             replanned_total = xg::sparsity(total, x, {.check = true, .replan = true});
        std::vector<D> const others{D(x * 1.01), D({0.5, 4., 3., 1., 2.6}), x};
        for (auto const& other : others) {
            D const dense = xg::jacobian(f, other);
            D const j = dense.reshape({-1, 5}), h = xg::hessian(total, other);
            CHECK(difference(replanned.jacobian(other).to_dense(), j) == "");
            CHECK(difference(replanned_total.hessian(other).to_dense(), h) == "");
            bool const is_other = &other == &others[1];
            for (auto const hessian : {false, true}) {
                try {
                    auto const found = hessian ? of_total.hessian(other) : plan.jacobian(other);
                    CHECK(difference(found.to_dense(), hessian ? h : j) == "");
                    CHECK((!is_other || !*name));
                } catch (xg::GraphError const& error) {
                    std::string const what = error.what();
                    CHECK(is_other);
                    CHECK(what.starts_with(hessian ? "sparse_hessian" : "sparse_jacobian"));
                    CHECK(what.find("records another graph at these values") < what.size());
                    CHECK_MESSAGE((hessian || what.find(name) < what.size()), what);
                }
            }
        }
    }
    // where the graphs differ, a pattern that is given holds for both
    auto const f = functions[0].second;
    auto const full = xg::SparsePattern::of_entries(5, 5, [] {
        std::vector<std::pair<std::size_t, std::size_t>> all;
        for (std::size_t i = 0; i < 25; ++i) all.emplace_back(i / 5, i % 5);
        return all;
    }());
    auto const plan = xg::sparsity(f, x, {.jacobian = full});
    D const other({0.5, 4., 3., 1., 2.6});
    CHECK(difference(plan.jacobian(other).to_dense(), xg::jacobian(f, other)) == "");
}

TEST_CASE("a plan compares the axis of a reduction and the side of a product") {
    D const w({{1., 0., 2.}, {0., 3., 0.}, {0., 0., 1.}});
    std::pair<Function, Function> const pairs[]{
        {[](D const& a) { return D(sum(a, 1)); }, [](D const& a) { return D(sum(a, 0)); }},
        {[](D const& a) { return D(mean(a * a, {1})); },
            [](D const& a) { return D(mean(a * a, {0})); }},
        {[](D const& a) { return D(prod(a, 1)); }, [](D const& a) { return D(prod(a, 0)); }},
        {[](D const& a) { return D(cumprod(a, 1)); }, [](D const& a) { return D(cumprod(a, 0)); }},
        {[](D const& a) { return D(norm(a, 2, {1})); },
            [](D const& a) { return D(norm(a, 2, {0})); }},
        {[](D const& a) { return D(logsumexp(a, 1)); },
            [](D const& a) { return D(logsumexp(a, 0)); }},
        {[&](D const& a) { return D(matmul(w, a)); }, [&](D const& a) { return D(matmul(a, w)); }},
        {[](D const& a) { return D(matmul(a, a)); },
            [](D const& a) { return D(matmul(a, D(a.t()))); }},
    };
    D const x({{2., 1.5, 3.}, {1., 4., 2.5}, {3., 2., 5.}}), other = x * 0.25;
    for (std::size_t i = 0; i < std::size(pairs); ++i) {
        INFO("pair " << i);
        auto const& [one, two] = pairs[i];
        Function const f = [&](D const& a) { return a.data()[0] > 1. ? one(a) : two(a); };
        auto const dense = [&](D const& at) { return D(xg::jacobian(f, at).reshape({-1, 9})); };
        auto replanned = xg::sparsity(f, x, {.replan = true});
        for (auto const& at : {x, other, D(x * 1.1)})
            CHECK(difference(replanned.jacobian(at).to_dense(), dense(at)) == "");
        auto const plan = xg::sparsity(f, x);
        CHECK(difference(plan.jacobian(D(x * 1.1)).to_dense(), dense(D(x * 1.1))) == "");
        CHECK_THROWS_AS(plan.jacobian(other), xg::GraphError);
    }
}

TEST_CASE("check finds a missing entry of a thousand-millionth of its row") {
    D const x = noise({4});
    auto const f = [](D const& a) { return D(a * 3. + 1e-9 * roll(a, 1, 0)); };
    auto const diagonal = xg::SparsePattern::of_entries(4, 4, {{0, 0}, {1, 1}, {2, 2}, {3, 3}});
    CHECK_THROWS_AS(
        xg::sparse_jacobian(f, x, {.jacobian = diagonal, .check = true}), xg::GraphError);
}

TEST_CASE("what is wrong is said") {
    CHECK_THROWS_WITH_AS(xg::SparsePattern(1, 2, {0, 2}, {1, 1}),
        "SparsePattern: the columns of row 0 are not increasing numbers from 0 to 2 - 1",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::SparsePattern(2, 2, {0, 1}, {1}),
        "SparsePattern: outer has the number of the first entry of each of 2 rows, and then that "
        "of all 1 entries",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::SparsePattern::of_entries(2, 2, {{2, 0}}),
        "SparsePattern: there is an entry in row 2 of 2", xg::ShapeError);
    D const x = noise({3});
    auto const plan = xg::sparsity([](D const& a) { return a * a; }, x);
    CHECK_THROWS_WITH_AS(plan.jacobian(noise({4})),
        "sparse_jacobian: input 0 has shape [4], and the plan was made for [3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(plan.hessian(x),
        "hessian: the function given to sparsity() does not return one real number",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(plan.hessian_pattern(),
        "hessian_pattern: the function given to sparsity() does not return one real number",
        xg::ShapeError);
    // a branch
    auto const g = [](D const& a) { return a.data()[0] > 1 ? D(a * a) : D(a * a * sum(a)); };
    auto const checked = xg::sparsity(g, D({2., 1., 3.}), {.check = true});
    CHECK(checked.jacobian(D({3., 2., 1.})).nonzeros() == 3);
    CHECK_THROWS_AS(checked.jacobian(D({0.5, 2., 1.})), xg::GraphError);
}

TEST_CASE("200 random functions agree with the dense derivatives") {
    std::mt19937 random(3);
    auto const pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    for (int number = 0; number < 200; ++number) {
        std::vector<int> program;
        for (int i = 0, n = 2 + pick(5); i < n; ++i) program.push_back(pick(15));
        std::vector<std::int64_t> chosen;
        for (int i = 0; i < 6; ++i) chosen.push_back(pick(6));
        I const index(xt::adapt(chosen, std::vector<std::size_t>{6}));
        D const w = noise(random, {6, 6});
        Function const f = [&](D const& x) {
            D y = x, z = x;
            for (int const step : program) {
                D const old = y;
                switch (step) {
                case 0:
                    y = sin(y) * z;
                    break;
                case 1:
                    y = y * y + 0.5 * z;
                    break;
                case 2:
                    y = index_select(y, 0, index);
                    break;
                case 3:
                    y = xg::cat({D(y(xg::slice(3, 6))), D(z(xg::slice(0, 3)))});
                    break;
                case 4:
                    y = roll(y, 2, 0);
                    break;
                case 5:
                    y = flip(y, 0) + z;
                    break;
                case 6:
                    y = exp(y * 0.1) * sum(z(xg::slice(0, 2)));
                    break;
                case 7:
                    y = D(y.reshape({2, 3})).transpose().reshape({6}) * z;
                    break;
                case 8:
                    y = cumsum(y, 0);
                    break;
                case 9:
                    y = matmul(w, y) * 0.1;
                    break;
                case 10:
                    y = index_add(y, 0, index, D(z * 0.3));
                    break;
                case 11:
                    y = where(D(y.detach()) > 1., y, z * z);
                    break;
                case 12: {
                    D const m = y.reshape({3, 2});
                    y = xg::cat({D(sum(m * m, 1)), D(amax(m, 1))});
                    break;
                }
                case 13: {
                    D c = y * 1.;
                    c(xg::slice(1, 4)) *= z(xg::slice(0, 3));
                    y = c;
                    break;
                }
                default:
                    y = matmul(D(y.reshape({3, 2})), D(z.reshape({2, 3})))(xg::slice(0, 2))
                            .reshape({6}) *
                        0.2;
                }
                z = old;
            }
            return y;
        };
        INFO("program " << number);
        D const x = noise(random, {6}), other = noise(random, {6});
        check_jacobian(f, x);
        auto const plan = xg::sparsity(f, x);
        CHECK(difference(plan.jacobian(other).to_dense(), xg::jacobian(f, other)) == "");
        if (number % 2) check_hessian([&](D const& a) { return D(sum(f(a) * sin(f(a)))); }, x);
    }
}

TEST_CASE("a plan compares Nodes of several operands, whatever their sizes") {
    D const x = noise({6});
    std::vector<Function> const functions{
        [](D const& a) {
            return xg::cat({a, D(xg::cat({a, a}) * 2.), D(sum(a).reshape({1}))});
        },
        [](D const& a) {
            return xg::stack({a, flip(a, 0), D(a * a)});
        },
        [](D const& a) {
            return index_add(a, 0, I({1, 1, 3}), D(a(xg::slice(0, 6, 2))));
        },
        [](D const& a) {
            D b = a * a;
            b(xg::slice(0, 3)) = a(xg::slice(3, 6));
            return xg::cat({D(b(0) * b), transpose(D(a.reshape({2, 3}))).reshape({6})});
        },
        [](D const& a) { return D(xg::real(xg::fft(a))); },
    };
    for (auto const& f : functions) {
        auto const plan = xg::sparsity(f, x);
        for (int i = 1; i < 3; ++i) {
            D const other = x * i + 0.1;
            auto const dense = xg::jacobian(f, other).reshape({-1, 6});
            CHECK(difference(plan.jacobian(other).to_dense(), dense) == "");
        }
        Function const total = [&](D const& a) { return D(sum(square(f(a)))); };
        auto const of_total = xg::sparsity(total, x);
        CHECK(difference(of_total.hessian(D(x * 2.)).to_dense(), xg::hessian(total, D(x * 2.))) ==
              "");
    }
}

TEST_CASE("elementwise functions: map with several results, and a Function that says so") {
    D const x = noise({60}), m = noise({20, 3});
    auto const several = [](D const& a) {
        auto const [s, c] = xg::map([](auto t) { return std::tuple(t * t, sin(t)); }, a);
        return D(s * c);
    };
    check_jacobian(several, x, 60);
    check_hessian([&](D const& a) { return D(sum(several(a) * a)); }, x, 60);
    check_jacobian(
        [](D const& a) {
            auto const [s, c] = xg::map(
                xg::with_branches,
                [](auto t, auto u) { return std::tuple(t * u, t > 0. ? t * t : t); }, a, a(0));
            return xg::stack({D(s), D(c)});
        },
        m);
    check_jacobian([](D const& a) { return Scaled::apply(a, D(a(0))); }, m, 60 + 57);
    check_hessian([](D const& a) { return D(sum(Scaled::apply(a, D(a(0))))); }, m, 20 * 3 * 2 - 3);
    auto const each = [](auto const& v) {
        auto const [s, c] = xg::map([](auto t) { return std::tuple(t * t, cos(t)); }, v);
        return s * c;
    };
    check_jacobian([&](D const& a) { return xg::vmap(each)(a); }, m, 60);
    check_jacobian(
        [&](D const& a) {
            return xg::vmap(xg::grad([&](auto const& v) { return sum(each(v)); }))(a);
        },
        m, 60);
}

TEST_CASE("check passes where derivatives cancel") {
    auto const f = [](D const& a) { return D(a * 0.1 + a * 0.2 - a * 0.3); }; // 6e-17, and not 0
    auto const j = xg::sparse_jacobian(f, noise({9}), {.check = true});
    CHECK(xg::allclose(j.values(), xg::zeros({9}), 0., 1e-15));
    auto const g = [&](D const& a) { return D(sum(square(f(a)))); };
    auto const h = xg::sparse_hessian(g, noise({9}), {.check = true});
    CHECK(xg::allclose(h.values(), xg::zeros({9}), 0., 1e-15));
}

TEST_CASE("a solution whose residual has a captured tensor under checkpoint()") {
    auto const f = [](D const& a) {
        auto const residual = [a](auto const& x) {
            return D(x - xg::checkpoint([](D const& b) { return D(b / (1. + b * b)); }, a));
        };
        return D(sum(xg::root(residual, xg::zeros({3}))));
    };
    D const x({0.97, 0.2, -1.1});
    D const second = 2. * x * (square(x) - 3.) / pow(1. + square(x), 3);
    CHECK(difference(xg::sparse_hessian(f, x).to_dense(), D(xg::diag(second))) == "");
}
