// A program of headers only: with <xgrad/higher_order.hpp> it has third derivatives, and without it
// a third derivative is an error that names the header.
#ifdef XGRAD_TEST_HIGHER_ORDER
#    include <xgrad/higher_order.hpp>
#else
#    include <xgrad/xgrad.hpp>
#endif

#include <cmath>
#include <cstdio>
#include <cstring>

namespace xg = xgrad;

int main() {
    xg::Tensor<double> x({0.5, 2.}, xg::requires_grad);
    xg::Tensor<double> const y = sin(x) * x;
    auto const first = xg::grad(sum(y), x, {.create_graph = true});
    auto const second = xg::grad(sum(first), x, {.create_graph = true});
    for (std::size_t i = 0; i < 2; ++i) { // (x sin x)'' = 2 cos x - x sin x
        double const t = x.data()[i];
        if (std::abs(second.data()[i] - (2 * std::cos(t) - t * std::sin(t))) > 1e-12) return 1;
    }
    try {
        auto const third = xg::grad(sum(second), x);
        for (std::size_t i = 0; i < 2; ++i) { // -3 sin x - x cos x
            double const t = x.data()[i];
            if (std::abs(third.data()[i] - (-3 * std::sin(t) - t * std::cos(t))) > 1e-12) return 2;
        }
    } catch (xg::GraphError const& e) {
        std::puts(e.what());
        return std::strstr(e.what(), "<xgrad/higher_order.hpp>") ? 3 : 4;
    }
    return 0;
}
