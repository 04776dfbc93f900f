// expect: an index is a whole number, a range or a slice: this one is of floating point type
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    return x[1.].item() != 2.;
#else
    return x[1u].item() != 2.;
#endif
}
