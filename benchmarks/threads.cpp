// Two threads beside one: the work is shared where that pays, and costs nothing where it does not.
#include <benchmark/benchmark.h>

#include <chrono>
#include <string>

#include "table.hpp"

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

/// The least time of one call in turns of one and of two threads.
template <class F> double two_beside_one(F const& f) {
    double least[2] = {1e300, 1e300};
    for (int turn = 0; turn < 25; ++turn)
        for (std::size_t const threads : {1, 2}) {
            xg::set_num_threads(threads);
            for (int call = 0; call < 5; ++call) {
                auto const begin = std::chrono::steady_clock::now();
                f();
                std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
                least[threads - 1] = std::min(least[threads - 1], time.count());
            }
        }
    xg::set_num_threads(1);
    return least[1] / least[0];
}

int main(int argc, char** argv) {
    for (std::size_t const n : {4096, 65536, 262144, 4194304}) {
        D const a = xg::rand({n}).requires_grad_(), b = xg::rand({n}).requires_grad_();
        auto const row = [n](char const* function, auto const& f) {
            bench::Case(std::string("2 threads / 1: ") + function, n)
                .found(two_beside_one(f), "x")
                .max_value(1.1);
        };
        row("sum(a*b + 0.5*a - b/(a+2))", [&] { sum(a * b + 0.5 * a - b / (a + 2.)).backward(); });
        row("sum(tanh(a*b) + log(1 + a*a))",
            [&] { sum(tanh(a * b) + log(1. + a * a)).backward(); });
    }
    return bench::run(argc, argv);
}
