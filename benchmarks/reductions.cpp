// Reductions over all elements and over an axis, and moves of elements, each under a sum.
#include <benchmark/benchmark.h>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"
#include "hand_written/reductions.hpp"

namespace xg = xgrad;
namespace name = bench::name;

/// A function of one tensor.
template <class Function, class Hand>
void one(
    char const* name, xg::Tensor<double> const& values, double goal, Function function, Hand hand) {
    bench::Leaf const x(values);
    bench::Comparison row(
        name, values.numel(), [=, x = x.x] { return function(x); }, x);
    row.hand("hand",
        [=, m = x.x.shape(0), n = x.x.shape(-1)] { return hand(x.data, x.gradient, m, n); });
    row.goal().at_most(goal);
}
/// One of two tensors.
template <class Function, class Hand>
void two(char const* name, xg::Shape const& shape_a, xg::Shape const& shape_b, Function function,
    Hand hand) {
    bench::Leaf const a(xg::rand(shape_a)), b(xg::rand(shape_b));
    bench::Comparison row(
        name, a.x.numel(), [=, a = a.x, b = b.x] { return function(a, b); }, a, b);
    row.hand("hand", [=, m = a.x.shape(0), n = a.x.shape(-1)] {
        return hand(a.data, b.data, a.gradient, b.gradient, m, n);
    });
    row.goal().at_most(1.3);
}

int main(int argc, char** argv) {
    using Real = xg::Tensor<double>;
    using From = double const*;
    using To = double*;
    using Size = std::size_t;
    one(
        name::logsumexp, xg::randn({1024}), 1.25, [](Real const& x) { return logsumexp(x); },
        [](From x, To g, Size, Size n) { return hand::logsumexp(x, g, n); });
    one(
        name::prod, 0.5 + xg::rand({1024}), 1.25, [](Real const& x) { return prod(x); },
        [](From x, To g, Size, Size n) { return hand::product(x, g, n); });

    auto const matrix = xg::rand({300, 200});
    bench::Buffer<> const sums({200});
    one(
        name::column_sums, matrix, 1.3, [](Real const& x) { return sum(square(sum(x, {0}))); },
        [=](From x, To g, Size m, Size n) { return hand::column_sums(x, g, sums.data, m, n); });
    one(
        name::row_sums, matrix, 1.3, [](Real const& x) { return sum(square(sum(x, {1}))); },
        [](From x, To g, Size m, Size n) { return hand::row_sums(x, g, m, n); });
    one(
        name::row_maxima, matrix, 1.3, [](Real const& x) { return sum(square(amax(x, {1}))); },
        [](From x, To g, Size m, Size n) { return hand::row_maxima(x, g, m, n); });

    for (xg::Shape const& shape : {xg::Shape{400, 320}, xg::Shape{64, 64}})
        two(
            name::transposed, shape, {shape[1], shape[0]},
            [](Real const& x, Real const& y) { return sum(square(transpose(x) + y)); },
            [](From x, From y, To gx, To gy, Size m, Size n) {
                return hand::transposed_sum(x, y, gx, gy, m, n);
            });
    two(
        name::choice, {65536}, {65536},
        [](Real const& a, Real const& b) { return sum(where(a > b, a * b, a - b)); },
        [](From a, From b, To ga, To gb, Size, Size n) { return hand::choice(a, b, ga, gb, n); });
    return bench::run(argc, argv);
}
