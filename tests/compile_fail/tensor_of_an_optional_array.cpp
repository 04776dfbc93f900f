// expect: a tensor has no mask, and elements of this array may be missing
#include <xgrad/xgrad.hpp>

#include <xtensor/xmath.hpp>
#include <xtensor/xoptional_assembly.hpp>

int main() {
    xt::xarray_optional<double> const values{{1., xtl::missing<double>()}};
#ifdef MISTAKE
    xgrad::Tensor<double> const x(values);
#else
    xgrad::Tensor<double> const x(xt::xarray<double>{1., 0.});
#endif
    return x.numel() == 2 ? 0 : 1;
}
