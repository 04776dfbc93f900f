// expect: map: the function is mutable, but it is called for batches of elements, and again for each derivative: it must be const
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map([n = 0](auto v) mutable { return ++n * v; }, x);
#else
    xgrad::Tensor<double> const y = xgrad::map([n = 2](auto v) { return n * v; }, x);
#endif
}
