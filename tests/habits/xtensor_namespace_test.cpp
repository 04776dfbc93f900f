// A program that says `using namespace xt`: the same lines on a Tensor and on an xarray. Functions
// of xtensor that take anything are overloaded for tensors by <xgrad/xtensor_functions.hpp>.
#include <sstream>

#include <doctest/doctest.h>

#include <xgrad/xtensor_functions.hpp>

#include <xtensor/xbuilder.hpp>
#include <xtensor/xsort.hpp>

using namespace xt;

namespace {

using D = xgrad::Tensor<double>;
using A = xarray<double>;

bool agrees(D const& x, A const& expected) {
    return x.shape() == xgrad::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.array(), expected);
}

} // namespace

TEST_CASE("functions of elements, sums and shapes beside using namespace xt") {
    A m{{1., -2., 3.}, {4., 0.5, -6.}}, k{{2., 1., 0.}, {1., 1., 1.}};
    D x(m, xgrad::requires_grad), y(k), z = 2. * x;
    CHECK(agrees(D(sin(x) + exp(y) * m).detach(), sin(m) + exp(k) * m));
    CHECK(agrees(sum(x).detach(), sum(m)));
    CHECK(agrees(sum(x, 0).detach(), sum(m, 0)));
    CHECK(agrees(sum(x, {0, 1}).detach(), sum(m, {0, 1})));
    CHECK(agrees(mean(x, 1).detach(), mean(m, 1)));
    CHECK(agrees(prod(y).detach(), prod(k)));
    CHECK(agrees(amax(x, 0).detach(), amax(m, 0)));
    CHECK(agrees(D(abs(x)).detach(), abs(m)));
    CHECK(agrees(D(square(x)).detach(), square(m)));
    CHECK(agrees(D(pow(y, 2.)), pow(k, 2.)));
    CHECK(agrees(D(maximum(x, y)).detach(), maximum(m, k)));
    CHECK(agrees(D(where(x > 1., x, y)).detach(), where(m > 1., m, k)));
    CHECK(agrees(D(clip(x, -1., 1.)).detach(), clip(m, -1., 1.)));
    CHECK(agrees(transpose(x).detach(), transpose(m)));
    CHECK(agrees(cumsum(x, 1).detach(), cumsum(m, 1)));
    CHECK(agrees(flip(x, 0).detach(), flip(m, 0)));
    CHECK(agrees(roll(x, 1, 1).detach(), roll(m, 1, 1)));
    CHECK(agrees(sort(x, 1).values.detach(), sort(m, 1)));
    CHECK(agrees(diagonal(x).detach(), diagonal(m)));
    CHECK(agrees(flatten(x).detach(), flatten(m)));
    CHECK(agrees(view(x, all(), 0).detach(), view(m, all(), 0)));
    CHECK(allclose(x, x));
    CHECK(all(y >= 0.));
    CHECK(any(x < 0.));
    CHECK(all(equal(k, y.array())));
    sum(z * z).backward();
    CHECK(agrees(x.grad(), 8. * m));
}

TEST_CASE("arrays alone keep xtensor's functions beside using namespace xt") {
    A const m{{1., 2.}, {3., 4.}};
    CHECK(sum(m)() == 10.);
    CHECK(ones<double>({2, 2})(1, 1) == 1.);
    CHECK(linspace<double>(0., 1., 3)(1) == 0.5);
    CHECK(concatenate(xtuple(m, m), 0).shape()[0] == 4);
    CHECK(amax(m)() == 4.);
}

TEST_CASE("comparisons and formulas go to a stream beside using namespace xt") {
    D const x({1., 2.}), y({2., 2.});
    A const a{1.5, 1.5};
    std::ostringstream out;
    out << (x < 2.) << '\n' << (x + y) << '\n' << (x == y) << '\n' << (x < a) << std::endl;
    CHECK(out.str() == "Tensor([true, false], shape=[2], dtype=bool)\n"
                       "Tensor([3, 4], shape=[2], dtype=float64)\n"
                       "Tensor([false, true], shape=[2], dtype=bool)\n"
                       "Tensor([true, false], shape=[2], dtype=bool)\n");
}
