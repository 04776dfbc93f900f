// expect: a shape, a list of axes and a list of indices hold integers: these elements are of type bool or floating point
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    sum(x, 0.);
#else
    sum(x, 0);
#endif
}
