// expect: a tensor has no mask, and elements of this array may be missing
#include <xgrad/xgrad.hpp>

#include <xtensor/xmasked_view.hpp>

int main() {
    xt::xarray<double> values{1., 2.};
    xt::xarray<bool> mask{true, false};
    auto const masked = xt::masked_view(values, mask);
#ifdef MISTAKE
    xgrad::Tensor<double> const x(masked);
#else
    xgrad::Tensor<double> const x(xt::where(masked.visible(), masked.value(), 0.));
#endif
    return x(0).item() == 1. && x(1).item() == 0. ? 0 : 1;
}
