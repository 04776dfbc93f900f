// Functions of numbers, mapped, beside the same expressions on tensors: their derivatives come from
// dual numbers, with a tangent for each operand, and not from backpropagation.
#include <benchmark/benchmark.h>
#include <xgrad/map.hpp>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"

namespace xg = xgrad;

auto const a1 = [](auto a, auto b) { return a * b + 0.5 * a - b / (a + 2); };

/// A row of f: the sum and its gradients.
template <class F, class... X> void row(char const* name, F f, bench::Leaf<X> const&... x) {
    auto const n = std::get<0>(std::tie(x...)).x.numel();
    auto mapped = bench::differentiated([=, ... x = x.x] { return sum(xg::map(f, x...)); }, x...);
    auto expression = bench::differentiated([=, ... x = x.x] { return sum(f(x...)); }, x...);
    bench::agree(name, mapped(), expression());
    bench::Case(name, n).peer("expression", expression).xgrad(mapped).at_most(1.1);
}

/// Values between two bounds.
bench::Leaf<double> between(double low, double high, std::size_t n) {
    return bench::Leaf(xg::Tensor<double>(low + (high - low) * xg::rand({n})));
}

int main(int argc, char** argv) {
    for (std::size_t const n : {1024u, 65536u}) {
        auto const u = [n] { return between(1, 2, n); };
        bench::Leaf const a = u(), b = u();
        bench::Comparison by_hand(
            std::string("map, a1: ") + bench::name::rational, n,
            [a = a.x, b = b.x] { return sum(xg::map(a1, a, b)); }, a, b);
        by_hand.hand("hand, 1 pass",
            [=] { return hand::rational(a.data, b.data, a.gradient, b.gradient, n); });
        by_hand.goal().at_most(1.3);
        row("map, a1: a*b + 0.5*a - b/(a+2)", a1, u(), u());
        row(
            "map, a2: sin(x) * tanh(x)", [](auto x) { return sin(x) * tanh(x); }, u());
        row(
            "map, a3: four operands",
            [](auto p, auto q, auto r, auto s) {
                return (p * q + r) * (p - s) / (q * q + 1) + r * s;
            },
            u(), u(), u(), u());
        row(
            "map, normal density",
            [](auto x, auto m, auto s) {
                auto const z = (x - m) / s;
                return -0.5 * z * z - log(s);
            },
            u(), u(), u());
        row(
            "map, 4 Newton iterations",
            [](auto a, auto b) {
                auto x = b;
                for (int i = 0; i < 4; ++i) x = x - (x * x * x - a) / (3. * x * x + 1.);
                return x;
            },
            u(), u());
        row(
            "map, Black-Scholes",
            [](auto s, auto k, auto t, auto v) {
                auto const q = v * sqrt(t), d = (log(s / k) + 0.5 * v * v * t) / q;
                auto const below = [](auto x) { return 0.5 * erfc(x * -0.7071067811865475); };
                return s * below(d) - k * below(d - q);
            },
            between(80, 120, n), between(80, 120, n), between(0.5, 2, n), between(0.1, 0.4, n));
    }
    return bench::run(argc, argv);
}
