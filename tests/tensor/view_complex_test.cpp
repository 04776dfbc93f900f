// Real views of complex tensors and complex ones of real tensors: values, gradients, changes in
// place.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {
Point complexes(xg::Shape const& shape) { return {sample(xg::DType::complex128, shape)}; }
Point both(xg::Shape const& z, xg::Shape const& x) {
    return {sample(xg::DType::complex128, z), sample(xg::DType::float64, x, 2, 0.5, 2)};
}
using Complex = xg::Tensor<cd>;
using Real = xg::Tensor<double>;
} // namespace

TEST_CASE("real and imaginary parts are views whose gradients are real() and imag()'s") {
    for (auto const& shape : {xg::Shape{2, 3}, xg::Shape{}}) {
        CHECK(agrees_with(
            function_of<cd>([](auto const& z) { return z.real() * z.imag() + z.real(); }),
            function_of<cd>([](auto const& z) { return real(z) * imag(z) + real(z); }),
            complexes(shape)));
        CHECK(differentiates(
            function_of<cd>([](auto const& z) { return exp(z.imag()) * z; }), complexes(shape)));
    }
    CHECK(differentiates(
        function_of<cd>([](auto const& z) { return z.t()[1].real() * z(xt::all(), 0)[1].imag(); }),
        complexes({2, 3})));
}

TEST_CASE("view_as_real and view_as_complex undo each other") {
    CHECK(
        agrees_with(function_of<cd>([](auto const& z) { return view_as_complex(view_as_real(z)); }),
            function_of<cd>([](auto const& z) { return z * 1; }), complexes({2, 3})));
    CHECK(differentiates(
        function_of<cd>([](auto const& z) { return square(view_as_real(z)); }), complexes({2, 3})));
    CHECK(differentiates(
        function_of<cd>([](auto const& z) { return view_as_real(z.t()) * view_as_real(z)[0](0); }),
        complexes({2, 3})));
    CHECK(agrees_with(
        function_of<double>([](auto const& x) { return square(view_as_complex(x.clone())); }),
        function_of<double>([](auto const& x) {
            return square(xg::complex(x(xt::ellipsis(), 0), x(xt::ellipsis(), 1)));
        }),
        {sample(xg::DType::float64, {3, 2})}));
}

TEST_CASE("changes through the parts of a complex tensor are changes of it") {
    auto const in_place = [](auto change) {
        return function_of<cd, double>([change](Complex const& leaf, Real const& b) {
            Complex const z = leaf.clone();
            change(z, b);
            return Complex(z * z);
        });
    };
    auto const out_of_place = [](auto f) {
        return function_of<cd, double>([f](Complex const& z, Real const& b) {
            Complex const w(f(z, b));
            return Complex(w * w);
        });
    };
    for (auto const& b : {xg::Shape{2, 3}, xg::Shape{3}}) {
        auto const at = both({2, 3}, b);
        CHECK(agrees_with(in_place([](Complex const& z, Real const& x) { z.real() *= x; }),
            out_of_place([](Complex const& z, Real const& x) {
                return Complex(xg::complex(real(z) * x, imag(z)));
            }),
            at));
        CHECK(agrees_with(in_place([](Complex const& z, Real const& x) { z.imag() = exp(x); }),
            out_of_place([](Complex const& z, Real const& x) {
                return Complex(xg::complex(real(z), 0 * real(z) + exp(x)));
            }),
            at));
        CHECK(
            agrees_with(in_place([](Complex const& z, Real const& x) { z.real() += z.imag() * x; }),
                out_of_place([](Complex const& z, Real const& x) {
                    return Complex(xg::complex(real(z) + imag(z) * x, imag(z)));
                }),
                at));
        CHECK(agrees_with(in_place([](Complex const& z, Real const& x) {
            z.t()[1].imag().mul_(x(xt::ellipsis(), 0));
        }),
            out_of_place([](Complex const& z, Real const& x) {
                Real const column({{0., 1., 0.}});
                return Complex(xg::complex(real(z),
                    where(column > 0, imag(z) * x(xt::ellipsis(), xg::slice(0, 1)).reshape({-1, 1}),
                        imag(z))));
            }),
            both({2, 3}, {2, 3})));
        CHECK(agrees_with(in_place([](Complex const& z, Real const&) { view_as_real(z).exp_(); }),
            out_of_place([](Complex const& z, Real const&) {
                return Complex(xg::complex(exp(real(z)), exp(imag(z))));
            }),
            at));
        CHECK(agrees_with(in_place([](Complex const& z, Real const& x) {
            view_as_complex(view_as_real(z)) *= x;
        }),
            out_of_place([](Complex const& z, Real const& x) { return Complex(z * x); }), at));
    }
}

TEST_CASE("a complex view of a real tensor can be changed") {
    auto const in_place = function_of<double, cd>([](Real const& leaf, Complex const& w) {
        Real const x = leaf.clone();
        view_as_complex(x) *= w;
        return Real(x * x);
    });
    auto const out_of_place = function_of<double, cd>([](Real const& x, Complex const& w) {
        Complex const z(xg::complex(x(xt::all(), 0), x(xt::all(), 1)) * w);
        return Real(square(xg::stack(std::vector<Real>{real(z), imag(z)}, 1)));
    });
    CHECK(agrees_with(in_place, out_of_place,
        {sample(xg::DType::float64, {3, 2}), sample(xg::DType::complex128, {3})}));
}

TEST_CASE("memory at any address that a real number may have holds pairs") {
    double numbers[] = {1, 2, 3, 4, 5, 6, 7};
    for (double* first : {numbers, numbers + 1}) {
        auto const z = view_as_complex(xg::from_blob(first, {3, 2}));
        CHECK(z(1).item() == std::complex<double>(first[2], first[3]));
        CHECK(Complex(z * 2.)(2).item() == 2. * std::complex<double>(first[4], first[5]));
    }
}

TEST_CASE("tensors that do not hold pairs have no complex view") {
    Real const x = xg::zeros({4, 2, 2});
    CHECK_THROWS_AS(view_as_complex(Real(xg::zeros({4, 3}))), xg::ShapeError);
    CHECK_THROWS_AS(view_as_complex(Real(1.)), xg::ShapeError);
    CHECK_THROWS_AS(view_as_complex(x.t()), xg::ShapeError);
    CHECK_THROWS_AS(view_as_complex(x.view({16})(xg::slice(1, 15)).view({7, 2})), xg::ShapeError);
    CHECK(view_as_complex(x.transpose(0, 1)).shape() == xg::Shape{2, 4});
    CHECK(view_as_complex(x.view({16})(xg::slice(2, 16)).view({7, 2})).shape() == xg::Shape{7});
}
