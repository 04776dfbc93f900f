#include <xgrad/xgrad.hpp>

#include <cmath>
#include <iostream>

double second(double at); // the same, in another translation unit: the two must link

int main() {
    xgrad::Tensor<double> x({1., 2., 3.}, xgrad::requires_grad);
    xgrad::Tensor<double> y = sum(x * x);
    y.backward();
    double const slope = x.grad().array()(1);
    std::cout << "d/dx x^2 = " << slope << " and " << second(2.) << " at 2, with xgrad "
              << XGRAD_VERSION_STRING << '\n';
    return std::abs(slope - 4.) < 1e-12 && std::abs(second(2.) - 4.) < 1e-12 ? 0 : 1;
}
