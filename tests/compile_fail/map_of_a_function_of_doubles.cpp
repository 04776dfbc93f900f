// expect: map: a parameter of the function has a type of its own; it gets dual numbers, so the function must be a template
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([](double v) { return v * v; }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return v * v; }, x);
#endif
}
