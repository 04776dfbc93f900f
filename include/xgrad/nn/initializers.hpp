// nn::init: rules for the numbers that parameters begin with. They overwrite a tensor, unrecorded.
// Of complex tensors the variance is that of both parts together, so the normal rules have
// magnitudes of Rayleigh's distribution with uniform phases, as Trabelsi et al., "Deep Complex
// Networks", 2018, derive them, without further ado.
//
// Shapes: the tensor keeps its shape. Fans are those of [out, in, kernel...].
// Gradients: none are recorded, also for a leaf that requires one.
// Errors: a tensor of fewer than two axes is a ShapeError for the rules that need a fan, and for
// orthogonal_(); an unknown name of a mode or nonlinearity, and an undefined tensor, are an Error.
// Integers do not compile.
#pragma once

#include <numbers>
#include <optional>

#include <xgrad/core/choice.hpp>
#include <xgrad/nn/init.hpp>
#include <xgrad/ops/linalg.hpp>

namespace xgrad::nn::init {

using nn::normal_;
using nn::uniform_;

/// What a Kaiming rule preserves: `fan_in` the variance of the values in the forward pass,
/// `fan_out` that of the gradients in the backward pass.
enum class FanMode : unsigned char { fan_in, fan_out };
constexpr std::string_view choice_names(FanMode) { return "mode: fan_in fan_out"; }
/// The nonlinearity after a layer, of which calculate_gain() knows the gain: 1 for linear, conv and
/// sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2/(1 + slope^2)) for leaky_relu, and 3/4 for selu.
enum class Nonlinearity : unsigned char { linear, conv, sigmoid, tanh, relu, leaky_relu, selu };
constexpr std::string_view choice_names(Nonlinearity) {
    return "nonlinearity: linear conv sigmoid tanh relu leaky_relu selu";
}

/// Fills a parameter with one value; not recorded.
template <Differentiable T> void constant_(Tensor<T> t, std::type_identity_t<T> value) {
    NoGradGuard const off;
    if constexpr (xgrad::detail::watches_handles) t.belongs_to_library();
    t.fill_(value);
}
template <Differentiable T> void zeros_(Tensor<T> const& t) { constant_(t, T(0)); }
template <Differentiable T> void ones_(Tensor<T> const& t) { constant_(t, T(1)); }

/// The recommended gain of a nonlinearity; param is the slope of leaky_relu (default 0.01).
double calculate_gain(Choice<Nonlinearity> nonlinearity, std::optional<double> param = {});

namespace detail {

struct Fans {
    double in, out;
    double of(FanMode mode) const { return mode == FanMode::fan_in ? in : out; }
};
/// fan_in and fan_out of a weight [out, in, kernel...].
Fans fans(std::string_view name, Shape const& shape);
/// Uniform around 0 with a given standard deviation; for complex types each part has half the
/// variance.
template <Differentiable T> void uniform_with(Tensor<T> const& t, double deviation) {
    double const bound = deviation * std::sqrt(xgrad::detail::is_complex<T> ? 1.5 : 3.);
    uniform_(t, -bound, bound);
}
template <Differentiable T>
double kaiming_deviation(
    std::string_view name, Tensor<T> const& t, double a, FanMode mode, Nonlinearity nonlinearity) {
    return calculate_gain(nonlinearity, a) / std::sqrt(fans(name, t.shape()).of(mode));
}
template <Differentiable T>
double xavier_deviation(std::string_view name, Tensor<T> const& t, double gain) {
    auto const [in, out] = fans(name, t.shape());
    return gain * std::sqrt(2 / (in + out));
}

} // namespace detail

/// Glorot and Bengio, 2010: variance 2 gain^2 / (fan_in + fan_out), uniform or normal.
template <Differentiable T> void xavier_uniform_(Tensor<T> const& t, double gain = 1) {
    detail::uniform_with(t, detail::xavier_deviation("xavier_uniform_", t, gain));
}
template <Differentiable T> void xavier_normal_(Tensor<T> const& t, double gain = 1) {
    normal_(t, 0, detail::xavier_deviation("xavier_normal_", t, gain));
}

/// He et al., 2015: variance gain^2 / fan, uniform or normal; a is the slope of leaky_relu.
template <Differentiable T>
void kaiming_uniform_(Tensor<T> const& t, double a = 0, Choice<FanMode> mode = FanMode::fan_in,
    Choice<Nonlinearity> nonlinearity = Nonlinearity::leaky_relu) {
    detail::uniform_with(
        t, detail::kaiming_deviation("kaiming_uniform_", t, a, mode, nonlinearity));
}
template <Differentiable T>
void kaiming_normal_(Tensor<T> const& t, double a = 0, Choice<FanMode> mode = FanMode::fan_in,
    Choice<Nonlinearity> nonlinearity = Nonlinearity::leaky_relu) {
    normal_(t, 0, detail::kaiming_deviation("kaiming_normal_", t, a, mode, nonlinearity));
}

/// Options of kaiming_uniform_() and kaiming_normal_().
struct KaimingOptions {
    double a = 0;                           // slope of leaky_relu; not used for others
    Choice<FanMode> mode = FanMode::fan_in; // `fan_in` or `fan_out`; see FanMode
    Choice<Nonlinearity> nonlinearity = Nonlinearity::leaky_relu; // what follows the layer
};
template <Differentiable T> void kaiming_uniform_(Tensor<T> const& t, KaimingOptions const& o) {
    kaiming_uniform_(t, o.a, o.mode, o.nonlinearity);
}
template <Differentiable T> void kaiming_normal_(Tensor<T> const& t, KaimingOptions const& o) {
    kaiming_normal_(t, o.a, o.mode, o.nonlinearity);
}

/// Rows (or, where there are more rows than columns, columns) that are orthonormal, times the gain;
/// axes after the first count as one. Of complex tensors they are unitary. Gram and Schmidt's
/// process on normal numbers, done twice (Saxe et al., 2013).
template <Differentiable T> void orthogonal_(Tensor<T> t, double gain = 1) {
    using P = precision_of<T>;
    if (t.dim() < 2)
        xgrad::detail::fail<ShapeError>(
            "orthogonal_: Only tensors with 2 or more dimensions are supported, not of shape ",
            t.shape());
    if (t.numel() == 0) return;
    NoGradGuard const off;
    std::size_t const rows = t.shape()[0], columns = t.numel() / rows,
                      few = std::min(rows, columns), n = std::max(rows, columns);
    Tensor<T> vectors = randn<T>({few, n});
    T* const v = vectors.mutable_data();
    for (std::size_t i = 0; i < few; ++i)
        for (int round = 0; round < 2; ++round) {
            for (std::size_t j = 0; j < i; ++j) {
                T along(0);
                for (std::size_t k = 0; k < n; ++k)
                    if constexpr (xgrad::detail::is_complex<T>)
                        along += v[i * n + k] * std::conj(v[j * n + k]);
                    else along += v[i * n + k] * v[j * n + k];
                for (std::size_t k = 0; k < n; ++k) v[i * n + k] -= along * v[j * n + k];
            }
            P squares(0);
            for (std::size_t k = 0; k < n; ++k) squares += std::norm(v[i * n + k]);
            for (std::size_t k = 0; k < n; ++k) v[i * n + k] /= std::sqrt(squares);
        }
    if constexpr (xgrad::detail::watches_handles) t.belongs_to_library();
    t.copy_(
        reshape(rows <= columns ? vectors : mT(vectors), Axes(t.shape())) * static_cast<P>(gain));
}

} // namespace xgrad::nn::init
