// expect: map: a parameter of the function has a type of its own; (?s:.*)2 == 0
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([](auto v, int n) { return v * n; }, x, 2);
#else
    xgrad::Tensor<double> const y = xgrad::map([n = 2](auto v) { return v * n; }, x);
#endif
}
