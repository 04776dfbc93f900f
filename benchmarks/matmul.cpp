// Matrix products forward and backward, beside the three products that they take, from the same
// BLAS, and a loop.
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#if XGRAD_USE_BLAS
#    include "cases.hpp"
#    include "comparison.hpp"
#    include "hand_written/matrix.hpp"

extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

namespace xg = xgrad;

template <class T> auto square(char const* name, std::size_t n, double goal) {
    bench::Leaf const a(xg::randn<T>({n, n})), b(xg::randn<T>({n, n}));
    bench::Buffer<T> const c({n, n});
    auto const function = [a = a.x, b = b.x] {
        if constexpr (std::is_floating_point_v<T>) return sum(square(matmul(a, b)));
        else return sum(abs2(matmul(a, b)));
    };
    bench::Comparison row(bench::name::in<xg::precision_of<T>>(name), n, function, a, b);
    row.hand("hand: GEMMs, loop",
        [=] { return hand::squared_product(a.data, b.data, c.data, a.gradient, b.gradient, n); });
    if constexpr (std::is_same_v<T, double>)
        if (n == 8)
            row.hand("hand: loops",
                [=] { return hand::squared_product_8(a.data, b.data, a.gradient, b.gradient); });
    if (n == 8) row.goal().max_value(350);
    else row.goal().at_most(goal);
    return row;
}

int main(int argc, char** argv) {
    namespace name = bench::name;
    if (openblas_set_num_threads) openblas_set_num_threads(1); // goals are for one core
    square<double>(name::product, 8, 0);
    square<double>(name::product, 64, 1.15);
    auto const real = square<double>(name::product, 512, 1.02);
    bench::float_beside_double(name::product, 512, square<float>(name::product, 512, 1.02), real);
    auto const complex = square<std::complex<double>>(name::complex_product, 256, 1.02);
    bench::float_beside_double(name::complex_product, 256,
        square<std::complex<float>>(name::complex_product, 256, 1.02), complex);
    return bench::run(argc, argv);
}
#else
int main() { std::puts("matrix products: this build has no BLAS to compare with"); }
#endif
