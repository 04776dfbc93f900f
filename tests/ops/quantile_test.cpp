// median and quantile; count_nonzero, any_of and all_of: values as PyTorch gives them, what comes
// back, and what does not fit.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using Z = xg::Tensor<cd>;
using I = xg::Tensor<std::int64_t>;
using B = xg::Tensor<bool>;

D const x({{3., 1., 2., 4.}, {0., 5., 5., NaN}});

/// The gradient of what f makes of some numbers.
template <class F> D gradient_of(F f, D a) {
    a.requires_grad_();
    D(f(a)).backward();
    return a.grad();
}

} // namespace

TEST_CASE("median along an axis gives the lower one of two, and its place") {
    auto const [values, indices] = median(x, 1);
    CHECK(holds_exactly(values, {2, NaN}));
    CHECK(holds_exactly(indices, {2, 3}));
    CHECK(holds_exactly(median(x, 0).values, {0, 1, 2, NaN}));
    CHECK(holds_exactly(median(x, 0).indices, {1, 0, 0, 1}));
    CHECK(median(x, 1, xg::keepdims).values.shape() == xg::Shape{2, 1});
    CHECK(median(x, 1, xg::keepdims).indices.shape() == xg::Shape{2, 1});
    CHECK(holds_exactly(median(transpose(x), 0).values, {2, NaN}));
    CHECK(holds_exactly(median(D({NaN, 1., NaN, 2.}), 0).indices, {0}));
    CHECK(holds_exactly(median(D({7., 3., 3., 1., 3.}), 0).indices, {2}));
    CHECK(holds_exactly(median(I({5, 1, 4}), -1).values, {4}));
    CHECK(holds_exactly(median(I({5, 1, 4}) > 3, 0).values, {1}));
    CHECK(median(xg::zeros({0, 2}), 1).values.shape() == xg::Shape{0});
    CHECK(median(xg::zeros({0, 0}), 1).values.shape() == xg::Shape{0});
    CHECK(holds_exactly(
        gradient_of([](D const& a) { return median(a, 0).values; }, D({7., 3., 3., 1.})),
        {0, 1, 0, 0}));
    CHECK(holds_exactly(
        gradient_of([](D const& a) { return median(a, 0).values; }, D({NaN, 3., NaN, 1.})),
        {1, 0, 0, 0}));
}

TEST_CASE("the median of all is shared by those that are equal") {
    CHECK(holds_exactly(median(x), {NaN}));
    CHECK(holds_exactly(median(x[0]), {2}));
    CHECK(median(x).shape() == xg::Shape{});
    CHECK(holds_exactly(median(transpose(x(xt::all(), xg::slice(0, 2)))), {1}));
    CHECK(holds_exactly(median(D(7.)), {7}));
    CHECK(holds_exactly(median(I({{4, 1}, {3, 2}})), {2}));
    CHECK(holds_exactly(median(xg::zeros({0})), {NaN}));
    CHECK(holds_exactly(gradient_of([](D const& a) { return median(a); }, D({1., 3., 3., 7., 3.})),
        {0, 1. / 3, 1. / 3, 0, 1. / 3}));
    CHECK(holds_exactly(gradient_of([](D const& a) { return median(a); }, D({NaN, 3., NaN, 7.})),
        {0.5, 0, 0.5, 0}));
    CHECK(gradient_of([](D const& a) { return median(a); }, xg::zeros({2, 0})).shape() ==
          xg::Shape{2, 0});
}

TEST_CASE("quantile goes from one element in order to the next") {
    CHECK(holds_exactly(quantile(x, 0, 1), {1, NaN}));
    CHECK(holds_exactly(quantile(x, 0.25, 1), {1.75, NaN}));
    CHECK(holds(quantile(x, 0.6, 1), {2.8, NaN}));
    CHECK(holds_exactly(quantile(x, 1, -1), {4, NaN}));
    CHECK(holds_exactly(quantile(x, 0.5, 0), {1.5, 3, 3.5, NaN}));
    CHECK(holds_exactly(quantile(transpose(x), 0.25, 0), {1.75, NaN}));
    CHECK(holds_exactly(quantile(x[0], 0.5), {2.5}));
    CHECK(holds_exactly(quantile(2. * x(xt::all(), xg::slice(0, 2)), 0.5), {4}));
    CHECK(quantile(x, 0.5, 1, xg::keepdims).shape() == xg::Shape{2, 1});
    CHECK(quantile(x, 1, 1, xg::keepdims).shape() == xg::Shape{2, 1});
    CHECK(holds_exactly(quantile(I({1, 2}), 0.5), {1.5}));
    CHECK(holds_exactly(quantile(D({-inf, 2., 3.}), 0.), {-inf}));
    CHECK(quantile(xg::zeros({0, 2}), 0.5, 1).shape() == xg::Shape{0});
    auto const several = quantile(x, std::vector{0.25, 0.5}, 1);
    CHECK(several.shape() == xg::Shape{2, 2});
    CHECK(holds_exactly(several, {1.75, NaN, 2.5, NaN}));
    CHECK(quantile(x, std::vector{0.25}, 1, xg::keepdims).shape() == xg::Shape{1, 2, 1});
    CHECK(holds_exactly(quantile(x[0], std::vector{0., 1.}), {1, 4}));
    CHECK(quantile(xg::ones<float>({3}), 0.3).dtype() == xg::DType::float32);
    CHECK(holds(gradient_of([](D const& a) { return quantile(a, 0.6); }, D({7., 3., 1., 2.})),
        {0, 0.8, 0, 0.2}));
    CHECK(holds_exactly(
        gradient_of([](D const& a) { return quantile(a, 1); }, D({7., 3., 1., 2.})), {1, 0, 0, 0}));
    CHECK(holds_exactly(
        gradient_of([](D const& a) { return quantile(a, 0.5); }, D({7., NaN, 1., 2.})),
        {0, 1, 0, 0}));
}

TEST_CASE("quantile between numbers that lie far apart, or are infinite") {
    double const inf = INFINITY, largest = std::numeric_limits<double>::max();
    CHECK(holds_exactly(quantile(xg::Tensor<double>({-largest, largest}), 0.5), {0}));
    CHECK(holds_exactly(quantile(xg::Tensor<double>({-inf, 1.}), 0.25), {-inf}));
    CHECK(holds_exactly(quantile(xg::Tensor<double>({inf, inf}), 0.5), {inf}));
    CHECK(holds_exactly(quantile(xg::Tensor<double>({0.1, 0.1}), 0.3), {0.1}));
    xg::Tensor<double> x({-largest, largest}, xg::requires_grad);
    CHECK(holds(xg::grad(quantile(x, 0.25), x), {0.75, 0.25}));
}

TEST_CASE("median and quantile have derivatives of both orders") {
    auto const at = sample(xg::DType::float64, {3, 4});
    CHECK(
        differentiates(function_of<double>([](auto a) { return median(a * a, 1).values; }), {at}));
    CHECK(differentiates(function_of<double>([](auto a) { return a * median(a * a * a); }), {at}));
    CHECK(
        differentiates(function_of<double>([](auto a) { return quantile(a * a, 0.3, 0); }), {at}));
    CHECK(differentiates(function_of<double>([](auto a) {
        return a * quantile(a * a * a, std::vector{0.3, 0.5, 1.}, 1, xg::keepdims);
    }),
        {at}));
}

TEST_CASE("count_nonzero, any_of and all_of look at masks and numbers") {
    B const m({{true, false, true}, {false, false, true}});
    CHECK(holds_exactly(count_nonzero(m), {3}));
    CHECK(holds_exactly(count_nonzero(m, {1}), {2, 1}));
    CHECK(holds_exactly(count_nonzero(D({0., -0., NaN, 2.})), {2}));
    CHECK(holds_exactly(count_nonzero(Z({cd(0, 1), cd(0, 0)})), {1}));
    CHECK(holds_exactly(count_nonzero(I({{0, 1}, {2, 3}}), {0}, xg::keepdims), {1, 2}));
    CHECK(count_nonzero(m).dtype() == xg::DType::int64);
    CHECK(holds_exactly(any_of(m, {0}), {1, 0, 1}));
    CHECK(holds_exactly(all_of(m, {0}), {0, 0, 1}));
    CHECK(holds_exactly(any_of(transpose(m), {1}), {1, 0, 1}));
    CHECK(all_of(m, {0, 1}, xg::keepdims).shape() == xg::Shape{1, 1});
    CHECK(any_of(m).item());
    CHECK_FALSE(all_of(m).item());
    CHECK(all_of(x(0) > 0).item());
    CHECK_FALSE(any_of(x(0) > 4).item());
    CHECK(any_of(D({NaN, 0.})).item());
    CHECK_FALSE(all_of(D({NaN, 0.})).item());
    CHECK(any_of(m).dtype() == xg::DType::boolean);
    CHECK(holds_exactly(any_of(xg::zeros({2, 0}), {1}), {0, 0}));
    CHECK(holds_exactly(all_of(xg::zeros({2, 0}), {1}), {1, 1}));
    CHECK_FALSE(count_nonzero(D({1.}, xg::requires_grad)).requires_grad());
}

TEST_CASE("what cannot be chosen or counted says so") {
    CHECK_THROWS_WITH_AS(median(x, 2),
        "median: axis 2 is out of range for an array with 2 dimensions, of shape [2, 4]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(median(xg::zeros({2, 0}), 1),
        "median: nothing to choose from in shape [2, 0] along axis 1", xg::ShapeError);
    CHECK_THROWS_WITH_AS(median(xg::zeros<std::int64_t>({0})),
        "median: nothing to choose from in shape [0]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(quantile(x, 0.5, -3),
        "quantile: axis -3 is out of range for an array with 2 dimensions, of shape [2, 4]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(
        quantile(x, 1.5, 1), "quantile: q must lie between 0 and 1, and is 1.5", xg::Error);
    for (double const q : {NaN, -NaN})
        CHECK_THROWS_WITH_AS(
            quantile(x, q), "quantile: q must lie between 0 and 1, and is nan", xg::Error);
    CHECK_THROWS_WITH_AS(quantile(xg::zeros({2, 0}), 0.5, 1),
        "quantile: nothing to choose from in shape [2, 0] along axis 1", xg::ShapeError);
    CHECK_THROWS_WITH_AS(count_nonzero(x, {2}),
        "count_nonzero: axis 2 is out of range for an array with 2 dimensions, of shape [2, 4]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(any_of(x, {0, 0}),
        "any_of: an axis is given twice in [0, 0] of shape [2, 4]", xg::IndexError);
    CHECK_THROWS_WITH_AS(all_of(x, {-3}),
        "all_of: axis -3 is out of range for an array with 2 dimensions, of shape [2, 4]",
        xg::IndexError);
}

TEST_CASE("a percentage lies between 0 and 100") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    for (double const percent : {-1., 100.5, std::nan("")}) {
        CHECK_THROWS_WITH_AS(percentile(x, percent),
            percent > 100 ? "percentile: the percentage must be at most 100, and is 100.5"
            : percent < 0 ? "percentile: the percentage must be at least 0, and is -1"
                          : "percentile: the percentage must be at least 0, and is nan",
            xg::Error);
        CHECK_THROWS_AS(percentile(x, percent, 0), xg::Error);
    }
    CHECK(percentile(x, 100.).item() == 6);
    CHECK(percentile(x, 0., 1).shape() == xg::Shape{2});
    CHECK_THROWS_WITH_AS(
        repeat_interleave(x, -2, 0), doctest::Contains("2 * -2 would be negative"), xg::ShapeError);
}
