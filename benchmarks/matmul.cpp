// A matrix product forward and backward, beside the three products that it takes, from the same BLAS.
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#include "table.hpp"

namespace xg = xgrad;

#if XGRAD_USE_BLAS
extern "C" void dgemm_(char const* op_a, char const* op_b, int const* m, int const* n, int const* k, double const* alpha, double const* a,
    int const* lda, double const* b, int const* ldb, double const* beta, double* c, int const* ldc);
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

/// op(A) op(B) of square matrices in rows. BLAS thinks in columns: it is asked for the transpose of the product.
void product(char op_a, char op_b, double const* a, double const* b, double* c, int n)
{
    double const one = 1, zero = 0;
    dgemm_(&op_b, &op_a, &n, &n, &n, &one, b, &n, a, &n, &zero, c, &n);
}

void square(std::size_t size)
{
    auto const name = "sum(square(matmul(A, B)))";
    int const n = static_cast<int>(size);
    auto a = xg::rand<double>({size, size}, xg::requires_grad), b = xg::rand<double>({size, size}, xg::requires_grad);
    auto c = xg::zeros<double>({size, size}), g = c.clone(), ga = c.clone(), gb = c.clone();
    auto forward = [=]() mutable { product('N', 'N', a.data(), b.data(), c.mutable_data(), n); };
    auto backward = [=]() mutable {
        product('N', 'T', g.data(), b.data(), ga.mutable_data(), n);
        product('T', 'N', a.data(), g.data(), gb.mutable_data(), n);
    };
    auto by_xgrad = [=]() mutable {
        a.zero_grad();
        b.zero_grad();
        auto const loss = sum(square(matmul(a, b)));
        loss.backward();
        return loss.item();
    };
    auto const value = by_xgrad();
    forward();
    g.copy_(2 * c);
    backward();
    bench::agree(name, value, sum(square(c)).item());
    bench::agree("gradient for A", a.grad().data(), ga.data(), size * size);
    bench::agree("gradient for B", b.grad().data(), gb.data(), size * size);

    bench::Case row(name, size);
    row.peer("three GEMMs", [=]() mutable { forward(), backward(); }).xgrad(by_xgrad);
    if (size >= 256) row.at_most(1.05);
}

int main(int argc, char** argv)
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);      // budgets are for one core
    for (std::size_t const n : {64u, 256u, 512u}) square(n);
    return bench::run(argc, argv);
}
#else
int main() { std::puts("sum(square(matmul(A, B))): this build has no BLAS to compare with"); }
#endif
