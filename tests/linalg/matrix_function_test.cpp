// The exponential and powers of matrices.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>
#include <xgrad/linalg.hpp>

using namespace support;
namespace linalg = xg::linalg;

namespace {

Values matrices(xg::DType type, xg::Shape const& shape) { return sample(type, shape, 1, -1, 1); }

/// The sum of the powers over their factorials.
template <class T> xg::Tensor<T> exponential_series(xg::Tensor<T> const& a) {
    xg::Tensor<T> term = xg::eye<T>(a.shape(-1)), sum = term;
    for (int k = 1; k < 60; ++k) {
        term = matmul(term, a) / static_cast<double>(k);
        sum = sum + term;
    }
    return sum;
}

} // namespace

TEST_CASE("matrix_exp is the series of powers, of small and of large matrices") {
    for (double const size : {1e-8, 0.1, 1., 5.}) {
        INFO("times " << size);
        xg::Tensor<cd> const a = leaf(matrices(xg::DType::complex128, {4, 4})).as<cd>() * size;
        CHECK(holds(linalg::matrix_exp(a), xg::AnyTensor(exponential_series(a)), 1e-11));
    }
    xg::Tensor<double> const turn({{0., -1000.}, {1000., 0.}});
    CHECK(holds(linalg::matrix_exp(turn),
        {std::cos(1000.), -std::sin(1000.), std::sin(1000.), std::cos(1000.)}, 1e-10));
    CHECK(holds(linalg::matrix_exp(xg::Tensor<double>({{-800.}})), {0}));
    for (double const large : {1e3, 1e15, 1e100, 1e200}) { // whose powers are small
        CHECK(holds(linalg::matrix_exp(xg::Tensor<double>({{0., large}, {0., 0.}})),
            {1, large, 0, 1}, 1e-15));
        xg::Tensor<double> const triangle({{1., large}, {0., -1.}});
        double const e = std::exp(1.);
        CHECK(holds(linalg::matrix_exp(triangle) / xg::Tensor<double>({{1., large}, {1., 1.}}),
            {e, std::sinh(1.), 0, 1 / e}, 1e-13));
    }
    CHECK(holds(linalg::matrix_exp(xg::Tensor<float>({{0.f, 1e30f}, {0.f, 0.f}})),
        {1, double(1e30f), 0, 1}, 1e-6));
    CHECK(std::isnan(linalg::matrix_exp(xg::Tensor<double>({{1., NAN}, {0., 1.}}))(0, 0).item()));
    CHECK(linalg::matrix_exp(xg::zeros({2, 0, 0})).shape() == xg::Shape{2, 0, 0});
}

TEST_CASE("matrix_exp of stacks and in single precision") {
    auto const stack = leaf(matrices(xg::DType::float64, {2, 3, 3})).as<double>();
    auto const all = linalg::matrix_exp(stack);
    for (int i : {0, 1})
        CHECK(holds(all[i], xg::AnyTensor(exponential_series(stack[i].detach())), 1e-12));
    auto const f = [](auto const& x) { return linalg::matrix_exp(x); };
    CHECK(agrees_with_double(
        function_of<float>(f), function_of<double>(f), {matrices(xg::DType::float32, {3, 3})}));
    CHECK(agrees_with_double(
        function_of<cf>(f), function_of<cd>(f), {matrices(xg::DType::complex64, {3, 3})}));
}

TEST_CASE("matrix_exp has both derivatives") {
    auto const f = [](auto const& x) { return linalg::matrix_exp(x); };
    CHECK(differentiates(function_of<double>(f), {matrices(xg::DType::float64, {2, 3, 3})}, 1e-6));
    CHECK(differentiates(function_of<cd>(f), {matrices(xg::DType::complex128, {3, 3})}, 1e-6));
}

TEST_CASE(
    "the gradient of matrix_exp keeps its digits whatever the size of the one that comes in") {
    auto const a = leaf(matrices(xg::DType::float64, {3, 3})).as<double>();
    auto const once = xg::grad(sum(linalg::matrix_exp(a)), a);
    for (double const scale : {1e-10, 1e6, 1e18})
        CHECK(holds(
            xg::grad(sum(linalg::matrix_exp(a) * scale), a) / scale, xg::AnyTensor(once), 1e-12));
}

TEST_CASE("matrix_power multiplies a matrix with itself, or its inverse") {
    auto const a = leaf(matrices(xg::DType::float64, {3, 3})).as<double>();
    CHECK(holds(linalg::matrix_power(a, 0), {1, 0, 0, 0, 1, 0, 0, 0, 1}));
    CHECK(holds(linalg::matrix_power(a, 1), xg::AnyTensor(a)));
    CHECK(linalg::matrix_power(a, 1).data() != a.data());
    CHECK(holds(linalg::matrix_power(a, 5),
        xg::AnyTensor(matmul(a, matmul(a, matmul(a, matmul(a, a))))), 1e-12));
    CHECK(holds(
        matmul(linalg::matrix_power(a, -2), matmul(a, a)), {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-10));
    CHECK(differentiates(function_of<cd>([](auto const& x) { return linalg::matrix_power(x, 3); }),
        {matrices(xg::DType::complex128, {2, 2, 2})}, 1e-6));
}
