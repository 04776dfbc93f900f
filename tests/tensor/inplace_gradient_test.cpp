// Every in-place form as a step of the graph, judged by its out-of-place form: value, gradient, recorded gradient and second
// derivative.
#include <support/implementation.hpp>

#include <doctest/doctest.h>

using namespace support;

namespace {

/// f_in_place changes its first argument, f gives the same out of place.
#define IS_THE_SAME(in_place, out_of_place, ...) \
    CHECK(agrees_with(function_of<SCALARS>([](auto const& leaf, auto const&... more) { \
        auto x = leaf.clone(); \
        auto const go = [&](auto const& b) { (void)b; in_place; }; \
        if constexpr (sizeof...(more)) go(more...); \
        else go(0); \
        return x; \
    }), function_of<SCALARS>([](auto const& x, auto const&... more) { \
        auto const go = [&](auto const& b) { (void)b; return xg::Tensor(xg::materialize_expression(out_of_place)); }; \
        if constexpr (sizeof...(more)) return go(more...); \
        else return go(0); \
    }), __VA_ARGS__))

Values real(xg::Shape const& shape, unsigned seed = 1, double from = -2, double to = 2) { return sample(xg::DType::float64, shape, seed, from, to); }
Values complex(xg::Shape const& shape, unsigned seed = 1) { return sample(xg::DType::complex128, shape, seed); }

}  // namespace

#define SCALARS double
TEST_CASE("functions of real numbers in place")
{
    Point const any{real({2, 3})}, positive{real({2, 3}, 1, 0.25, 2)}, small{real({2, 3}, 1, -0.8, 0.8)}, large{real({2, 3}, 1, 1.25, 3)};
    IS_THE_SAME(x.neg_(), -x, any);
    IS_THE_SAME(x.square_(), square(x), any);
    IS_THE_SAME(x.exp_(), exp(x), any);
    IS_THE_SAME(x.expm1_(), expm1(x), any);
    IS_THE_SAME(x.sin_(), sin(x), any);
    IS_THE_SAME(x.cos_(), cos(x), any);
    IS_THE_SAME(x.sinh_(), sinh(x), any);
    IS_THE_SAME(x.cosh_(), cosh(x), any);
    IS_THE_SAME(x.tanh_(), tanh(x), any);
    IS_THE_SAME(x.atan_(), atan(x), any);
    IS_THE_SAME(x.asinh_(), asinh(x), any);
    IS_THE_SAME(x.sigmoid_(), sigmoid(x), any);
    IS_THE_SAME(x.softplus_(), softplus(x), any);
    IS_THE_SAME(x.relu_(), relu(x), any);
    IS_THE_SAME(x.abs_(), abs(x), any);
    IS_THE_SAME(x.sign_(), sign(x), any);
    IS_THE_SAME(x.sgn_(), sgn(x), any);
    IS_THE_SAME(x.conj_(), conj(x), any);
    IS_THE_SAME(x.sqrt_(), sqrt(x), positive);
    IS_THE_SAME(x.rsqrt_(), rsqrt(x), positive);
    IS_THE_SAME(x.reciprocal_(), reciprocal(x), positive);
    IS_THE_SAME(x.log_(), log(x), positive);
    IS_THE_SAME(x.log1p_(), log1p(x), positive);
    IS_THE_SAME(x.log2_(), log2(x), positive);
    IS_THE_SAME(x.log10_(), log10(x), positive);
    IS_THE_SAME(x.tan_(), tan(x), small);
    IS_THE_SAME(x.asin_(), asin(x), small);
    IS_THE_SAME(x.acos_(), acos(x), small);
    IS_THE_SAME(x.atanh_(), atanh(x), small);
    IS_THE_SAME(x.acosh_(), acosh(x), large);
    IS_THE_SAME(x.clamp_(-0.5, 1), clamp(x, -0.5, 1), any);
    IS_THE_SAME(x.clamp_min_(0.25), clamp_min(x, 0.25), any);
    IS_THE_SAME(x.clamp_max_(0.25), clamp_max(x, 0.25), any);
}

TEST_CASE("a number or a constant written in place cuts the gradient off")
{
    Point const any{real({2, 3})};
    IS_THE_SAME(x.fill_(2.5), x * 0 + 2.5, any);
    IS_THE_SAME(x.zero_(), x * 0, any);
    IS_THE_SAME(x.copy_(xg::full({3}, 2.)), x * 0 + 2, any);
    IS_THE_SAME(x.exp_().zero_().add_(1), x * 0 + 1, any);
}

TEST_CASE("several changes in place, one after the other")
{
    Point const any{real({2, 3}, 1, 0.25, 2)};
    IS_THE_SAME(x.exp_().mul_(2).sin_(), sin(2 * exp(x)), any);
    IS_THE_SAME((x += 1, x *= 3, x /= 7, x -= 2), (x + 1) * 3 / 7 - 2, any);
    IS_THE_SAME(x.sqrt_().add_(1).log_().neg_().tanh_().square_(), square(tanh(-log(sqrt(x) + 1))), any);
}

TEST_CASE("the tensor itself among the operands")
{
    for (auto const& shape : {xg::Shape{19}, xg::Shape{3, 3}, xg::Shape{}}) {
        Point const any{real(shape, 1, 0.25, 2)};
        IS_THE_SAME(x += x, x + x, any);
        IS_THE_SAME(x -= x, x - x, any);
        IS_THE_SAME(x *= x, x * x, any);
        IS_THE_SAME(x /= x, x / x, any);
        IS_THE_SAME(x.pow_(x), pow(x, x), any);
        IS_THE_SAME(x *= sin(x) + x, x * (sin(x) + x), any);
        IS_THE_SAME(x.copy_(x), x, any);
        IS_THE_SAME(x.copy_(x * x), x * x, any);
        IS_THE_SAME(x += transpose(x), x + transpose(x), any);
    }
}
#undef SCALARS

#define SCALARS std::complex<double>
TEST_CASE("functions of complex numbers in place")
{
    Point const any{complex({2, 3})};
    IS_THE_SAME(x.neg_(), -x, any);
    IS_THE_SAME(x.square_(), square(x), any);
    IS_THE_SAME(x.exp_(), exp(x), any);
    IS_THE_SAME(x.log_(), log(x), any);
    IS_THE_SAME(x.sqrt_(), sqrt(x), any);
    IS_THE_SAME(x.tanh_(), tanh(x), any);
    IS_THE_SAME(x.reciprocal_(), reciprocal(x), any);
    IS_THE_SAME(x.conj_(), conj(x), any);
    IS_THE_SAME(x.sgn_(), sgn(x), any);
    IS_THE_SAME(x *= x, x * x, any);
    IS_THE_SAME(x *= conj(x), x * conj(x), any);
    IS_THE_SAME(x += abs(x), x + abs(x), any);
    IS_THE_SAME((x *= std::complex<double>(1, 2)), (x * std::complex<double>(1, 2)), any);
    IS_THE_SAME((x.conj_().exp_().conj_()), conj(exp(conj(x))), any);
    IS_THE_SAME(x.zero_(), x * 0, any);
}
#undef SCALARS

#define SCALARS double, double
TEST_CASE("operations with a second real tensor in place, of the same shape and repeated")
{
    for (auto const& shape : {xg::Shape{2, 3}, xg::Shape{3}, xg::Shape{2, 1}, xg::Shape{}}) {
        Point const any{real({2, 3}, 1, 0.25, 2), real(shape, 2, 0.5, 1.5)};
        IS_THE_SAME(x += b, x + b, any);
        IS_THE_SAME(x -= b, x - b, any);
        IS_THE_SAME(x *= b, x * b, any);
        IS_THE_SAME(x /= b, x / b, any);
        IS_THE_SAME(x.add_(b), x + b, any);
        IS_THE_SAME(x.sub_(b), x - b, any);
        IS_THE_SAME(x.mul_(b), x * b, any);
        IS_THE_SAME(x.div_(b), x / b, any);
        IS_THE_SAME(x.pow_(b), pow(x, b), any);
        IS_THE_SAME(x.minimum_(b), minimum(x, b), any);
        IS_THE_SAME(x.maximum_(b), maximum(x, b), any);
        IS_THE_SAME(x.clamp_(b, b + 0.25), clamp(x, b, b + 0.25), any);
        IS_THE_SAME(x.clamp_min_(b), clamp_min(x, b), any);
        IS_THE_SAME(x.clamp_max_(b), clamp_max(x, b), any);
        IS_THE_SAME(x.copy_(b), x * 0 + b, any);
        IS_THE_SAME(x.copy_(b * x), b * x, any);
        IS_THE_SAME(x *= exp(b) * x + b, x * (exp(b) * x + b), any);
        IS_THE_SAME((x *= b, x += b, x *= b), (x * b + b) * b, any);
    }
}
#undef SCALARS

#define SCALARS std::complex<double>, double
TEST_CASE("a real tensor beside a complex one that is changed in place gets a real gradient")
{
    for (auto const& shape : {xg::Shape{2, 3}, xg::Shape{3}}) {
        Point const any{complex({2, 3}), real(shape, 2, 0.5, 1.5)};
        IS_THE_SAME(x += b, x + b, any);
        IS_THE_SAME(x *= b, x * b, any);
        IS_THE_SAME(x /= b, x / b, any);
        IS_THE_SAME(x.pow_(b), pow(x, b), any);
        IS_THE_SAME(x.copy_(b), x * 0 + b, any);
        IS_THE_SAME(x.copy_(exp(b)), x * 0 + exp(b), any);
        IS_THE_SAME(x *= abs(x) * b, x * (abs(x) * b), any);
    }
}
#undef SCALARS

#define SCALARS std::complex<double>, std::complex<double>
TEST_CASE("operations with a second complex tensor in place")
{
    Point const any{complex({2, 3}), complex({3}, 2)};
    IS_THE_SAME(x += b, x + b, any);
    IS_THE_SAME(x -= b, x - b, any);
    IS_THE_SAME(x *= b, x * b, any);
    IS_THE_SAME(x /= b, x / b, any);
    IS_THE_SAME(x.copy_(conj(b)), x * 0 + conj(b), any);
}
#undef SCALARS

TEST_CASE("a double expression written into a float tensor sends each of its tensors a gradient of that one's type")
{
    Point const at{sample(xg::DType::float32, {2, 3}, 1, 0.25, 2), sample(xg::DType::float64, {3}, 2, 0.5, 1.5)};
    auto const add = function_of<float, double>([](auto const& leaf, auto const& b) {
        auto x = leaf.clone();
        x += b * b;
        return x;
    });
    auto const multiply = function_of<float, double>([](auto const& leaf, auto const& b) {
        auto x = leaf.clone();
        x *= exp(b) * x;
        return x;
    });
    auto const overwrite = function_of<float, double>([](auto const& leaf, auto const& b) {
        auto x = leaf.clone();
        x.copy_(sin(b));
        return x;
    });
    CHECK(agrees_with(add, function_of<float, double>([](auto const& x, auto const& b) { return xg::cast<float>(xg::Tensor<double>(x + b * b)); }), at, 1e-6));
    CHECK(agrees_with(multiply, function_of<float, double>([](auto const& x, auto const& b) { return xg::cast<float>(xg::Tensor<double>(x * exp(b) * x)); }), at, 1e-6));
    CHECK(agrees_with(overwrite, function_of<float, double>([](auto const& x, auto const& b) { return xg::cast<float>(xg::Tensor<double>(0 * x + sin(b))); }), at, 1e-6));
}
