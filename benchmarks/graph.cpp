// A chain of a million Nodes: built, differentiated and freed. How much memory it takes, and that
// no stack grows with it. And what a checkpoint costs.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <xgrad/xgrad.hpp>

#include <fstream>

#include "table.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;

/// A field of /proc/self/status, in bytes.
double status(std::string const& field) {
    std::ifstream file("/proc/self/status");
    std::string key;
    double kilobytes = 0;
    while (file >> key)
        if (key == field + ':') file >> kilobytes;
    return 1024 * kilobytes;
}
/// Makes the highest resident set start anew from here.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// A step that its gradient needs nothing for, so that the graph consists of Nodes alone.
struct Scaled {
    static constexpr auto name = "chain of x = 1.0000001*x";
    static Real step(Real const& x) { return 1.0000001 * x; }
};
/// One that saves x, with its memory.
struct Sine {
    static constexpr auto name = "chain of x = sin(x)";
    static Real step(Real const& x) { return sin(x); }
};

template <class Step> Real chain(Real const& start, std::size_t n) {
    Real x = start;
    for (std::size_t i = 0; i < n; ++i) x = Step::step(x);
    return x;
}

template <class Step> void measure(std::size_t n) {
    std::string const name = Step::name;
    Real start(0.7, xg::requires_grad);
    chain<Step>(start, 10).backward();
    xg::empty_cache();
    malloc_trim(0);
    double const bytes_before = status("VmRSS"), stack_before = status("VmStk");
    {
        auto const end = chain<Step>(start, n);
        double const held = status("VmRSS") - bytes_before;
        forget_peak();
        end.backward();
        double const peak = status("VmHWM") - bytes_before;
        auto const per_node = [n](double bytes) {
            return std::round(bytes / static_cast<double>(n));
        };
        bench::Case(name + ": memory each", n).found(per_node(held), "B").max_value(300);
        bench::Case(name + ": peak each", n).found(per_node(peak), "B");
    }
    bench::Case(name + ": stack grows by", n)
        .found(status("VmStk") - stack_before, "B")
        .max_value(0);
    bench::Case(name + ": time each", n).per_step(n).xgrad([=]() mutable {
        start.zero_grad();
        chain<Step>(start, n).backward();
    });
}

/// Steps of the heat equation on a periodic line by a stencil of views, which every step saves:
/// with and without a checkpoint. The checkpoint computes everything twice, and a backward pass
/// costs more than a forward one.
void measure_checkpoint(std::size_t steps) {
    Real const conductivity(0.2, xg::requires_grad), start = xg::rand({4098}, xg::requires_grad);
    auto const heat = [conductivity, steps](Real const& u0) {
        Real u = u0;
        for (std::size_t i = 0; i < steps; ++i) {
            Real const left = u(xt::range(0, 4096)), middle = u(xt::range(1, 4097)),
                       right = u(xt::range(2, 4098));
            u = xg::pad(middle + conductivity * (left - 2. * middle + right), {{1, 1}});
        }
        return sum(u);
    };
    bench::Case("heat equation under a checkpoint", steps)
        .peer("without", [=] { return xg::grad(heat(start), start); })
        .xgrad([=] { return xg::grad(xg::checkpoint(heat, start), start); })
        .at_most(2);
}

int main(int argc, char** argv) {
    measure_checkpoint(100);
    measure<Scaled>(1'000'000);
    measure<Sine>(1'000'000);
    return bench::run(argc, argv);
}
