// A test of the checks that all other tests use: they must report a rule that is wrong by one
// permille, or NaN.
#include <doctest/doctest.h>

#include <support/implementation.hpp>

namespace {

constexpr double permille = 1e-3;

/// sin, with a gradient too large by one permille.
struct LargeGradient : xgrad::Elementwise<xgrad::R(xgrad::R), xgrad::C(xgrad::C)> {
    auto value(auto x) const { return sin(x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return (1 + permille) * cos(x); }
};

/// x * y, whose second gradient is conjugated where it must not be.
struct Unconjugated : xgrad::Elementwise<xgrad::C(xgrad::C, xgrad::C)> {
    auto value(auto x, auto y) const { return x * y; }
    auto partial(xgrad::wrt<0>, auto, auto, auto y) const { return y; }
    auto partial(xgrad::wrt<1>, auto, auto x, auto) const { return conj(x); }
};

/// The same number, with a derivative too large by one permille: what makes a second derivative
/// wrong.
struct Slip : xgrad::Elementwise<xgrad::R(xgrad::R), xgrad::C(xgrad::C)> {
    auto value(auto x) const { return x; }
    auto partial(xgrad::wrt<0>, auto, auto) const { return 1 + permille; }
};
auto slip(auto x) { return x; }
template <class Pack> auto slip(xgrad::Dual<Pack> x) { return xgrad::detail::on_duals(Slip{}, x); }

/// sin, with a right gradient and a wrong second derivative.
struct LargeSecond : xgrad::Elementwise<xgrad::R(xgrad::R), xgrad::C(xgrad::C)> {
    auto value(auto x) const { return sin(x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return slip(cos(x)); }
};

/// A gradient that is NaN for positive numbers.
struct NanGradient : xgrad::Elementwise<xgrad::R(xgrad::R)> {
    auto value(auto x) const { return sin(x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return where(x > 0, 0 * (x / 0), cos(x)); }
};

/// Right on numbers; on dual numbers it is a quarter too large.
auto stretched(auto x) { return x; }
template <class Pack> auto stretched(xgrad::Dual<Pack> x) { return 1.25 * x; }
struct WrongOnDuals : xgrad::Elementwise<xgrad::R(xgrad::R)> {
    auto value(auto x) const { return sin(x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return stretched(cos(x)); }
};

} // namespace

using namespace support;

static Point reals() { return {sample(xg::DType::float64, {2, 3})}; }
static Point complexes() { return {sample(xg::DType::complex128, {2, 3})}; }

TEST_CASE("the tester accepts a right rule") {
    CHECK(differentiates(function_of<double>([](auto x) { return sin(x); }), reals()));
    CHECK(differentiates(function_of<cd>([](auto x) { return sin(x); }), complexes()));
}

TEST_CASE("the tester catches a gradient that is wrong by one permille") {
    CHECK(has(differentiates(
                  function_of<double>([](auto x) { return xg::apply<LargeGradient>(x); }), reals())
                  .wrong,
        {"the gradient for argument 0"}));
    CHECK(has(differentiates(
                  function_of<cd>([](auto x) { return xg::apply<LargeGradient>(x); }), complexes())
                  .wrong,
        {"the gradient for argument 0"}));
}

TEST_CASE("the tester catches a second derivative that is wrong by one permille though the first "
          "is right") {
    CHECK(has(differentiates(
                  function_of<double>([](auto x) { return xg::apply<LargeSecond>(x); }), reals())
                  .wrong,
        {"the second derivative for argument 0"}));
    CHECK(has(differentiates(
                  function_of<cd>([](auto x) { return xg::apply<LargeSecond>(x); }), complexes())
                  .wrong,
        {"the second derivative for argument 0"}));
}

TEST_CASE("the tester catches one wrong argument of two") {
    Point const at{sample(xg::DType::complex128, {3}, 1), sample(xg::DType::complex128, {3}, 2)};
    CHECK(has(
        differentiates(
            function_of<cd, cd>([](auto x, auto y) { return xg::apply<Unconjugated>(x, y); }), at)
            .wrong,
        {"the gradient for argument 1"}));
}

TEST_CASE("the tester catches NaN in a gradient and in a value") {
    CHECK(has(differentiates(
                  function_of<double>([](auto x) { return xg::apply<NanGradient>(x); }), reals())
                  .wrong,
        {"the gradient", "nan"}));
    CHECK(has(differentiates(function_of<double>([](auto x) { return sqrt(x); }), reals()).wrong,
        {"the gradient", "nan"}));
}

TEST_CASE("the tester catches a rule that means something else on dual numbers than on numbers") {
    CHECK(has(differentiates(
                  function_of<double>([](auto x) { return xg::apply<WrongOnDuals>(x); }), reals())
                  .wrong,
        {"the second derivative"}));
}

TEST_CASE("the comparison with double catches a wrong value, gradient and second derivative") {
    auto const right = function_of<float>([](auto x) { return sin(x); });
    Point const at{sample(xg::DType::float32, {2, 3})};
    CHECK(agrees_with_double(right, function_of<double>([](auto x) { return sin(x); }), at));
    CHECK(has(
        agrees_with_double(right, function_of<double>([](auto x) { return 1.001 * sin(x); }), at)
            .wrong,
        {"the value"}));
    CHECK(has(agrees_with_double(right,
                  function_of<double>([](auto x) { return xg::apply<LargeGradient>(x); }), at)
                  .wrong,
        {"the gradient"}));
    CHECK(has(agrees_with_double(
                  right, function_of<double>([](auto x) { return xg::apply<LargeSecond>(x); }), at)
                  .wrong,
        {"the second derivative"}));
}

TEST_CASE("numbers are close only where they are: NaN and infinities are told apart") {
    CHECK(holds({1, NaN, inf}, {1 + 1e-13, NaN, inf}));
    CHECK(holds({cd(1e20)}, {1e20 + 1e7}));
    CHECK_FALSE(holds({1}, {1 + 1e-11}));
    CHECK_FALSE(holds({1}, {NaN}));
    CHECK_FALSE(holds({NaN}, {1}));
    CHECK_FALSE(holds({inf}, {-inf}));
    CHECK_FALSE(holds({inf}, {1}));
    CHECK_FALSE(holds({cd(1, NaN)}, {cd(1, 0)}));
    CHECK_FALSE(holds({1, 2}, {1}));
    CHECK_FALSE(holds(xg::AnyTensor(), {1}));
    CHECK_FALSE(holds_exactly(xg::Tensor<double>(1.0), {1 + 1e-15}));
}

TEST_CASE("a strided sample has the same elements in another layout") {
    auto const v = sample(xg::DType::complex64, {2, 3, 2});
    auto const t = strided_leaf(v);
    CHECK(t.shape() == v.shape);
    CHECK_FALSE(t.is_contiguous());
    CHECK(holds(t, v.numbers));
    CHECK(holds(
        strided_leaf(sample(xg::DType::float64, {})), sample(xg::DType::float64, {}).numbers));
}
