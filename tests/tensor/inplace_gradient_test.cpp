// Every in-place form as a step of the graph, compared with its out-of-place form: value, gradient,
// recorded gradient and second derivative.
#include <support/implementation.hpp>

#include "inplace_forms.hpp"

#define SCALARS double
TEST_CASE("functions of real numbers in place") {
    Point const any{real({2, 3})}, positive{real({2, 3}, 1, 0.25, 2)},
        small{real({2, 3}, 1, -0.8, 0.8)}, large{real({2, 3}, 1, 1.25, 3)};
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
    IS_THE_SAME(x.floor_(), floor(x), any);
    IS_THE_SAME(x.ceil_(), ceil(x), any);
    IS_THE_SAME(x.round_(), round(x), any);
    IS_THE_SAME(x.trunc_(), trunc(x), any);
    IS_THE_SAME(x.nan_to_num_(), nan_to_num(x), any);
    IS_THE_SAME(x.erf_(), erf(x), any);
    IS_THE_SAME(x.erfc_(), erfc(x), any);
    IS_THE_SAME(x.sinc_(), sinc(x), any);
    IS_THE_SAME(x.lgamma_(), lgamma(x), positive);
    IS_THE_SAME(x.digamma_(), digamma(x), positive);
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

TEST_CASE("a number or a constant written in place cuts the gradient off") {
    Point const any{real({2, 3})};
    IS_THE_SAME(x.fill_(2.5), x * 0 + 2.5, any);
    IS_THE_SAME(x.zero_(), x * 0, any);
    IS_THE_SAME(x.copy_(xg::full({3}, 2.)), x * 0 + 2, any);
    IS_THE_SAME(x.exp_().zero_().add_(1), x * 0 + 1, any);
}

TEST_CASE("several changes in place, one after the other") {
    Point const any{real({2, 3}, 1, 0.25, 2)};
    IS_THE_SAME(x.exp_().mul_(2).sin_(), sin(2 * exp(x)), any);
    IS_THE_SAME((x += 1, x *= 3, x /= 7, x -= 2), (x + 1) * 3 / 7 - 2, any);
    IS_THE_SAME(
        x.sqrt_().add_(1).log_().neg_().tanh_().square_(), square(tanh(-log(sqrt(x) + 1))), any);
}

TEST_CASE("the tensor itself among the operands") {
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
