// expect: adopt, borrow: this has no elements in memory that a tensor could share
#include <xgrad/xgrad.hpp>

int main() {
    xt::xarray<double> const numbers{1., 2.};
#ifdef MISTAKE
    xgrad::adopt(numbers + 1.);
#else
    xgrad::Tensor<double> const x(numbers + 1.);
    return x(1).item() >= 2. ? 0 : 1;
#endif
}
