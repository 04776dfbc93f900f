// A program that includes xtensor before xgrad. There g++ gives temporaries of xtensor a wrong
// type, which xgrad does not use. The test compiles it with the address sanitizer.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <xgrad/xgrad.hpp>

#include <cstdio>
#include <vector>

namespace {

using Real = xgrad::Tensor<double>;
using Array = xt::xarray<double>;

#if !defined(__clang__) && XTENSOR_VERSION_MAJOR == 0 && XTENSOR_VERSION_MINOR < 26
static_assert(
    !std::is_same_v<
        xt::temporary_type_t<decltype(std::declval<Array const&>() + std::declval<Array const&>())>,
        Array>,
    "this compiler does what the test is about");
#endif

int faults = 0;

void expect(char const* what, Real const& is, xgrad::Shape const& shape,
    std::vector<double> const& wanted) {
    Real const values = is.contiguous();
    if (is.shape() == shape && std::equal(wanted.begin(), wanted.end(), values.data())) return;
    ++faults;
    std::printf("%s\n", what);
}

} // namespace

int main() {
    Array const a = {{1., 2., 3.}, {4., 5., 6.}};
    Array const row = {10., 20., 30.};
    xt::xtensor<double, 2> const fixed = a;

    // Tensors of expressions of xtensor.
    expect("a + row", Real(a + row), {2, 3}, {11., 22., 33., 14., 25., 36.});
    expect("2 a - a a", Real(2. * a - a * a), {2, 3}, {1., 0., -3., -8., -15., -24.});
    expect("fixed + row", Real(fixed + row), {2, 3}, {11., 22., 33., 14., 25., 36.});
    expect("sum", Real(xt::sum(a, {0})), {3}, {5., 7., 9.});
    expect("sum of all", Real(xt::sum(a)), {}, {21.});
    expect("view", Real(xt::view(a, xt::all(), xt::range(1, 3))), {2, 2}, {2., 3., 5., 6.});
    expect("transposed", Real(xt::transpose(a)), {3, 2}, {1., 4., 2., 5., 3., 6.});

    // Elements of tensors in expressions of xtensor.
    Real const x(a, xgrad::requires_grad);
    expect("x.array() + row", Real(x.array() + row), {2, 3}, {11., 22., 33., 14., 25., 36.});
    Array const copied = x.array() * 2.;
    expect("copied", Real(copied), {2, 3}, {2., 4., 6., 8., 10., 12.});
    expect("converted", Real(Array(x.detach()) + 1.), {2, 3}, {2., 3., 4., 5., 6., 7.});

    // Expressions of xtensor assigned to elements of tensors, contiguous and not, broadcast.
    Real y = xgrad::zeros({2, 3});
    y.mutable_array() = a + 1.;
    expect("= a + 1", y, {2, 3}, {2., 3., 4., 5., 6., 7.});
    y.mutable_array() = row + 1.;
    expect("= row + 1", y, {2, 3}, {11., 21., 31., 11., 21., 31.});
    y.mutable_array() += a * 2.;
    expect("+= 2 a", y, {2, 3}, {13., 25., 37., 19., 31., 43.});
    y.mutable_array() -= row * 1.;
    expect("-= row", y, {2, 3}, {3., 5., 7., 9., 11., 13.});
    Real z = xgrad::zeros({3, 2}).mT();
    z.mutable_array() = a + 1.;
    expect("transposed = a + 1", z, {2, 3}, {2., 3., 4., 5., 6., 7.});
    z.mutable_array() = z.array() + row;
    expect("transposed = itself + row", z, {2, 3}, {12., 23., 34., 15., 26., 37.});
    z.mutable_array() *= a;
    expect("transposed *= a", z, {2, 3}, {12., 46., 102., 60., 130., 222.});
    z.mutable_array() /= a * 1.;
    expect("transposed /= a", z, {2, 3}, {12., 23., 34., 15., 26., 37.});
    z.mutable_array() = z.array();
    z.mutable_array() += 1.;
    expect("transposed += 1", z, {2, 3}, {13., 24., 35., 16., 27., 38.});

    Real loss = sum(x * x * Real(a + 1.));
    loss.backward();
    expect("gradient", x.grad(), {2, 3}, {4., 12., 24., 40., 60., 84.});

    if (faults == 0) std::printf("xtensor first: the values are right\n");
    return faults == 0 ? 0 : 1;
}
