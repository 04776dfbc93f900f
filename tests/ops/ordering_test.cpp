// argmax and argmin, argsort, sort and topk, cumsum, var and stddev: what they give, what comes
// back, and what does not fit.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;

double const not_a_number = std::numeric_limits<double>::quiet_NaN();
D const x({{3., 1., 2.}, {0., 5., 5.}});

template <class T> Point point(xg::Shape const& shape) { return {sample(xg::dtype_of<T>, shape)}; }

} // namespace

TEST_CASE("argmax and argmin name the first of equal elements, and NaN before all others") {
    CHECK(holds_exactly(argmax(x, 1), {0, 1}));
    CHECK(holds_exactly(argmax(x, 0), {0, 1, 1}));
    CHECK(holds_exactly(argmin(x, -1), {1, 0}));
    CHECK(argmax(x, 0, xg::keepdims).shape() == xg::Shape{1, 3});
    CHECK(holds_exactly(argmax(x), {4}));
    CHECK(argmax(x).shape() == xg::Shape{});
    CHECK(holds_exactly(argmin(transpose(x)), {1}));
    CHECK(holds_exactly(argmax(-x, 1), {1, 0}));
    CHECK(holds_exactly(argmax(D({1., not_a_number, 7., not_a_number}), 0), {1}));
    CHECK(holds_exactly(argmin(D({1., not_a_number, -7., not_a_number}), 0), {1}));
    CHECK(holds_exactly(argmax(I({4, 9, 9}), 0), {1}));
    CHECK(holds_exactly(argmax(x > 2, 1), {0, 1}));
    CHECK(argmax(xg::zeros({0, 3}), 1).shape() == xg::Shape{0});
}

TEST_CASE("argsort keeps the order of equal elements, and puts NaN where it is largest") {
    CHECK(holds_exactly(argsort(x), {1, 2, 0, 0, 1, 2}));
    CHECK(holds_exactly(argsort(x, 1, true), {0, 2, 1, 1, 2, 0}));
    CHECK(holds_exactly(argsort(x, 0), {1, 0, 0, 0, 1, 1}));
    CHECK(holds_exactly(argsort(D({not_a_number, 1., not_a_number, 0.})), {3, 1, 0, 2}));
    CHECK(holds_exactly(argsort(D({not_a_number, 1., not_a_number, 0.}), 0, true), {0, 2, 1, 3}));
    CHECK(argsort(xg::zeros({2, 0})).shape() == xg::Shape{2, 0});
}

TEST_CASE("sort and topk give elements and their places") {
    auto const [values, places] = sort(x, 1);
    CHECK(holds_exactly(values, {1, 2, 3, 0, 5, 5}));
    CHECK(holds_exactly(places, {1, 2, 0, 0, 1, 2}));
    CHECK(holds_exactly(sort(x, 0, true).values, {3, 5, 5, 0, 1, 2}));
    CHECK(holds_exactly(sort(transpose(x), 0).values, {1, 0, 2, 5, 3, 5}));
    auto const [largest, at] = topk(x, 2);
    CHECK(holds_exactly(largest, {3, 2, 5, 5}));
    CHECK(holds_exactly(at, {0, 2, 1, 2}));
    CHECK(holds_exactly(topk(x, 1, 0, false).values, {0, 1, 2}));
    CHECK(holds_exactly(topk(2. * x, 3, 1, false).values, {2, 4, 6, 0, 10, 10}));
    CHECK(topk(x, 0).values.shape() == xg::Shape{2, 0});
    CHECK(holds_exactly(sort(I({3, 1, 2})).values, {1, 2, 3}));
}

TEST_CASE("beside a tensor, what sort returns is its values") {
    D const row({3., 1., 2.}, xg::requires_grad);
    D const y = sort(row) * row, z = row - sort(row, 0, true);
    CHECK(holds_exactly(y, {3, 2, 6}));
    CHECK(holds_exactly(z, {0, -1, 1}));
    sum(y).backward(); // row(i) stands in y(i), and in that of its rank
    CHECK(holds_exactly(row.grad(), {1 + 2, 2 + 3, 3 + 1}));
    D sum_of_both({10., 20., 30.});
    sum_of_both += topk(row.detach(), 3);
    CHECK(holds_exactly(sum_of_both, {13, 22, 31}));
    CHECK(holds_exactly(where(row > 1.5, sort(row), 0.), {1, 0, 3}));
}

TEST_CASE("names for the parts of what sort returns change it, and those of a copy do not") {
    auto s = sort(D({3., 1., 2.}));
    auto [w, j] = s;
    w = w * 2.;
    CHECK(holds_exactly(s.values, {1, 2, 3}));
    auto& [v, i] = s;
    v = v * 10.;
    i = i + 1;
    CHECK(holds_exactly(s.values, {10, 20, 30}));
    CHECK(holds_exactly(s.first, {10, 20, 30}));
    CHECK(holds_exactly(s.indices, {2, 3, 1}));
    auto const& [values, places] = s;
    CHECK(&values == &s.values);
    CHECK(&places == &s.second);
    CHECK(holds_exactly(sort(D({2., 1.})).get<0>(), {1, 2}));
    static_cast<void>(j);
}

TEST_CASE("cumsum adds up along an axis") {
    CHECK(holds_exactly(cumsum(x, 1), {3, 4, 6, 0, 5, 10}));
    CHECK(holds_exactly(cumsum(x, 0), {3, 1, 2, 3, 6, 7}));
    CHECK(holds_exactly(cumsum(transpose(x), 0), {3, 0, 4, 5, 6, 10}));
    CHECK(holds_exactly(cumsum(x > 1, -1), {1, 1, 2, 0, 1, 2}));
    CHECK(holds_exactly(
        cumsum(reshape(xg::arange<double>(0, 8), {2, 2, 2}), 1), {0, 1, 2, 4, 4, 5, 10, 12}));
    CHECK(cumsum(xg::zeros({0, 2}), 0).shape() == xg::Shape{0, 2});
    xg::Tensor<float> const many =
        cumsum(xg::ones<float>({1 << 25}), 0); // counted by ones in float, it would stop at 2^24
    CHECK(many(-1).item() == 1 << 25);
}

TEST_CASE("var and stddev of all and some axes") {
    CHECK(holds(var(x), {64. / 15}));
    CHECK(holds(var(x, {1}), {1, 25. / 3}));
    CHECK(holds(var(x, {0}, false, 0), {2.25, 4, 2.25}));
    CHECK(var(x, {0}, xg::keepdims).shape() == xg::Shape{1, 3});
    CHECK(holds(stddev(x, {1}), {1, 5 / std::sqrt(3.)}));
    CHECK(holds(stddev(x + 1e8), {8 / std::sqrt(15.)}, 1e-7));
    CHECK(holds(var(xg::complex(x, 2. * x)), {64. / 3}));
    CHECK(holds(var(I({1, 2, 3, 4})), {5. / 3}));
    CHECK(std::isnan(var(D({2.})).item()));
    D constant({2., 2.}, xg::requires_grad);
    stddev(constant).backward();
    CHECK(holds_exactly(constant.grad(), {0, 0}));
}

TEST_CASE("what is in order, added up or spread has first and second derivatives") {
    auto const check = [&]<class T>(std::type_identity<T>) {
        CHECK(differentiates(function_of<T>([](auto a) { return cumsum(a * a, 1) * cumsum(a, 0); }),
            point<T>({2, 3})));
        CHECK(differentiates(function_of<T>([](auto a) { return a * var(a, {1}, xg::keepdims); }),
            point<T>({2, 3})));
        CHECK(differentiates(
            function_of<T>([](auto a) { return a * stddev(a, {0}); }), point<T>({3, 2})));
    };
    check(std::type_identity<double>());
    check(std::type_identity<std::complex<double>>());
    CHECK(differentiates(function_of<double>([](auto a) { return sort(a * a, 1).values * a; }),
        point<double>({2, 3})));
    CHECK(differentiates(
        function_of<double>([](auto a) { return topk(a * a * a, 2, 0, false).values; }),
        point<double>({4, 2})));
}

TEST_CASE("what cannot be ordered says so") {
    CHECK_THROWS_WITH_AS(argmax(x, 2),
        "argmax: axis 2 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(argmin(xg::zeros({2, 0}), 1),
        "argmin: nothing to choose from in shape [2, 0] along axis 1", xg::ShapeError);
    CHECK_THROWS_WITH_AS(argmax(xg::zeros({0})),
        "argmax: nothing to choose from in shape [0] along axis 0", xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        topk(x, 4), "topk: 4 elements were asked for along axis 1 of shape [2, 3]", xg::IndexError);
    CHECK_THROWS_WITH_AS(sort(D(1.)),
        "sort: axis -1 is out of range for an array with 0 dimensions, of shape []",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(cumsum(x, -3),
        "cumsum: axis -3 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(var(x, {2}),
        "var: axis 2 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
}
