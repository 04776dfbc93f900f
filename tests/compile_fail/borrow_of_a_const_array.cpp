// expect: the array is const, and a change in place of the tensor would write to it
#include <xgrad/xgrad.hpp>

int main() {
    xt::xarray<double> const values{1, 2};
#ifdef MISTAKE
    xgrad::borrow(values);
#else
    xgrad::Tensor<double> const x(values);
#endif
}
