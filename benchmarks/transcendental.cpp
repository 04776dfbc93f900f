// Expressions whose elementary functions cost more time than their memory accesses, and a
// Hessian-vector product.
#include <benchmark/benchmark.h>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"

namespace xg = xgrad;

void sine_exp(std::size_t n) {
    bench::Leaf const a(xg::randn({n})), b(xg::randn({n}));
    auto const function = [a = a.x, b = b.x] { return sum(sin(a) * b + exp(a)); };
    bench::Comparison row(bench::name::sine_exp, n, function, a, b);
    row.hand("hand", [=] { return hand::sine_exp(a.data, b.data, a.gradient, b.gradient, n); });
    if (n >= (1 << 20))
        row.hand("hand, streaming", [=] {
            return hand::sine_exp<hand::Stores::streaming>(
                a.data, b.data, a.gradient, b.gradient, n);
        });
    row.goal().at_most(1.2);
}

template <class T> auto tanh_log(std::size_t n) {
    bench::Leaf const a(xg::randn<T>({n})), b(xg::randn<T>({n}));
    auto const function = [a = a.x, b = b.x] { return sum(tanh(a * b) + log(1 + a * a)); };
    bench::Comparison row(bench::name::in<T>(bench::name::tanh_log), n, function, a, b);
    row.hand("hand", [=] { return hand::tanh_log(a.data, b.data, a.gradient, b.gradient, n); });
    if (n >= (1 << 20))
        row.hand("hand, streaming", [=] {
            return hand::tanh_log<hand::Stores::streaming>(
                a.data, b.data, a.gradient, b.gradient, n);
        });
    row.goal().at_most(1.2);
    return row;
}

/// The Hessian times a direction (u, v), as the gradient of a product with the gradient.
void tanh_log_hvp(std::size_t n) {
    bench::Leaf const a(xg::randn({n})), b(xg::randn({n}));
    auto const u = xg::randn({n}), v = xg::randn({n});
    auto const xgrad = [=, a = a.x, b = b.x] {
        auto const [ga, gb] =
            xg::grad(sum(tanh(a * b) + log(1 + a * a)), xg::inputs(a, b), {.create_graph = true});
        return xg::grad(sum(ga * u + gb * v), xg::inputs(a, b));
    };
    auto const by_hand = [=] {
        hand::tanh_log_hvp(a.data, b.data, u.data(), v.data(), a.gradient, b.gradient, n);
    };
    by_hand();
    auto const [ha, hb] = xgrad();
    bench::agree("Hessian-vector product, for a", ha.data(), a.gradient, n);
    bench::agree("Hessian-vector product, for b", hb.data(), b.gradient, n);
    bench::Case(bench::name::tanh_log_hvp, n).peer("hand", by_hand).xgrad(xgrad).at_most(2);
}

int main(int argc, char** argv) {
    std::size_t const mebi = 1 << 20;
    for (std::size_t const n : {std::size_t{1024}, 4 * mebi}) sine_exp(n);
    tanh_log<double>(1024);
    auto const in_double = tanh_log<double>(65536);
    tanh_log<double>(4 * mebi);
    bench::float_beside_double(bench::name::tanh_log, 65536, tanh_log<float>(65536), in_double);
    tanh_log_hvp(1024);
    return bench::run(argc, argv);
}
