// Templates that name xtensor's functions with xt::, called with arrays and with tensors.
#include <doctest/doctest.h>

#include <xgrad/xtensor_functions.hpp>

namespace {
using A = xt::xarray<double>;
using D = xgrad::Tensor<double>;

auto softplus_energy(auto const& x) { return xt::sum(xt::log1p(xt::exp(x)) * x); }
auto clipped_distance(auto const& x, auto const& y) {
    return xt::mean(xt::where(xt::abs(x - y) < 1., xt::square(x - y), 1.));
}
auto gram(auto const& x) { return xt::transpose(x) * x; }
} // namespace

TEST_CASE("templates of xtensor take tensors") {
    A const a{{0.5, -1.}, {2., 0.}}, b{{0., 0.}, {0., 0.}};
    D x(a, xgrad::requires_grad);
    D const y(b);
    CHECK(softplus_energy(x).item() == doctest::Approx(softplus_energy(a)()));
    softplus_energy(x).backward();
    A const s = 1. / (1. + xt::exp(-a));
    CHECK(xt::allclose(x.grad().array(), xt::log1p(xt::exp(a)) + s * a));
    CHECK(clipped_distance(x, y).item() == doctest::Approx(clipped_distance(a, b)()));
    CHECK(xt::allclose(D(gram(x)).detach().array(), gram(a)));
    D const z = x.detach();
    CHECK(xt::allclose(D(xt::maximum(z, y)).array(), xt::maximum(a, b)));
    CHECK(xt::allclose(D(xt::sum(2. * z, 0)).array(), A{5., -2.}));
    CHECK(xt::allclose(D(xt::view(z, 1)).array(), A{2., 0.}));
    CHECK(xt::allclose(D(xt::sum(D(z), {0, 1})).array(), A(1.5)));
}
