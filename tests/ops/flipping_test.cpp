// flip, roll and fftshift: where elements go, gradients of both orders, and what does not fit. The
// wanted numbers are PyTorch's.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;

D counting(xg::Shape const& shape) {
    return reshape(xg::arange<double>(0, static_cast<double>(xg::numel(shape))), xg::Axes(shape));
}

/// The square of what f makes of x, so that gradients and second derivatives depend on where
/// elements went.
template <class F> CheckResult moves(F f, xg::Shape const& shape) {
    if (auto const wrong = differentiates(function_of<double>([=](auto x) { return square(f(x)); }),
            {sample(xg::DType::float64, shape)});
        !wrong)
        return wrong;
    return differentiates(function_of<cd>([=](auto x) { return square(f(x)); }),
        {sample(xg::DType::complex128, shape)});
}

/// What a move of elements of shape [2, 3, 4] does to them: element i of the result is element
/// at(i0, i1, i2) of what was.
template <class At> std::vector<double> moved(At at) {
    std::vector<double> all;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k) all.push_back(at(i, j, k));
    return all;
}
double place(int i, int j, int k) { return i * 12 + j * 4 + k; }

} // namespace

TEST_CASE("flip reverses the axes that it is given") {
    auto const x = counting({2, 3, 4});
    CHECK(
        holds_exactly(flip(x, {0}), moved([](int i, int j, int k) { return place(1 - i, j, k); })));
    CHECK(holds_exactly(
        flip(x, {-1}), moved([](int i, int j, int k) { return place(i, j, 3 - k); })));
    CHECK(holds_exactly(
        flip(x, {2, 1, 0}), moved([](int i, int j, int k) { return place(1 - i, 2 - j, 3 - k); })));
    CHECK(holds_exactly(flip(x, {}), x));
    CHECK(flip(x, {}).data() != x.data());
    CHECK(holds_exactly(flip(transpose(counting({2, 3})), {0}), {2, 5, 1, 4, 0, 3}));
    CHECK(holds_exactly(
        flip(transpose(counting({16, 12})), {0})[11], D(counting({16, 12}))(xt::all(), 0)));
    CHECK(holds_exactly(flip(I({1, 2, 3}), {0}), {3, 2, 1}));
    CHECK(holds_exactly(flip(counting({3}) > 1, {0}), {1, 0, 0}));
    CHECK(holds_exactly(flip(D(7.), {}), {7}));
    CHECK(flip(xg::zeros({2, 0, 3}), {0, 1}).shape() == xg::Shape{2, 0, 3});
    CHECK(moves([](auto a) { return flip(a, {0, -1}); }, {2, 3, 2}));
    CHECK(moves([](auto a) { return flip(a * a, {1}) * a; }, {2, 3}));
}

TEST_CASE("roll moves elements on, around, and back") {
    auto const x = counting({2, 3, 4});
    CHECK(holds_exactly(
        roll(x, 1, 2), moved([](int i, int j, int k) { return place(i, j, (k + 3) % 4); })));
    CHECK(holds_exactly(
        roll(x, -1, -2), moved([](int i, int j, int k) { return place(i, (j + 1) % 3, k); })));
    CHECK(holds_exactly(roll(x, {1, -5, 2}, {0, 1, -1}),
        moved([](int i, int j, int k) { return place((i + 1) % 2, (j + 5) % 3, (k + 2) % 4); })));
    CHECK(holds_exactly(roll(x, 5),
        moved([](int i, int j, int k) { return static_cast<int>(place(i, j, k) + 19) % 24; })));
    CHECK(roll(x, 5).shape() == x.shape());
    CHECK(holds_exactly(roll(x, -24), x));
    CHECK(holds_exactly(roll(transpose(counting({2, 3})), 1, 0), {2, 5, 0, 3, 1, 4}));
    CHECK(holds_exactly(roll(transpose(counting({2, 3})), 1), {5, 0, 3, 1, 4, 2}));
    CHECK(holds_exactly(roll(I({1, 2, 3}), 4), {3, 1, 2}));
    CHECK(holds_exactly(roll(D(7.), 3), {7}));
    CHECK(roll(xg::zeros({2, 0}), 3, 1).shape() == xg::Shape{2, 0});
    CHECK(roll(xg::zeros({0}), 3).shape() == xg::Shape{0});
    CHECK(moves([](auto a) { return roll(a, {1, -1}, {2, 1}); }, {2, 3, 4}));
    CHECK(moves([](auto a) { return roll(a * a, 2) * a; }, {2, 3}));
}

TEST_CASE("fftshift puts frequency 0 in the middle, and ifftshift puts it back") {
    for (std::size_t n = 1; n < 8; ++n) {
        INFO("extent " << n);
        auto const frequencies = fftshift(xg::fftfreq(n));
        for (std::size_t i = 0; i < n; ++i)
            CHECK(holds(frequencies(i),
                {(static_cast<double>(i) - static_cast<double>(n / 2)) / static_cast<double>(n)}));
        CHECK(holds_exactly(ifftshift(frequencies), xg::fftfreq(n)));
    }
    auto const x = counting({3, 4});
    CHECK(holds_exactly(fftshift(x), {10, 11, 8, 9, 2, 3, 0, 1, 6, 7, 4, 5}));
    CHECK(holds_exactly(ifftshift(fftshift(x)), x));
    CHECK(holds_exactly(fftshift(x, {0}), {8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}));
    CHECK(holds_exactly(ifftshift(x, {-2}), {4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3}));
    CHECK(moves([](auto a) { return fftshift(a * a) * ifftshift(a, {1}); }, {3, 5}));
}

TEST_CASE("fftfreq and rfftfreq are the frequencies of fft and rfft") {
    CHECK(holds(xg::fftfreq(5, 0.5), {0, 0.4, 0.8, -0.8, -0.4}));
    CHECK(holds(xg::fftfreq(4), {0, 0.25, -0.5, -0.25}));
    CHECK(holds(xg::rfftfreq(5, 0.5), {0, 0.4, 0.8}));
    CHECK(holds(xg::rfftfreq(4), {0, 0.25, 0.5}));
    CHECK(holds_exactly(xg::rfftfreq(1), {0}));
    CHECK(xg::fftfreq<float>(8, 0.1)(1).item() == 1.25f);
}

TEST_CASE("what cannot be flipped or rolled says so") {
    auto const x = counting({2, 3});
    CHECK_THROWS_WITH_AS(flip(x, {2}),
        "flip: axis 2 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(
        flip(x, {0, -2}), "flip: an axis is given twice in [0, 0] of shape [2, 3]", xg::IndexError);
    CHECK_THROWS_WITH_AS(roll(x, 1, -3),
        "roll: axis -3 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(roll(x, {1, 2}, {1, 1}),
        "roll: an axis is given twice in [1, 1] of shape [2, 3]", xg::IndexError);
    CHECK_THROWS_WITH_AS(roll(x, {1, 2}, {1}),
        "roll: shifts [1, 2] are not one for each of the axes [1]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(fftshift(x, {2}),
        "fftshift: axis 2 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(ifftshift(x, {1, 1}),
        "ifftshift: an axis is given twice in [1, 1] of shape [2, 3]", xg::IndexError);
    CHECK_THROWS_WITH_AS(
        xg::fftfreq(0), "fftfreq: a transform needs at least one point", xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        xg::rfftfreq(0), "rfftfreq: a transform needs at least one point", xg::ShapeError);
}
