// tril and triu, diag_embed, diag and trace: values as PyTorch gives them, gradients of both
// orders, and what does not fit.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using Z = xg::Tensor<cd>;
using I = xg::Tensor<std::int64_t>;

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

TEST_CASE("tril and triu keep what is on one side of a diagonal") {
    CHECK(holds_exactly(tril(x), {0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0}));
    CHECK(holds_exactly(triu(x), {0, 1, 2, 3, 0, 5, 6, 7, 0, 0, 10, 11}));
    CHECK(holds_exactly(tril(x, -1), {0, 0, 0, 0, 4, 0, 0, 0, 8, 9, 0, 0}));
    CHECK(holds_exactly(triu(x, -1), {0, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11}));
    CHECK(holds_exactly(tril(x, 2), {0, 1, 2, 0, 4, 5, 6, 7, 8, 9, 10, 11}));
    CHECK(holds_exactly(triu(x, 2), {0, 0, 2, 3, 0, 0, 0, 7, 0, 0, 0, 0}));
    CHECK(holds_exactly(triu(transpose(x)), {0, 4, 8, 0, 5, 9, 0, 0, 10, 0, 0, 0}));
    CHECK(holds_exactly(tril(counting({2, 2, 2})), {0, 0, 2, 3, 4, 0, 6, 7}));
    CHECK(holds_exactly(tril(x, PTRDIFF_MAX), x));
    CHECK(holds_exactly(triu(x, PTRDIFF_MIN), x));
    CHECK(holds_exactly(triu(x, 4), zeros_like(x)));
    CHECK(holds_exactly(tril(I({{1, 2}, {3, 4}})), {1, 0, 3, 4}));
    CHECK(holds_exactly(triu(x > 4, 1), {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1}));
    CHECK(holds_exactly(tril(D({{NaN, inf}, {inf, NaN}})), {NaN, 0, inf, NaN}));
    CHECK(tril(xg::zeros({0, 3})).shape() == xg::Shape{0, 3});
    CHECK(triu(xg::zeros({2, 3, 0})).shape() == xg::Shape{2, 3, 0});
}

TEST_CASE("diag_embed makes matrices of a diagonal") {
    D const rows({{1., 2.}, {3., 4.}});
    CHECK(diag_embed(rows).shape() == xg::Shape{2, 2, 2});
    CHECK(holds_exactly(diag_embed(rows), {1, 0, 0, 2, 3, 0, 0, 4}));
    CHECK(
        holds_exactly(diag_embed(rows, 1), {0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}));
    CHECK(holds_exactly(
        diag_embed(rows, -1), {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0}));
    CHECK(holds_exactly(diag_embed(transpose(rows)), {1, 0, 0, 3, 2, 0, 0, 4}));
    CHECK(holds_exactly(diag_embed(xg::zeros({0}), 2), {0, 0, 0, 0}));
    CHECK(diag_embed(xg::zeros({3, 0})).shape() == xg::Shape{3, 0, 0});
}

TEST_CASE("diag makes a matrix of a vector, and takes the diagonal of a matrix") {
    CHECK(holds_exactly(diag(D({1., 2.})), {1, 0, 0, 2}));
    CHECK(holds_exactly(diag(D({1.}), -1), {0, 0, 1, 0}));
    CHECK(holds_exactly(diag(x), {0, 5, 10}));
    CHECK(holds_exactly(diag(x, 2), {2, 7}));
    CHECK(holds_exactly(diag(transpose(x), 1), {4, 9}));
    CHECK(holds_exactly(diag(2. * x, -2), {16}));
    CHECK(diag(x, 9).shape() == xg::Shape{0});
    CHECK(diag(x).data() != x.data());
    CHECK(holds_exactly(diag(I({1, 2})), {1, 0, 0, 2}));
}

TEST_CASE("trace is the sum of the diagonal") {
    CHECK(holds_exactly(trace(x), {15}));
    CHECK(trace(x).shape() == xg::Shape{});
    CHECK(holds_exactly(trace(transpose(x)), {15}));
    CHECK(holds_exactly(trace(Z({{cd(1, 2), 5}, {7, cd(3, -5)}})), {cd(4, -3)}));
    CHECK(holds_exactly(trace(I({{1, 2}, {3, 4}})), {5}));
    CHECK(holds_exactly(trace(x > 4), {2}));
    CHECK(holds_exactly(trace(xg::zeros({0, 3})), {0}));
}

TEST_CASE("triangles and diagonals have derivatives of both orders") {
    CHECK(moves([](auto a) { return tril(a * a) * triu(a, -1); }, {2, 3, 3}));
    CHECK(moves([](auto a) { return triu(a, 1); }, {3, 4}));
    CHECK(moves([](auto a) { return diag_embed(a * a, -1); }, {2, 2}));
    CHECK(moves([](auto a) { return diag(a * a) * trace(a); }, {3, 2}));
    CHECK(moves([](auto a) { return diag(a, 1); }, {2}));
}

TEST_CASE("what has no diagonal is refused") {
    D const v({1., 2.}), cube = counting({2, 2, 2});
    CHECK_THROWS_WITH_AS(
        tril(v), "tril: a matrix is needed, or several, not an array of shape [2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(triu(D(1.)),
        "triu: a matrix is needed, or several, not an array of shape []", xg::ShapeError);
    CHECK_THROWS_WITH_AS(diag_embed(D(1.)),
        "diag_embed: a number has no axis that could be a diagonal", xg::ShapeError);
    CHECK(has(message_of<xg::ShapeError>([&] { diag_embed(v, PTRDIFF_MIN); }),
        {"diag_embed", "more elements than any memory"}));
    CHECK(has(message_of<xg::ShapeError>([&] { diag_embed(v, std::ptrdiff_t{1} << 40); }),
        {"more elements than any memory"}));
    CHECK_THROWS_WITH_AS(diag(cube),
        "diag: a vector or a matrix is needed, not an array of shape [2, 2, 2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(diag(D(1.)),
        "diag: a vector or a matrix is needed, not an array of shape []", xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        trace(cube), "trace: a matrix is needed, not an array of shape [2, 2, 2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        trace(v), "trace: a matrix is needed, not an array of shape [2]", xg::ShapeError);
}
