// Changes in place of complex tensors and between scalar types, compared with their out-of-place
// forms.
#include "inplace_forms.hpp"

#define SCALARS std::complex<double>
TEST_CASE("functions of complex numbers in place") {
    Point const any{complex_values({2, 3})};
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

#define SCALARS std::complex<double>, double
TEST_CASE("a real tensor beside a complex one that is changed in place gets a real gradient") {
    for (auto const& shape : {xg::Shape{2, 3}, xg::Shape{3}}) {
        Point const any{complex_values({2, 3}), real(shape, 2, 0.5, 1.5)};
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
TEST_CASE("operations with a second complex tensor in place") {
    Point const any{complex_values({2, 3}), complex_values({3}, 2)};
    IS_THE_SAME(x += b, x + b, any);
    IS_THE_SAME(x -= b, x - b, any);
    IS_THE_SAME(x *= b, x * b, any);
    IS_THE_SAME(x /= b, x / b, any);
    IS_THE_SAME(x.copy_(conj(b)), x * 0 + conj(b), any);
}
#undef SCALARS

TEST_CASE("a double expression written into a float tensor sends each of its tensors a gradient of "
          "that one's type") {
    Point const at{sample(xg::DType::float32, {2, 3}, 1, 0.25, 2),
        sample(xg::DType::float64, {3}, 2, 0.5, 1.5)};
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
    CHECK(agrees_with(add, function_of<float, double>([](auto const& x, auto const& b) {
        return xg::cast<float>(xg::Tensor<double>(x + b * b));
    }),
        at, 1e-6));
    CHECK(agrees_with(multiply, function_of<float, double>([](auto const& x, auto const& b) {
        return xg::cast<float>(xg::Tensor<double>(x * exp(b) * x));
    }),
        at, 1e-6));
    CHECK(agrees_with(overwrite, function_of<float, double>([](auto const& x, auto const& b) {
        return xg::cast<float>(xg::Tensor<double>(0 * x + sin(b)));
    }),
        at, 1e-6));
}
