// Many recorded steps on single numbers: x = x + dt*sin(x)*p, differentiated for p and for the first x.
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#include "cases.hpp"
#include "hand_written/recurrence.hpp"
#include "table.hpp"

namespace xg = xgrad;

int main(int argc, char** argv)
{
    auto const name = bench::name::recurrence;
    std::size_t const steps = 1000;
    double const dt = 1e-3;
    xg::Tensor<double> start(0.7, xg::requires_grad), p(1.3, xg::requires_grad);
    auto by_xgrad = [=]() mutable {
        start.zero_grad();
        p.zero_grad();
        xg::Tensor<double> x = start;
        for (std::size_t i = 0; i < steps; ++i) x = x + dt * sin(x) * p;
        x.backward();
        return x.item();
    };
    std::vector<double> tape;
    auto by_hand = [=]() mutable { return hand::recurrence(start.item(), p.item(), dt, steps, tape); };
    auto by_hand_kept = [=]() mutable { return hand::recurrence_kept(start.item(), p.item(), dt, steps, tape); };

    auto const value = by_xgrad();
    auto check = [&](hand::Recurrence const& r) {
        bench::agree(name, value, r.x);
        bench::agree("gradient for the first x", start.grad().item(), r.gx);
        bench::agree("gradient for p", p.grad().item(), r.gp);
    };
    check(by_hand());
    check(by_hand_kept());

    bench::Case(name, steps)
        .per_step(steps)
        .peer("hand", by_hand)
        .peer("hand, kept", by_hand_kept)
        .xgrad(by_xgrad)
        .at_most_value(60)
        .aim("26 ns");
    return bench::run(argc, argv);
}
