// tile, repeat, repeat_interleave and meshgrid: values as PyTorch gives them, gradients of both
// orders, and what does not fit.
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
    if (auto const wrong = differentiates(function_of<double>([=](auto a) { return square(f(a)); }),
            {sample(xg::DType::float64, shape)});
        !wrong)
        return wrong;
    return differentiates(function_of<cd>([=](auto a) { return square(f(a)); }),
        {sample(xg::DType::complex128, shape)});
}

} // namespace

TEST_CASE("tile and repeat put copies side by side") {
    auto const x = counting({2, 2});
    CHECK(holds_exactly(tile(x, {2}), {0, 1, 0, 1, 2, 3, 2, 3}));
    CHECK(tile(x, {2}).shape() == xg::Shape{2, 4});
    CHECK(holds_exactly(repeat(x, {2, 1}), {0, 1, 2, 3, 0, 1, 2, 3}));
    CHECK(repeat(x, {2, 1, 2}).shape() == xg::Shape{2, 2, 4});
    CHECK(holds_exactly(repeat(x, {2, 1, 2}), {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
    CHECK(holds_exactly(repeat(transpose(x), {1, 2}), {0, 2, 0, 2, 1, 3, 1, 3}));
    CHECK(holds_exactly(tile(broadcast_to(D({5.}), {2, 2}), {1, 2}), {5, 5, 5, 5, 5, 5, 5, 5}));
    CHECK(holds_exactly(repeat(D(3.), {2, 2}), {3, 3, 3, 3}));
    CHECK(holds_exactly(tile(x, {}), x));
    CHECK(tile(x, {1, 1}).data() != x.data());
    CHECK(repeat(x, {0, 3}).shape() == xg::Shape{0, 6});
    CHECK(repeat(xg::zeros({2, 0}), {3, 3}).shape() == xg::Shape{6, 0});
    CHECK(holds_exactly(tile(I({1, 2}), {2}), {1, 2, 1, 2}));
    CHECK(holds_exactly(tile(x > 1, {2}), {0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST_CASE("repeat_interleave repeats positions in place") {
    auto const x = counting({2, 2});
    CHECK(holds_exactly(repeat_interleave(x, 2, 0), {0, 1, 0, 1, 2, 3, 2, 3}));
    CHECK(repeat_interleave(x, 2, 0).shape() == xg::Shape{4, 2});
    CHECK(holds_exactly(repeat_interleave(x, 2, -1), {0, 0, 1, 1, 2, 2, 3, 3}));
    CHECK(repeat_interleave(x, 2, -1).shape() == xg::Shape{2, 4});
    CHECK(holds_exactly(repeat_interleave(transpose(x), 2), {0, 0, 2, 2, 1, 1, 3, 3}));
    CHECK(holds_exactly(repeat_interleave(D(3.), 2), {3, 3}));
    CHECK(repeat_interleave(x, 0, 1).shape() == xg::Shape{2, 0});
    CHECK(holds_exactly(repeat_interleave(x, I({2, 1}), 0), {0, 1, 0, 1, 2, 3}));
    CHECK(holds_exactly(repeat_interleave(transpose(x), I({0, 3}), -1), {2, 2, 2, 3, 3, 3}));
    CHECK(repeat_interleave(x, I({0, 0}), 0).shape() == xg::Shape{0, 2});
}

TEST_CASE("meshgrid gives the coordinates of a grid, as views") {
    auto const a = counting({2}), b = counting({3});
    auto const grids = meshgrid(std::vector{a, b});
    REQUIRE(grids.size() == 2);
    CHECK(grids[0].shape() == xg::Shape{2, 3});
    CHECK(holds_exactly(grids[0], {0, 0, 0, 1, 1, 1}));
    CHECK(holds_exactly(grids[1], {0, 1, 2, 0, 1, 2}));
    CHECK(grids[1].strided_data() == b.data());
    auto const swapped = meshgrid(std::vector{a, b}, xg::Indexing::xy);
    CHECK(swapped[0].shape() == xg::Shape{3, 2});
    CHECK(holds_exactly(swapped[0], {0, 1, 0, 1, 0, 1}));
    CHECK(holds_exactly(swapped[1], {0, 0, 1, 1, 2, 2}));
    CHECK(meshgrid(std::vector{a, b, a}, xg::Indexing::xy)[2].shape() == xg::Shape{3, 2, 2});
    CHECK(holds_exactly(meshgrid(std::vector{a}, xg::Indexing::xy)[0], a));
    CHECK(holds_exactly(meshgrid(std::vector{a, D(7.)})[1], {7, 7}));
    CHECK(meshgrid(std::vector{a, xg::zeros({0})})[0].shape() == xg::Shape{2, 0});
    CHECK(meshgrid(std::vector<D>()).empty());
}

TEST_CASE("what is repeated has derivatives of both orders") {
    CHECK(moves([](auto a) { return tile(a * a, {2, 1, 3}); }, {2, 2}));
    CHECK(moves([](auto a) { return tile(a, {2}) * repeat(a * a, {1, 2}); }, {2, 3}));
    CHECK(moves([](auto a) { return repeat_interleave(a * a, 3, 0); }, {2, 2}));
    CHECK(moves([](auto a) { return repeat_interleave(a, 2); }, {2, 2}));
    CHECK(moves([](auto a) { return repeat_interleave(a * a, I({2, 0, 1}), 0); }, {3, 2}));
    CHECK(moves([](auto a) { return repeat(a, {0, 1}); }, {2, 2}));
    auto const grid = function_of<double, double>([](auto a, auto b) {
        auto const g = xg::meshgrid(std::vector{a, b});
        return D(square(g[0]) * g[1]);
    });
    CHECK(differentiates(
        grid, {sample(xg::DType::float64, {2}), sample(xg::DType::float64, {3}, 2)}));
}

TEST_CASE("what cannot be repeated says so") {
    auto const x = counting({2, 2});
    CHECK_THROWS_WITH_AS(repeat(x, {2}),
        "repeat: counts [2] are not one for each axis of shape [2, 2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(repeat_interleave(x, 2, 2),
        "repeat_interleave: axis 2 is out of range for an array with 2 dimensions, of shape [2, 2]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(repeat_interleave(D(1.), 2, 0),
        "repeat_interleave: axis 0 is out of range for an array with 0 dimensions, of shape []",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(repeat_interleave(x, I({1, 2, 3}), 0),
        "repeat_interleave: counts of shape [3] are not one for each of 2 positions along axis 0",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(repeat_interleave(x, I({1, -2}), 0),
        "repeat_interleave: count -2 is negative, or more than any memory holds", xg::ShapeError);
    CHECK(has(message_of<xg::ShapeError>([&] {
        repeat_interleave(x, I({INT64_MAX, INT64_MAX}), 0);
    }),
        {"more than any memory holds"}));
    CHECK_THROWS_WITH_AS(meshgrid(std::vector{x}),
        "meshgrid: vectors are needed, not an array of shape [2, 2]", xg::ShapeError);
    CHECK(has(message_of<xg::ShapeError>([&] {
        tile(x, {SIZE_MAX, 2});
    }),
        {"more elements than any memory"}));
}
