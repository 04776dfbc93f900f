// Comparisons and masks: bool tensors without a graph; and choices by them.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using M = xg::Tensor<bool>;

D const a({1, 2, 3, NaN, NaN, inf, -0.0, 1, 2}), b({2, 2, 2, 1, NaN, inf, 0.0, NaN, 2});
bool const t = true, f = false;

} // namespace

TEST_CASE("comparisons of tensors are bool tensors, and false beside NaN except for !=") {
    CHECK(holds(a < b, {t, f, f, f, f, f, f, f, f}));
    CHECK(holds(a <= b, {t, t, f, f, f, t, t, f, t}));
    CHECK(holds(a > b, {f, f, t, f, f, f, f, f, f}));
    CHECK(holds(a >= b, {f, t, t, f, f, t, t, f, t}));
    CHECK(holds(a == b, {f, t, f, f, f, t, t, f, t}));
    CHECK(holds(a != b, {t, f, t, t, t, f, f, t, f}));
    CHECK(holds(isnan(a), {f, f, f, t, t, f, f, f, f}));
    CHECK(M(a < b).dtype() == xg::DType::boolean);
}

TEST_CASE("comparisons with numbers stand on either side") {
    CHECK(holds(a < 2, {t, f, f, f, f, f, t, t, f}));
    CHECK(holds(2 < a, {f, f, t, f, f, t, f, f, f}));
    CHECK(holds(a == 2, {f, t, f, f, f, f, f, f, t}));
    CHECK(holds(2 != a, {t, f, t, t, t, t, t, t, f}));
    CHECK(holds(a >= inf, {f, f, f, f, f, t, f, f, f}));
}

TEST_CASE("comparisons broadcast, and compare different types by value") {
    CHECK(holds(I({1, 2, 3}) < reshape(D({1.5, 2.5}), {2, 1}), {t, f, f, t, t, f}));
    CHECK(M(I({1, 2, 3}) < reshape(D({1.5, 2.5}), {2, 1})).shape() == xg::Shape{2, 3});
    CHECK(holds(I({1, 2, 3}) == I({3, 2, 1}), {f, t, f}));
    CHECK(holds(xg::Tensor<float>({0.1f, 0.5f}) == D({0.1, 0.5}), {f, t}));
    CHECK(holds(I({(std::int64_t(1) << 53) + 1}) == I({std::int64_t(1) << 53}), {f}));
}

TEST_CASE("complex numbers are equal where both parts are") {
    xg::Tensor<cd> const z({cd(1, 2), cd(1, 2), cd(1, NaN), cd(1, 0)}),
        w({cd(1, 2), cd(1, 3), cd(1, NaN), cd(1, -0.0)});
    CHECK(holds(z == w, {t, f, f, t}));
    CHECK(holds(z != w, {f, t, t, f}));
    CHECK(holds(z == 1, {f, f, f, t}));
}

TEST_CASE("isnan, isinf and isfinite look at both parts of a complex number") {
    D const x({1, -0.0, NaN, inf, -inf, 1e308});
    CHECK(holds(isnan(x), {f, f, t, f, f, f}));
    CHECK(holds(isinf(x), {f, f, f, t, t, f}));
    CHECK(holds(isfinite(x), {t, t, f, f, f, t}));
    xg::Tensor<cd> const z({cd(1, 2), cd(NaN, 1), cd(1, NaN), cd(inf, 1), cd(1, -inf), cd(NaN, inf),
        cd(1e308, 1e308)});
    CHECK(holds(isnan(z), {f, t, t, f, f, t, f}));
    CHECK(holds(isinf(z), {f, f, f, t, t, t, f}));
    CHECK(holds(isfinite(z), {t, f, f, f, f, f, t}));
    CHECK(holds(isfinite(I({1, -2})), {t, t}));
    CHECK(holds(isinf(xg::Tensor<float>({1e38f, -HUGE_VALF})), {f, t}));
    CHECK(M(isfinite(x)).dtype() == xg::DType::boolean);
}

TEST_CASE("masks are joined with &&, || and !, in every length") {
    for (std::size_t n = 0; n < 40; ++n) {
        auto const x = xg::arange<double>(0, static_cast<double>(n));
        std::vector<double> both, either, none;
        for (std::size_t i = 0; i < n; ++i) {
            both.push_back(i > 3 && i < 17);
            either.push_back(i < 3 || i > 17);
            none.push_back(!(i > 3));
        }
        CHECK(holds(M(x > 3) && M(x < 17), both));
        CHECK(holds(x < 3 || x > 17, either));
        CHECK(holds(!(x > 3), none));
        CHECK(holds(!M(x > 3), none));
    }
}

TEST_CASE("a comparison of tensors that require gradients has no graph") {
    D const x({1., 2.}, xg::requires_grad);
    M const m = x * x > 1;
    CHECK_FALSE(m.requires_grad());
    CHECK(m.is_leaf());
}

TEST_CASE("masks count as 0 and 1 in arithmetic") {
    M const m({true, false, true});
    CHECK(holds(sum(m), {2}));
    CHECK(sum(m).dtype() == xg::DType::int64);
    CHECK(holds(m * D({2, 3, 4}), {2, 0, 4}));
    CHECK(holds(D({2, 3, 4}) + m, {3, 3, 5}));
    CHECK(differentiates(function_of<double>([](auto x) { return x * (x > 0) + x * x * (x < 0); }),
        {sample(xg::DType::float64, {19})}));
}

TEST_CASE("a tensor that appears in a mask and beside it gets the gradient of where it stands "
          "beside it") {
    Point const at{sample(xg::DType::float64, {2, 19}, 1), sample(xg::DType::float64, {2, 19}, 2)};
    CHECK(differentiates(
        function_of<double, double>([](auto x, auto y) { return where(x > 0, x, y); }), at));
    CHECK(differentiates(
        function_of<double, double>([](auto x, auto y) { return where(x > y, y, x * y) * x; }),
        at));
    CHECK(differentiates(function_of<double, double>([](auto x, auto y) {
        return where(x > y && y > -1, 2 * x, 0) + where(isnan(y), x, y);
    }),
        at));
}

TEST_CASE("a tensor that appears in a mask only gets gradient 0, or none") {
    Point const at{sample(xg::DType::float64, {19}, 1), sample(xg::DType::float64, {19}, 2),
        sample(xg::DType::float64, {19}, 3)};
    CHECK(differentiates(function_of<double, double, double>(
                             [](auto x, auto y, auto z) { return where(x > 0, y, z); }),
        at));
    CHECK(differentiates(function_of<double, double, double>([](auto x, auto y, auto z) {
        return sum(where(x > 0, y, z)) + sum(z * (y < x));
    }),
        at));
}

TEST_CASE("a formula that depends on a tensor through masks only has no graph") {
    D const x({1., -2.}, xg::requires_grad);
    D const y = where(x > 0, 1., 2.), z = sum(D({3., 4.}) * (x > 0));
    CHECK_FALSE(y.requires_grad());
    CHECK_FALSE(z.requires_grad());
    CHECK(holds(y, {1, 2}));
    CHECK(holds(z, {3}));
}

TEST_CASE("where takes masks, numbers and tensors of any shape") {
    M const m = reshape(M({true, false}), {2, 1});
    CHECK(holds(where(m, D({1, 2, 3}), 0), {1, 2, 3, 0, 0, 0}));
    CHECK(holds(where(m, 1, reshape(D({5, 6}), {2, 1})), {1, 6}));
    CHECK(holds(where(m, 1., 2.), {1, 2}));
    CHECK(holds(where(m, I({1, 2}), I({3, 4})), {1, 2, 3, 4}));
    CHECK(xg::materialize_expression(where(m, I({1, 2}), I({3, 4}))).dtype() == xg::DType::int64);
    CHECK(holds(where(true, D({1, 2}), 0), {1, 2}));
    CHECK(holds(where(m, D({1}), cd(0, 1)), {1, {0, 1}}));
}

TEST_CASE("bounds that are NaN make NaN, as PyTorch's do; the gradient is 0 there") {
    D x({-2, 0.5, 3}, xg::requires_grad);
    auto const is_nan = [](D const& y) {
        return std::all_of(y.data(), y.data() + y.numel(), [](double v) { return std::isnan(v); });
    };
    CHECK(is_nan(clamp(x, NaN, 1.)));
    CHECK(is_nan(clamp(x, 0., NaN)));
    CHECK(is_nan(clamp_min(x, NaN)));
    CHECK(is_nan(clamp_max(x, D(NaN))));
    CHECK(is_nan(clamp(D({NaN}), 0., 1.)));
    sum(clamp(x, NaN, 1.)).backward();
    CHECK(amax(abs(x.grad())).item() == 0);
}
