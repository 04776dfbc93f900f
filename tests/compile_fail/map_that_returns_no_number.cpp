// expect: map: the function must return a number, or a tuple or an array of numbers
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return "a number"; }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return v; }, x);
#endif
}
