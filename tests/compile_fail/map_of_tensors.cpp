// expect: map: .*the function stands first, and is no tensor
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map(x, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return v * v; }, x);
#endif
}
