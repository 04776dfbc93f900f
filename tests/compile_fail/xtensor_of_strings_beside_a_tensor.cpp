// expect: beside a tensor, an xtensor expression must have numbers as elements
#include <string>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    xt::xarray<std::string> const a{"3", "4"};
#else
    xt::xarray<int> const a{3, 4};
#endif
    auto const y = x + a;
    return y.dim() != 1;
}
