// A function of tensors of different shapes, measured beside the same function of equal shapes.
// Both are measured beside a loop by hand.
#include <benchmark/benchmark.h>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/reductions.hpp"

namespace xg = xgrad;

struct SquareSum {
    static auto value(xg::Tensor<double> const& a, xg::Tensor<double> const& b) {
        return sum(square(a + b));
    }
};
struct SquareProduct {
    static auto value(xg::Tensor<double> const& a, xg::Tensor<double> const& b) {
        return sum(square(a * b));
    }
};

/// The function on (m, n) with b of a smaller shape, beside b of shape (m, n).
template <class Function, class Hand, class HandSmall>
void broadcast(char const* same_name, char const* small_name, std::size_t m, std::size_t n,
    xg::Shape const& small, Hand hand, HandSmall hand_small) {
    auto const setting = [&](char const* name, xg::Shape const& shape, auto by_hand) {
        bench::Leaf const a(xg::rand({m, n})), b(xg::rand(shape));
        auto const function = [a = a.x, b = b.x] { return Function::value(a, b); };
        bench::Comparison row(name, m * n, function, a, b);
        row.hand("hand", [=] { return by_hand(a.data, b.data, a.gradient, b.gradient); });
        return row.xgrad();
    };
    auto const same = setting(same_name, {m, n}, hand);
    auto const smaller = setting(small_name, small, hand_small);
    bench::Case(std::string("beside same shape: ") + small_name, m * n)
        .peer("same shape", same)
        .xgrad(smaller)
        .at_most(1.3);
}

/// Without a sum: the gradient of x + b comes from outside.
void bias(std::size_t m, std::size_t n) {
    bench::Leaf const x(xg::rand({m, n})), b(xg::rand({n}));
    auto const g = xg::rand({m, n});
    bench::Buffer<> const y_by_hand({m, n});
    auto const by_hand = [=] {
        hand::bias(x.data, b.data, g.data(), y_by_hand.data, x.gradient, b.gradient, m, n);
    };
    auto xgrad = [=, x = x.x, b = b.x]() mutable {
        x.zero_grad();
        b.zero_grad();
        xg::Tensor<double> const y = x + b;
        y.backward(g);
        return y;
    };
    by_hand();
    auto const y = xgrad();
    bench::agree("x + b", y.data(), y_by_hand.data, m * n);
    bench::agree("gradient for x", x.x.grad().data(), x.gradient, m * n);
    bench::agree("gradient for b", b.x.grad().data(), b.gradient, n);
    bench::Case(bench::name::bias, m * n).peer("hand", by_hand).xgrad(xgrad).at_most(1.2);
}

int main(int argc, char** argv) {
    namespace name = bench::name;
    for (std::size_t const m : {std::size_t{64}, std::size_t{1024}}) {
        std::size_t const n = m;
        broadcast<SquareSum>(
            name::sum_same, name::sum_row, m, n, {n},
            [=](auto... p) { return hand::square_sum(p..., m * n); },
            [=](auto... p) { return hand::square_sum_row(p..., m, n); });
        broadcast<SquareProduct>(
            name::product_same, name::product_column, m, n, {m, 1},
            [=](auto... p) { return hand::square_product(p..., m * n); },
            [=](auto... p) { return hand::square_product_column(p..., m, n); });
    }
    bias(2000, 60);
    return bench::run(argc, argv);
}
