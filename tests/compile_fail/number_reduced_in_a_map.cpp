// expect: map, sum_over: the function gets one number at a time, and there is nothing to reduce
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return v / sum(v); }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v, auto s) { return v / s; }, x, sum(x));
#endif
}
