// Half of a program: flags/other.cpp is compiled for another instruction set. Both use the same
// expression: one its values, the other its sum and gradient.
#include <cmath>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

D other(D const& x);

int main() {
    for (std::size_t n = 1; n < 20; ++n) {
        D x = xg::full<double>({n}, 0.5).requires_grad_();
        D const total = sum(exp(x));
        total.backward();
        if (std::abs(total.item() - static_cast<double>(n) * std::exp(0.5)) > 1e-9) return 1;
        D const values = other(x.detach());
        for (std::size_t i = 0; i < n; ++i)
            if (std::abs(values.data()[i] - std::exp(0.5)) > 1e-12 ||
                std::abs(x.grad().data()[i] - std::exp(0.5)) > 1e-12)
                return 2;
    }
}
