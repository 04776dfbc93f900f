// pad in all its modes: values as PyTorch gives them, gradients of both orders, forward mode, and
// widths that do not fit.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using Z = xg::Tensor<cd>;
using I = xg::Tensor<std::int64_t>;
using M = xg::PadMode;

D counting(xg::Shape const& shape) {
    return reshape(xg::arange<double>(0, static_cast<double>(xg::numel(shape))), xg::Axes(shape));
}
D const x = counting({3, 4});

/// The square of what f makes of x, so that gradients and second derivatives depend on where
/// elements went.
template <class F> CheckResult moves(F f, xg::Shape const& shape) {
    if (auto const wrong = differentiates(function_of<double>([=](auto a) { return square(f(a)); }),
            {sample(xg::DType::float64, shape)});
        !wrong)
        return wrong;
    return differentiates(function_of<cd>([=](auto a) { return square(f(a)); }),
        {sample(xg::DType::complex128, shape)});
}

} // namespace

TEST_CASE("pad puts a constant around, from the last axis on, and takes away by negative widths") {
    CHECK(holds_exactly(
        pad(x, {1, 2}), {0, 0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 7, 0, 0, 0, 8, 9, 10, 11, 0, 0}));
    CHECK(pad(x, {1, 2, 0, 1}).shape() == xg::Shape{4, 7});
    CHECK(holds_exactly(pad(x, {1, 2, 0, 1}, M::constant, 7),
        {7, 0, 1, 2, 3, 7, 7, 7, 4, 5, 6, 7, 7, 7, 7, 8, 9, 10, 11, 7, 7, 7, 7, 7, 7, 7, 7, 7}));
    CHECK(holds_exactly(pad(x, {-1, 2, 1, -2}, M::constant, 7), {7, 7, 7, 7, 7, 1, 2, 3, 7, 7}));
    CHECK(holds_exactly(pad(transpose(x), {1, 0, -3, 0}), {0, 3, 7, 11}));
    CHECK(pad(x, {-1, -3}).shape() == xg::Shape{3, 0});
    CHECK(holds_exactly(pad(xg::zeros({0, 2}), {0, 0, 1, 1}, M::constant, 3), {3, 3, 3, 3}));
    CHECK(holds_exactly(pad(x, {}), x));
    CHECK(pad(x, {}).data() != x.data());
    CHECK(holds_exactly(pad(D(5.), {}), {5}));
    CHECK(holds_exactly(pad(I({1, 2}), {1, 1}, M::constant, -1), {-1, 1, 2, -1}));
    CHECK(holds_exactly(pad(x[0] > 1, {1, 1}, M::constant, true), {1, 0, 0, 1, 1, 1}));
    CHECK(holds_exactly(pad(Z({cd(1, 2)}), {0, 1}, M::constant, cd(3, 4)), {cd(1, 2), cd(3, 4)}));
}

TEST_CASE("pad reflects, replicates and goes round") {
    CHECK(holds_exactly(pad(x, {2, 1, 1, 2}, M::reflect),
        {6, 5, 4, 5, 6, 7, 6, 2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6, 10, 9, 8, 9, 10, 11, 10, 6,
            5, 4, 5, 6, 7, 6, 2, 1, 0, 1, 2, 3, 2}));
    CHECK(holds_exactly(pad(x, {2, 1, 1, 2}, M::replicate),
        {0, 0, 0, 1, 2, 3, 3, 0, 0, 0, 1, 2, 3, 3, 4, 4, 4, 5, 6, 7, 7, 8, 8, 8, 9, 10, 11, 11, 8,
            8, 8, 9, 10, 11, 11, 8, 8, 8, 9, 10, 11, 11}));
    CHECK(holds_exactly(pad(x, {2, 1, 1, 2}, M::circular),
        {10, 11, 8, 9, 10, 11, 8, 2, 3, 0, 1, 2, 3, 0, 6, 7, 4, 5, 6, 7, 4, 10, 11, 8, 9, 10, 11, 8,
            2, 3, 0, 1, 2, 3, 0, 6, 7, 4, 5, 6, 7, 4}));
    CHECK(holds_exactly(
        pad(x, {-1, 2}, M::reflect), {1, 2, 3, 2, 1, 5, 6, 7, 6, 5, 9, 10, 11, 10, 9}));
    CHECK(holds_exactly(
        pad(x, {-1, 2}, M::replicate), {1, 2, 3, 3, 3, 5, 6, 7, 7, 7, 9, 10, 11, 11, 11}));
    CHECK(holds_exactly(
        pad(x, {-1, 2}, M::circular), {1, 2, 3, 1, 2, 5, 6, 7, 5, 6, 9, 10, 11, 9, 10}));
    CHECK(holds_exactly(pad(x[0], {4, 4}, M::circular), {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
    CHECK(holds_exactly(pad(x[0], {0, 3}, M::reflect), {0, 1, 2, 3, 2, 1, 0}));
    CHECK(holds_exactly(pad(D({5.}), {1, 2}, M::replicate), {5, 5, 5, 5}));
    CHECK(holds_exactly(pad(I({1, 2}), {0, 1}, M::reflect), {1, 2, 1}));
    CHECK(holds_exactly(pad(x, {0, 0}, M::reflect), x));
    CHECK(pad(x, {0, 0}, M::reflect).data() != x.data());
    CHECK(pad(xg::zeros({0, 3}), {1, 1}, M::circular).shape() == xg::Shape{0, 5});
}

TEST_CASE("pad has derivatives of both orders in every mode") {
    CHECK(moves([](auto a) { return pad(a, {1, -1, 2, 0}); }, {2, 3}));
    CHECK(moves(
        [](auto a) {
            return pad(a * a, {1, 1}, M::constant, 2) * pad(a, {2, 0}, M::constant, 3);
        },
        {2, 3}));
    CHECK(moves([](auto a) { return pad(a * a, {2, 1, 1, 0}, M::reflect); }, {2, 3}));
    CHECK(moves([](auto a) { return pad(a * a, {2, 1, 1, 3}, M::replicate); }, {2, 3}));
    CHECK(moves([](auto a) { return pad(a * a, {3, -1, 1, 2}, M::circular); }, {2, 4}));
}

TEST_CASE("the value that pad adds has no tangent") {
    D const at({1., 2.}), direction({3., 4.});
    auto const [y, tangent] = xg::jvp(
        [](D const& a) {
            return pad(a, {1, 1}, M::constant, 9);
        },
        at, direction);
    CHECK(holds_exactly(y, {9, 1, 2, 9}));
    CHECK(holds_exactly(tangent, {0, 3, 4, 0}));
}

TEST_CASE("widths that do not fit are refused") {
    CHECK_THROWS_WITH_AS(pad(x, {1}),
        "pad: widths [1] are not two for each of at most 2 axes of shape [3, 4]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(pad(x, {1, 1, 1, 1, 1, 1}),
        "pad: widths [1, 1, 1, 1, 1, 1] are not two for each of at most 2 axes of shape [3, 4]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(pad(x, {-2, -3}),
        "pad: widths [-2, -3] take away more than there is in shape [3, 4], or add more than any "
        "memory holds",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(pad(x, {-5, 4}),
        "pad: widths [-5, 4] take away more than there is in shape [3, 4], or add more than any "
        "memory holds",
        xg::ShapeError);
    CHECK(has(message_of<xg::ShapeError>([] {
        pad(x, {PTRDIFF_MAX, PTRDIFF_MAX});
    }),
        {"pad", "more than any memory"}));
    CHECK(has(message_of<xg::ShapeError>([] { pad(x, {PTRDIFF_MIN, 0}); }), {"pad", "take away"}));
    CHECK_THROWS_WITH_AS(pad(x, {0, 4}, M::reflect),
        "pad: axis 1 with extent 4 cannot be reflected to 4 positions, which must be fewer",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(pad(x, {0, 0, 4, 0}, M::circular),
        "pad: axis 0 with extent 3 does not go round 4 positions, which must be no more",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(pad(xg::zeros({2, 0}), {1, 0}, M::replicate),
        "pad: axis 1 with extent 0 has nothing to be replicated", xg::ShapeError);
}
