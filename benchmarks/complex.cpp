// A complex formula with a real and a complex parameter: value and gradient of sum(abs2(exp(i*phi)*z - t)).
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#include "hand_written.hpp"
#include "table.hpp"

namespace xg = xgrad;
using C = std::complex<double>;

void phase(std::size_t n)
{
    auto const name = "sum(abs2(exp(i*phi)*z - t))";
    auto phi = xg::randn<double>({n}, xg::requires_grad);
    auto z = xg::randn<C>({n}, xg::requires_grad);
    auto const t = xg::randn<C>({n});
    auto gphi = xg::zeros<double>({n});      // memory like that of xgrad's own, so that neither has the better alignment
    auto gz = xg::zeros<C>({n});

    auto by_hand = [=]() mutable { return hand::phase(phi.data(), z.data(), t.data(), gphi.mutable_data(), gz.mutable_data(), n); };
    auto by_xgrad = [=]() mutable {
        phi.zero_grad();
        z.zero_grad();
        auto const loss = sum(abs2(exp(C(0, 1) * phi) * z - t));
        loss.backward();
        return loss.item();
    };
    bench::agree(name, by_xgrad(), by_hand());
    bench::agree("gradient for phi", phi.grad().data(), gphi.data(), n);
    bench::agree("gradient for z", z.grad().data(), gz.data(), n);

    bench::Case row(name, n);
    row.peer("hand, 1 pass", by_hand).xgrad(by_xgrad).at_most(1.5);
    if (n >= (1 << 20)) row.faster_than_libtorch(20);
}

int main(int argc, char** argv)
{
    for (std::size_t const n : {std::size_t{1024}, std::size_t{4} << 20}) phase(n);
    return bench::run(argc, argv);
}
