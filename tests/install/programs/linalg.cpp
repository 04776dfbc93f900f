#include <xgrad/linalg.hpp>

#include <cmath>

int main() {
    xgrad::Tensor<double> a({{2., 0.}, {0., 4.}}, xgrad::requires_grad), b({1., 1.});
    xgrad::Tensor<double> y = sum(xgrad::linalg::solve(a, b));
    y.backward();
    return std::abs(y.item() - 0.75) < 1e-12 && std::abs(a.grad()(0, 0).item() + 0.25) < 1e-12 ? 0
                                                                                               : 1;
}
