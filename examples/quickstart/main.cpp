// The first program of the README: a tensor, an expression, its gradient.
// ctest:

#include <iostream>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

int main() {
    xg::Tensor<double> x({1., 2., 3.}, xg::requires_grad);
    xg::Tensor<double> y = sum(sin(x) * x); // one pass over x: no array in between
    y.backward();
    std::cout << x.grad() << '\n'; // sin x + x cos x
}
