// expect: view = value: of a loop over x.unbind\(\), or of xt::view\(\) of a const tensor
#include <xgrad/xtensor_functions.hpp>

void clear([[maybe_unused]] xgrad::Tensor<double> const& x, xgrad::Tensor<double>& out) {
#ifdef MISTAKE
    auto row = xt::view(x, 0);
#else
    auto row = xt::view(out, 0);
#endif
    row = sin(out) * 2.;
}

int main() {
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    clear(x, x);
}
