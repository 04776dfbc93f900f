// How tensors are printed.
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

#include "compare.hpp"

namespace {
std::size_t count(std::string const& s, std::string const& part) {
    std::size_t n = 0;
    for (auto at = s.find(part); at != std::string::npos; at = s.find(part, at + 1)) ++n;
    return n;
}
} // namespace

TEST_CASE("a printed tensor shows values, shape and type") {
    CHECK(to_string(D({1., 2.5})) == "Tensor([1, 2.5], shape=[2], dtype=float64)");
    CHECK(to_string(D(3.)) == "Tensor(3, shape=[], dtype=float64)");
    CHECK(to_string(xg::zeros({0})) == "Tensor([], shape=[0], dtype=float64)");
    CHECK(to_string(D({{1., 2.}, {3., 4.}})) ==
          "Tensor([[1, 2],\n        [3, 4]], shape=[2, 2], dtype=float64)");
    CHECK(to_string(xg::Tensor<bool>({true, false})) ==
          "Tensor([true, false], shape=[2], dtype=bool)");
    CHECK(
        to_string(xg::Tensor<std::int64_t>({-1, 2})) == "Tensor([-1, 2], shape=[2], dtype=int64)");
    CHECK(to_string(D()) == "Tensor(undefined)");
}

TEST_CASE("a printed complex number shows both parts with their signs") {
    CHECK(to_string(xg::full({1}, complex<double>(1, -2))) ==
          "Tensor([1-2i], shape=[1], dtype=complex128)");
    CHECK(to_string(xg::full({1}, complex<double>(-0.5, 2))) ==
          "Tensor([-0.5+2i], shape=[1], dtype=complex128)");
}

TEST_CASE("what is not a number is printed without a sign, infinity with it") {
    constexpr double inf = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(to_string(D({nan, std::copysign(nan, -1.), -inf})) ==
          "Tensor([nan, nan, -inf], shape=[3], dtype=float64)");
    CHECK(to_string(xg::full({1}, complex<double>(-inf, std::copysign(nan, -1.)))) ==
          "Tensor([-inf+nani], shape=[1], dtype=complex128)");
}

TEST_CASE("a printed leaf says that it requires grad, a result what made it") {
    D const x({1.}, xg::requires_grad);
    CHECK(to_string(x) == "Tensor([1], shape=[1], dtype=float64, requires_grad=true)");
    CHECK(to_string(D(exp(x))).find("grad_fn=<ExpBackward>") != std::string::npos);
}

TEST_CASE("a view prints its own elements") {
    D const m({{1., 2., 3.}, {4., 5., 6.}});
    CHECK(to_string(m.t()) ==
          "Tensor([[1, 4],\n        [2, 5],\n        [3, 6]], shape=[3, 2], dtype=float64)");
}

TEST_CASE("a large array is cut in the middle of each axis, a small one is not") {
    auto const large = to_string(xg::arange(0., 2000.));
    CHECK(large == "Tensor([0, 1, 2, ..., 1997, 1998, 1999], shape=[2000], dtype=float64)");
    auto const square = to_string(xg::zeros({100, 100}));
    CHECK(count(square, "...") == 7);
    CHECK(square.size() < 400);
    CHECK(count(to_string(xg::zeros({1000})), "0") > 999);
}

TEST_CASE("tensors and expressions go to streams") {
    D const x({1., 2.});
    std::ostringstream out;
    out << x << '\n' << x + x;
    CHECK(out.str() ==
          "Tensor([1, 2], shape=[2], dtype=float64)\nTensor([2, 4], shape=[2], dtype=float64)");
}

TEST_CASE("a stream formats the numbers of a tensor as it formats a double") {
    for (double const v : {1. / 3, -1e-9, 1e300, 12345.678, 0., std::nan(""), HUGE_VAL})
        for (auto const style :
            {std::ios_base::fmtflags{}, std::ios_base::fixed, std::ios_base::scientific})
            for (int const precision : {1, 2, 6, 17}) {
                std::ostringstream alone, tensor;
                for (auto* const out : {&alone, &tensor}) {
                    out->setf(style, std::ios_base::floatfield);
                    out->precision(precision);
                }
                alone << v;
                tensor << D(v);
                CHECK(tensor.str() == "Tensor(" + alone.str() + ", shape=[], dtype=float64)");
            }
    std::ostringstream out;
    out << std::fixed << std::setprecision(2) << D({1., 2.5}) / 3. << ' '
        << xg::Tensor<std::complex<float>>(std::complex<float>(1, -0.125f)) << ' '
        << xg::AnyTensor(D({2. / 3}));
    CHECK(out.str() == "Tensor([0.33, 0.83], shape=[2], dtype=float64) "
                       "Tensor(1.00-0.12i, shape=[], dtype=complex64) "
                       "Tensor([0.67], shape=[1], dtype=float64)");
    CHECK(to_string(D(2. / 3), {.precision = 3}) == "Tensor(0.667, shape=[], dtype=float64)");
}

TEST_CASE("shapes, strides, axes and types go to streams") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    std::ostringstream out;
    out << x.shape() << ' ' << x.strides() << ' ' << xg::Axes{0, -1} << ' ' << D(2.).shape() << ' '
        << (x * x).shape();
    CHECK(out.str() == "[2, 3] [3, 1] [0, -1] [] [2, 3]");
    CHECK(to_string(x.shape()) == "[2, 3]");
    std::ostringstream types;
    types << x.dtype() << ' ' << F(1.f).dtype() << ' ' << Z(1.).dtype() << ' ' << (x > 1.) << ' '
          << xg::Tensor<bool>(true).dtype();
    CHECK(types.str() ==
          "float64 float32 complex128 " + to_string(xg::Tensor<bool>(x > 1.)) + " bool");
    CHECK(to_string(xg::DType::int64) == "int64");
}

TEST_CASE("a tensor of any type is printed as one whose type is known") {
    auto const check = [](auto const& t) {
        std::ostringstream out;
        out << xg::AnyTensor(t);
        CHECK(out.str() == to_string(t));
        CHECK(to_string(xg::AnyTensor(t)) == to_string(t));
    };
    check(D({1., 2.}, xg::requires_grad));
    check(F({1.f}));
    check(Z({complex<double>(1., 2.)}));
    check(xg::Tensor<complex<float>>({complex<float>(1.f, 2.f)}));
    check(xg::Tensor<bool>({true, false}));
    check(xg::Tensor<std::int64_t>({1, 2}));
    check(D());
}
