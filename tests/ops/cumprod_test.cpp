// cumprod and logcumsumexp: values, gradients of any order with zeros among the factors, and the
// recurrence behind them.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using Z = xg::Tensor<cd>;
using I = xg::Tensor<std::int64_t>;

D const x({{3., 1., 2.}, {0., 5., 5.}});

/// Some numbers with zeros at some places.
Values with_zeros(
    xg::DType dtype, xg::Shape const& shape, std::initializer_list<std::size_t> zeros) {
    auto v = sample(dtype, shape);
    for (auto const i : zeros) v.numbers[i] = 0;
    return v;
}

/// The same products, one after another.
template <class T> T multiplied(T const& a) {
    std::vector<T> products;
    for (auto const& factor : a.unbind(0))
        products.push_back(products.empty() ? factor.clone() : T(products.back() * factor));
    return xg::stack(products);
}

} // namespace

TEST_CASE("cumprod multiplies along an axis") {
    CHECK(holds_exactly(cumprod(x, 1), {3, 3, 6, 0, 0, 0}));
    CHECK(holds_exactly(cumprod(x, 0), {3, 1, 2, 0, 5, 10}));
    CHECK(holds_exactly(cumprod(transpose(x), 0), {3, 0, 3, 0, 6, 0}));
    CHECK(holds_exactly(cumprod(x + 1, -1), {4, 8, 24, 1, 6, 36}));
    CHECK(holds_exactly(
        cumprod(reshape(xg::arange<double>(1, 9), {2, 2, 2}), 1), {1, 2, 3, 8, 5, 6, 35, 48}));
    CHECK(holds_exactly(cumprod(I({{1, 2}, {3, 4}}), 1), {1, 2, 3, 12}));
    CHECK(holds_exactly(cumprod(x > 1, 1), {1, 0, 0, 0, 0, 0}));
    CHECK(cumprod(x > 1, 1).dtype() == xg::DType::int64);
    CHECK(holds_exactly(cumprod(Z({cd(0, 1), cd(0, 1), cd(2, 0)}), 0), {cd(0, 1), -1, -2}));
    CHECK(holds_exactly(cumprod(xg::Tensor<float>({1e30f, 1e30f, 1e-30f}), 0)(2), {1e30f}));
    CHECK(cumprod(xg::zeros({0, 2}), 0).shape() == xg::Shape{0, 2});
    CHECK(cumprod(xg::zeros({2, 0}), 0).shape() == xg::Shape{2, 0});
    CHECK_THROWS_WITH_AS(cumprod(x, 2),
        "cumprod: axis 2 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(cumprod(D(1.), 0),
        "cumprod: axis 0 is out of range for an array with 0 dimensions, of shape []",
        xg::IndexError);
}

TEST_CASE("gradients of cumprod are right beside zeros, and there are none of nothing") {
    D a({2., 0., 3., 0., 5.}, xg::requires_grad);
    sum(cumprod(a, 0) * D({1., 2., 3., 4., 5.})).backward();
    CHECK(holds_exactly(a.grad(), {1, 22, 0, 0, 0}));
    D nothing = xg::zeros({0, 2}, xg::requires_grad);
    sum(cumprod(nothing, 0)).backward();
    CHECK(nothing.grad().shape() == xg::Shape{0, 2});
}

TEST_CASE("cumprod has derivatives of both orders, with zeros and without") {
    auto const along_0 = [](auto a) { return cumprod(a, 0); };
    auto const along_1 = [](auto a) { return cumprod(a * a, 1) * cumprod(a, -1); };
    auto const check = [&]<class T>(std::type_identity<T>) {
        auto const dtype = xg::dtype_of<T>;
        CHECK(differentiates(function_of<T>(along_0), {sample(dtype, {4, 2})}));
        CHECK(differentiates(function_of<T>(along_1), {sample(dtype, {2, 3})}));
        CHECK(differentiates(function_of<T>(along_0), {with_zeros(dtype, {4, 2}, {2})}));
        CHECK(differentiates(function_of<T>(along_0), {with_zeros(dtype, {5}, {1, 3})}));
        CHECK(differentiates(function_of<T>(along_1), {with_zeros(dtype, {2, 3}, {0, 2, 4})}));
        CHECK(agrees_with(function_of<T>(along_0),
            function_of<T>([](auto a) { return multiplied(a); }),
            {with_zeros(dtype, {4, 2}, {2, 5})}));
    };
    check(std::type_identity<double>());
    check(std::type_identity<cd>());
}

TEST_CASE("third derivatives of cumprod are those of the products") {
    auto const third = [](auto f) {
        D const at({0.5, 0., 2., -1.5}, xg::requires_grad);
        D const weight({1., -2., 3., 0.5});
        D const first = xg::grad(sum(f(at) * weight), at, {.create_graph = true});
        D const second = xg::grad(sum(first * first), at, {.create_graph = true});
        return xg::grad(sum(second * weight * at), at);
    };
    auto const got = third([](D const& a) { return cumprod(a, 0); });
    CHECK(holds(got, third([](D const& a) { return multiplied(a); })));
    CHECK(norm(got).item() > 1);
}

TEST_CASE("a recurrence has derivatives of both orders in terms and factors") {
    auto const both = [](auto a, auto b) {
        return express(xg::Recurrence{{}, 0, false}, a, b) *
               express(xg::Recurrence{{}, 1, true}, a, b);
    };
    CHECK(differentiates(function_of<double, double>(both),
        {with_zeros(xg::DType::float64, {3, 2}, {2}), sample(xg::DType::float64, {3, 2}, 2)}));
    CHECK(differentiates(function_of<cd, cd>(both), {with_zeros(xg::DType::complex128, {3, 2}, {2}),
                                                        sample(xg::DType::complex128, {3, 2}, 2)}));
    D const a({inf, 2., 3.}), b({1., 1., 1.});
    CHECK(holds_exactly(express(xg::Recurrence{{}, 0, false}, a, b), {1, 3, 10}));
    CHECK(holds_exactly(express(xg::Recurrence{{}, 0, true}, a, b), {9, 4, 1}));
}

TEST_CASE("logcumsumexp is the logarithm of cumulative sums, where these overflow, too") {
    D const a({{0.5, -1., 2.}, {3., 0., 1.}});
    CHECK(holds(logcumsumexp(a, 1), D(log(cumsum(exp(a), 1)))));
    CHECK(holds(logcumsumexp(transpose(a), 1), D(log(cumsum(exp(transpose(a)), 1)))));
    CHECK(holds(logcumsumexp(D({1000., 1000., -1000.}), 0),
        {1000, 1000 + std::log(2.), 1000 + std::log(2.)}));
    CHECK(holds(logcumsumexp(D({-inf, -inf, 1., inf, 2.}), 0), {-inf, -inf, 1, inf, inf}));
    CHECK(holds(logcumsumexp(D({1., NaN, 1.}), 0), {1, NaN, NaN}));
    CHECK(holds(logcumsumexp(I({0, 0}), 0), {0, std::log(2.)}));
    CHECK(logcumsumexp(xg::zeros({0, 2}), 0).shape() == xg::Shape{0, 2});
    CHECK_THROWS_WITH_AS(logcumsumexp(a, 2),
        "logcumsumexp: axis 2 is out of range for an array with 2 dimensions, of shape [2, 3]",
        xg::IndexError);
    auto const f = [](auto b) { return logcumsumexp(b * b, 1) * logcumsumexp(b, 0); };
    CHECK(differentiates(function_of<double>(f), {sample(xg::DType::float64, {3, 4})}));
    CHECK(agrees_with(function_of<double>([](auto b) { return logcumsumexp(b, 0); }),
        function_of<double>([](auto b) { return log(cumsum(exp(b), 0)); }),
        {sample(xg::DType::float64, {4, 2})}));
    D c({1., 2., inf, 3.}, xg::requires_grad);
    double const share = 1 / (1 + std::exp(1.));
    CHECK(holds(xg::grad(sum(logcumsumexp(c, 0) * D({1., 2., 3., 4.})), c),
        {1 + 2 * share, 2 * (1 - share), 7, 0}));
    D b({-inf, 1., -inf, 1.}, xg::requires_grad);
    sum(logcumsumexp(b, 0) * D({0., 1., 2., 4.})).backward();
    CHECK(holds(b.grad(), {0, 5, 0, 2}));
}
