// expect: an index is a whole number, a range or a slice: this one is of floating point type
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const m({{1., 2.}, {3., 4.}});
#ifdef MISTAKE
    return m(0, 1.0).dim() != 0;
#else
    return m(0, 1).dim() != 0;
#endif
}
