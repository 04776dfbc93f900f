// expect: a shape, a list of axes and a list of indices hold integers: these elements are of type bool or floating point
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    mean(x, xgrad::keepdims);
#else
    mean(x, 0, xgrad::keepdims);
#endif
}
