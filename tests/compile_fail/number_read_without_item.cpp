// expect: (?s)error: .*write x\.item\(\) or double\(x\)
#include <cmath>

#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    double const root = std::sqrt(sum(x));
#else
    double const root = std::sqrt(double(sum(x))) + x(0).item();
#endif
    return root < 0.;
}
