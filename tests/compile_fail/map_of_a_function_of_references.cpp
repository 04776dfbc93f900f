// expect: map: the function takes a number by a reference that is not const: take it by value
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([](auto& v) { return v * v; }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return v * v; }, x);
#endif
}
