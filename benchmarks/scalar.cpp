// Many recorded steps: on single numbers, x = x + dt*sin(x)*p, differentiated for p and for the
// first x; and on the rows of a tensor.
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#include "cases.hpp"
#include "hand_written/recurrence.hpp"
#include "table.hpp"

namespace xg = xgrad;

void rows(std::size_t steps, std::size_t n) {
    auto const name = bench::name::rows;
    xg::Tensor<double> s = xg::randn({steps, n});
    s.requires_grad_();
    auto by_xgrad = [=]() mutable {
        s.zero_grad();
        xg::Tensor<double> h = xg::zeros({n});
        for (std::size_t t = 0; t < steps; ++t) h = tanh(h + s(t));
        auto const total = sum(h);
        total.backward();
        return total.item();
    };
    std::vector<double> gradient(steps * n), tape;
    auto by_hand = [=]() mutable { return hand::rows(s.data(), gradient.data(), steps, n, tape); };
    bench::agree(name, by_xgrad(), hand::rows(s.data(), gradient.data(), steps, n, tape));
    bench::agree("gradient for the rows", s.grad().data(), gradient.data(), steps * n);
    bench::Case(name, steps).per_step(steps).peer("hand", by_hand).xgrad(by_xgrad);
}

int main(int argc, char** argv) {
    rows(1000, 100);
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
    auto by_hand = [=]() mutable {
        return hand::recurrence(start.item(), p.item(), dt, steps, tape);
    };
    auto by_hand_kept = [=]() mutable {
        return hand::recurrence_kept(start.item(), p.item(), dt, steps, tape);
    };

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
        .max_value(60)
        .aim("26 ns");
    return bench::run(argc, argv);
}
