// expect: Tensor: values of an xtensor expression are copied where that is written: Tensor<double> x\(array\), not x = array
#include <xgrad/xgrad.hpp>

int main() {
    xt::xarray<double> const array{1., 2.};
#ifdef MISTAKE
    xgrad::Tensor<double> const x = array;
#else
    xgrad::Tensor<double> const x(array);
#endif
}
