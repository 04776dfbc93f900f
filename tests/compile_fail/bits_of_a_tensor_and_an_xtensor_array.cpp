// expect: tensors have no such operator: &, \|, \^, << and >> are for arrays of integers
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    xt::xarray<int> const n{3, 4};
#ifdef MISTAKE
    auto const y = x & n;
#else
    auto const y = x / n;
#endif
    return y.dim() != 1;
}
