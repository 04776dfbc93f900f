// A program that imports xgrad: names of each header, operators, an operation of its own. xtensor
// is not of the module, so a program that uses it includes it.
#include <complex>
#include <iostream>
#include <type_traits>
#include <xtensor/xarray.hpp>

import xgrad;

namespace xg = xgrad;

struct Cube : xg::Elementwise<xg::R(xg::R), xg::C(xg::C)> {
    auto value(auto x) const { return x * x * x; }
    auto partial(xg::wrt<0>, auto /*result*/, auto x) const { return 3 * x * x; }
};

int main() {
    using C = std::complex<double>;
    xg::Tensor<double> x({1., 2., 3.}, xg::requires_grad);
    xg::Tensor<double> y = sum(sin(x) * x + xg::apply<Cube>(x));
    y.backward();
    std::cout << x.grad() << '\n';

    xt::xarray<C> const values{{C(1.), C(2.)}, {C(3.), C(4.)}};
    xg::Tensor<C> z(values, xg::requires_grad);
    auto const [gradient] = xg::grad(sum(abs2(z)), xg::inputs(z));
    std::cout << gradient.array()(1, 1) << '\n';

    static_assert(std::is_class_v<xg::nn::Linear<double>> && std::is_class_v<xg::optim::SGD>);
    try {
        static_cast<void>(x.reshape({2, 2}));
    } catch (xg::ShapeError const&) { std::cout << "ShapeError\n"; }
}
