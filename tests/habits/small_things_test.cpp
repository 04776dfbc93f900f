// Lines that programs from xtensor, NumPy and PyTorch have, and that once did not compile.
#include <limits>
#include <sstream>
#include <type_traits>

#include <doctest/doctest.h>

#include <xgrad/xtensor_functions.hpp>

#include <xtensor/xbuilder.hpp>
#include <xtensor/xrandom.hpp>

namespace xg = xgrad;

namespace {

using A = xt::xarray<double>;
using Field = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;

bool agrees(Field const& x, A const& expected) {
    return x.shape() == xg::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.detach().array(), expected);
}
Field doubled(Field const& x) { return 2. * x; }

} // namespace

TEST_CASE("a tensor is made of an expression of xtensor that has no memory") {
    Field x = xt::linspace<double>(0., 1., 5);
    CHECK(agrees(x, {0., 0.25, 0.5, 0.75, 1.}));
    A const a{1., 2.};
    Field y = 2. * a;
    CHECK(agrees(y, {2., 4.}));
    y = xt::zeros<double>({2, 2});
    CHECK(agrees(y, {{0., 0.}, {0., 0.}}));
    Field n = xt::arange(3); // whole numbers
    CHECK(agrees(n, {0., 1., 2.}));
    CHECK(agrees(doubled(xt::ones<double>({2})), {2., 2.}));
    xg::Tensor deduced = xt::linspace<float>(0.f, 1.f, 2);
    static_assert(std::is_same_v<decltype(deduced), xg::Tensor<float>>);
}

TEST_CASE("tensors like a tensor, by functions of xt::") {
    Field const x({{1., 2.}, {3., 4.}});
    CHECK(agrees(xt::zeros_like(x), {{0., 0.}, {0., 0.}}));
    CHECK(agrees(xt::ones_like(x), {{1., 1.}, {1., 1.}}));
    CHECK(agrees(xt::full_like(x, 7.), {{7., 7.}, {7., 7.}}));
    CHECK(xt::empty_like(x).shape() == x.shape());
    CHECK(agrees(xt::zeros_like(xt::view(x, 0)), {0., 0.}));
    A const a{1., 2.};
    CHECK(agrees(Field(xt::ones_like(a)), {1., 1.}));
}

TEST_CASE("the remainder has the sign of the divisor, as in Python") {
    I const i({-7, 7, -6, 6, 0}), three(3);
    CHECK(equal(I(i % 3), I({2, 1, 0, 0, 0})));
    CHECK(equal(I(i % -3), I({-1, -2, 0, 0, 0})));
    CHECK(equal(I(i % three), I({2, 1, 0, 0, 0})));
    CHECK(equal(I(10 % I({3, -3})), I({1, -2})));
    CHECK(equal(I(fmod(i, 3)), I({-1, 1, 0, 0, 0})));
    // Numbers that a double does not have, and quotients that no integer is.
    auto const least = std::numeric_limits<std::int64_t>::min();
    I const large({least, least + 1, 9007199254740993});
    CHECK(equal(I(large % 10), I({2, 3, 3})));
    CHECK(equal(I(large % -1), I({0, 0, 0})));
    CHECK(equal(I(large % 0), I({0, 0, 0})));
    // even numbers of a grid
    I const even(i(i % 2 == 0));
    CHECK(equal(even, I({-6, 6, 0})));
    I j = i.clone();
    j %= 4;
    CHECK(equal(j, I({1, 3, 2, 2, 0})));
    CHECK(equal(j.remainder_(2), I({1, 1, 0, 0, 0})));
    Field x({5.5, -5.5}, xg::requires_grad), b({2., 2.}, xg::requires_grad);
    Field const y = x % b;
    CHECK(agrees(y, {1.5, 0.5}));
    sum(y).backward();
    CHECK(agrees(x.grad(), {1., 1.}));
    CHECK(agrees(b.grad(), {-2., 3.}));
    CHECK(agrees(Field(x % A{2., 4.}).detach(), {1.5, 2.5}));
    CHECK(agrees(i % 2.5, {0.5, 2., 1.5, 1., 0.}));
}

TEST_CASE("full of a whole number") {
    auto const ones = xg::full({2}, 1);
    static_assert(std::is_same_v<decltype(ones), I const>);
    CHECK(equal(ones, I({1, 1})));
    CHECK(agrees(xg::full<double>({2}, 1), {1., 1.}));
    CHECK(agrees(xg::full({2}, 1.5), {1.5, 1.5}));
}

TEST_CASE("what sort returns is a pair that is printed") {
    Field const x({2., 3., 1.}, xg::requires_grad);
    auto const sorted = sort(x);
    CHECK(agrees(sorted.first, {1., 2., 3.}));
    CHECK(equal(sort(x).second, I({2, 0, 1})));
    CHECK(sorted.first.is_same(sorted.values));
    auto copy = sorted;
    CHECK(&copy.first == &copy.values);
    copy = sort(-x.detach());
    CHECK(agrees(copy.first, {-3., -2., -1.}));
    CHECK(agrees(sorted.first, {1., 2., 3.}));
    auto const [values, indices] = topk(x, 2);
    CHECK(agrees(values, {3., 2.}));
    CHECK(equal(indices, I({1, 0})));
    Field const median_of_rows = median(x, 0);
    CHECK(median_of_rows.item() == 2.);
    CHECK(&std::get<0>(copy) == &copy.values);
    auto& [smallest, positions] = copy;
    CHECK(&positions == &copy.indices);
    CHECK(agrees(std::get<0>(sort(x)), {1., 2., 3.}));
    Field first;
    I second;
    std::tie(first, second) = sort(x);
    CHECK(agrees(first, {1., 2., 3.}));
    std::pair<Field, I> const pair = topk(x, 2);
    CHECK(equal(pair.second, I({1, 0})));
    std::ostringstream out;
    out << sort(x.detach());
    CHECK(out.str() == "values=Tensor([1, 2, 3], shape=[3], dtype=float64),\n"
                       "indices=Tensor([2, 0, 1], shape=[3], dtype=int64)");
}
