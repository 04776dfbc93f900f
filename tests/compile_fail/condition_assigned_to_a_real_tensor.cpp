// expect: (?s)error: .*convert_by_cast_or_real_or_abs2
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    xgrad::Tensor<double> y(0.);
#ifdef MISTAKE
    y = xgrad::map([](auto v) { return v < 1.; }, x);
#else
    y = xgrad::cast<double>(xgrad::map([](auto v) { return v < 1.; }, x));
#endif
    return y.dim() != 1;
}
