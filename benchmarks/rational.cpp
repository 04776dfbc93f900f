// sum(a*b + 0.5*a - b/(a+2)), from four numbers to four millions: arithmetic alone.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"

namespace xg = xgrad;

template <class T> auto rational(std::size_t n) {
    bench::Leaf const a(xg::rand<T>({n})), b(xg::rand<T>({n}));
    auto const function = [a = a.x, b = b.x] { return sum(a * b + 0.5 * a - b / (a + 2)); };
    bench::Comparison row(bench::name::in<T>(bench::name::rational), n, function, a, b);
    row.hand(
        "hand, 1 pass", [=] { return hand::rational(a.data, b.data, a.gradient, b.gradient, n); });
    if constexpr (std::is_same_v<T, double>)
        if (n < 16)
            row.hand("hand, plain loop",
                [=] { return hand::rational_plain(a.data, b.data, a.gradient, b.gradient, n); });
    row.hand("hand, 2 passes", [=] {
        auto const value = hand::rational_value(a.data, b.data, n);
        hand::rational_gradient(a.data, b.data, a.gradient, b.gradient, n);
        return value;
    });
    if (n >= (1 << 20))
        row.hand("hand, streaming", [=] {
            return hand::rational<hand::Stores::streaming>(
                a.data, b.data, a.gradient, b.gradient, n);
        });
    return row;
}

template <class Run> void page_faults(Run xgrad, std::size_t n) {
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 5; ++i) xgrad();
    getrusage(RUSAGE_SELF, &after);
    bench::Case("page faults in 5 calls after the first", n)
        .found(static_cast<double>(after.ru_minflt - before.ru_minflt), "")
        .max_value(0);
}

/// grad() and value_and_grad() beside backward(), for four elements: there the calls themselves
/// take most of the time.
void gradient_calls() {
    auto a = xg::rand({4}, xg::requires_grad), b = xg::rand({4}, xg::requires_grad);
    auto const function = [](auto const& x, auto const& y) {
        return sum(x * y + 0.5 * x - y / (x + 2));
    };
    auto collected = [=]() mutable {
        a.zero_grad();
        b.zero_grad();
        function(a, b).backward();
    };
    auto const asked = [=] { return std::get<0>(xg::grad(function(a, b), xg::inputs(a, b))); };
    auto const transformed = [=] {
        return std::get<0>(xg::value_and_grad(function, xg::inputs(a, b)).second);
    };
    collected();
    bench::agree("grad()", asked().data(), a.grad().data(), 4);
    bench::agree("value_and_grad()", transformed().data(), a.grad().data(), 4);
    bench::Case("grad(), beside backward()", 4).peer("backward()", collected).xgrad(asked);
    bench::Case("value_and_grad(), beside backward()", 4)
        .peer("backward()", collected)
        .xgrad(transformed);
}

int main(int argc, char** argv) {
    std::size_t const mebi = 1 << 20;
    rational<double>(4).goal().faster_than_libtorch(100).max_value(150).aim("80 ns");
    gradient_calls();
    rational<double>(1024).goal().at_most(1.3);
    auto in_double = rational<double>(65536);
    in_double.goal().at_most(1.25);
    auto large = rational<double>(4 * mebi);
    large.goal().at_most(1.6);
    page_faults(large.xgrad(), 4 * mebi);
    auto in_float = rational<float>(65536);
    in_float.goal().at_most(1.25);
    bench::float_beside_double(bench::name::rational, 65536, in_float, in_double);
    return bench::run(argc, argv);
}
