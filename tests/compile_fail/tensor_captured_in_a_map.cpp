// expect: map, sum_over: a tensor stands among the numbers of the function: make it an operand, map\(f, x, tensor\)
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.}), scale({3., 4.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([&](auto v) { return scale * v; }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v, auto s) { return s * v; }, x, scale);
#endif
}
