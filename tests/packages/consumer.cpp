// A program as the user of a package would write it. The argument is the version that it shall
// meet.
#include <cmath>
#include <iostream>
#include <string>

#include <xgrad/xgrad.hpp>

int main(int count, char** arguments) {
    xgrad::Tensor<double> x({1., 2., 3.}, xgrad::requires_grad);
    xgrad::Tensor<double> y = sum(x * x);
    y.backward();
    double const slope = x.grad().array()(1);
    std::string const wanted = count > 1 ? arguments[1] : "";
    std::cout << "xgrad " << XGRAD_VERSION_STRING << ": d/dx x^2 = " << slope << " at 2\n";
    return std::abs(slope - 4.) < 1e-12 && wanted == XGRAD_VERSION_STRING ? 0 : 1;
}
