// expect: map: the function takes another number of arguments than there are operands behind it(?s:.*)2 == 1
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([](auto v, auto w) { return v * w; }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v, auto w) { return v * w; }, x, 2.);
#endif
}
