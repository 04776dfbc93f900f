// Value and gradient for tensors of four numbers, as often as the argument says: for benchmarks/instructions, which counts.
#include <xgrad/xgrad.hpp>

#include <cstdio>
#include <cstdlib>

namespace xg = xgrad;

[[gnu::noinline]] double iteration(xg::Tensor<double>& a, xg::Tensor<double>& b)
{
    a.zero_grad();
    b.zero_grad();
    auto const loss = sum(a * b + 0.5 * a - b / (a + 2));
    loss.backward();
    return loss.item();
}

int main(int argc, char** argv)
{
    int const count = argc > 1 ? std::atoi(argv[1]) : 1;
    xg::Tensor<double> a({1., 2., 3., 4.}, xg::requires_grad), b({4., 3., 2., 1.}, xg::requires_grad);
    double total = 0;
    for (int i = 0; i < count; ++i) total += iteration(a, b);
    std::printf("%.17g\n", total);
}
