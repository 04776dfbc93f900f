// Complex functions: an elementwise one with a real and a complex parameter, and the misfit of a
// linear model.
#include <benchmark/benchmark.h>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"
#include "hand_written/statistics.hpp"

namespace xg = xgrad;

template <class T> auto phase(std::size_t n) {
    using C = std::complex<T>;
    bench::Leaf const phi(xg::randn<T>({n}));
    bench::Leaf const z(xg::randn<C>({n}));
    auto const t = xg::randn<C>({n});
    auto const function = [=, phi = phi.x, z = z.x] {
        return sum(abs2(exp(C(0, 1) * phi) * z - t));
    };
    bench::Comparison row(bench::name::in<T>(bench::name::phase), n, function, phi, z);
    row.hand("hand, 1 pass",
        [=] { return hand::phase(phi.data, z.data, t.data(), phi.gradient, z.gradient, n); });
    if (n >= (1 << 20))
        row.hand("hand, streaming", [=] {
            return hand::phase<hand::Stores::streaming>(
                phi.data, z.data, t.data(), phi.gradient, z.gradient, n);
        });
    row.goal().at_most(1.3);
    if (n >= (1 << 20)) row.goal().faster_than_libtorch(20);
    return row;
}

/// A neuron of a complex network for each element.
void activation(std::size_t n) {
    using C = std::complex<double>;
    bench::Leaf const z(xg::randn<C>({n})), w(xg::randn<C>({n}));
    auto const t = xg::randn<C>({n});
    auto const function = [=, z = z.x, w = w.x] { return sum(abs2(tanh(z * w) - t)); };
    bench::Comparison row(bench::name::complex_tanh, n, function, z, w);
    row.hand("hand",
        [=] { return hand::complex_tanh(z.data, w.data, t.data(), z.gradient, w.gradient, n); });
    row.goal().at_most(1.3);
}

void misfit(std::size_t n) {
    using C = std::complex<double>;
    auto const a = xg::randn<C>({n, n}), b = xg::randn<C>({n});
    bench::Leaf const z(xg::randn<C>({n}));
    bench::Buffer<> const buffer({4 * n});
    auto const function = [=, z = z.x] { return sum(abs2(matmul(a, z) - b)); };
    bench::Comparison row(bench::name::complex_misfit, n, function, z);
    row.hand("hand, 1 pass", [=] {
        return hand::complex_misfit(a.data(), z.data, b.data(), z.gradient, buffer.data, n);
    });
    row.goal().at_most(1.15);
}

int main(int argc, char** argv) {
    phase<double>(1024);
    auto const in_double = phase<double>(65536);
    phase<double>(4 << 20);
    bench::float_beside_double(bench::name::phase, 65536, phase<float>(65536), in_double);
    activation(1024);
    misfit(256);
    return bench::run(argc, argv);
}
