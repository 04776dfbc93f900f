// Layers of complex-valued networks.
#include <xgrad/testing/gradcheck.hpp>

#include "nn/waves.hpp"

namespace nn = xg::nn;

TEST_CASE("modReLU shortens or stretches, with a bias for each channel that is trained") {
    nn::ModReLU<complex<double>> layer(2);
    {
        xg::NoGradGuard const off;
        layer.bias.copy_(D({-2., 1.}));
    }
    Z const z({{complex<double>(3, 4), complex<double>(0, 2)},
        {complex<double>(1, 0), complex<double>(0, 0)}});
    CHECK(difference(layer(z), {{complex<double>(1.8, 2.4), complex<double>(0, 3)},
                                   {complex<double>(0, 0), complex<double>(0, 0)}}) == "");
    Z x = xg::complex(wave({2, 2, 3}, 1), wave({2, 2, 3}, 2));
    D b({-0.4, 0.3}, xg::requires_grad);
    x.requires_grad_();
    auto const f = [](Z const& t, D const& bias) { return modrelu(t, reshape(bias, {2, 1})); };
    CHECK(xg::gradcheck(f, xg::inputs(x, b)));
    CHECK(xg::gradgradcheck(f, xg::inputs(x, b)));
    CHECK(to_string(layer) == "ModReLU(2), 2 parameters");
    CHECK_THROWS_WITH_AS(layer(Z({complex<double>(1, 0)})),
        "ModReLU: a bias for 2 channels does not fit an input of shape [1]", xg::ShapeError);
}

TEST_CASE("CReLU, zReLU and the cardioid, also where they have kinks") {
    Z const z({complex<double>(1, 2), complex<double>(-1, 2), complex<double>(1, -2),
                  complex<double>(3, 0), complex<double>(0, 0)},
        xg::requires_grad);
    CHECK(difference(Z(nn::CReLU()(z)),
              {complex<double>(1, 2), complex<double>(0, 2), complex<double>(1, 0),
                  complex<double>(3, 0), complex<double>(0, 0)}) == "");
    CHECK(difference(Z(nn::ZReLU()(z)),
              {complex<double>(1, 2), complex<double>(0, 0), complex<double>(0, 0),
                  complex<double>(3, 0), complex<double>(0, 0)}) == "");
    CHECK(difference(Z(nn::Cardioid()(Z(
                         {complex<double>(-2, 0), complex<double>(0, 2), complex<double>(2, 0)}))),
              {complex<double>(0, 0), complex<double>(0, 1), complex<double>(2, 0)}) == "");
    sum(real(crelu(z)) + imag(crelu(z))).backward();
    CHECK(difference(z.grad(), {complex<double>(1, 1), complex<double>(0, 1), complex<double>(1, 0),
                                   complex<double>(1, 0), complex<double>(0, 0)}) == "");
}
