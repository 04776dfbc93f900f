// Layer normalisation.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/ops/reduction.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/print.hpp>
#include <xgrad/tensor/reduce.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

namespace detail {

/// Mean of f(0), ..., f(n - 1), in several parts at once.
template <class T, class F> T mean_of(std::size_t n, F f)
{
    constexpr std::size_t lanes = 64 / sizeof(T) * 2;
    T part[lanes] = {}, sum = 0;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t j = 0; j < lanes; ++j) part[j] += f(i + j);
    for (; i < n; ++i) sum += f(i);
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
        for (std::size_t j = 0; j < half; ++j) part[j] += part[j + half];
    return (sum + part[0]) / static_cast<T>(n);
}

template <class T> struct RowMoments {
    T mean, rstd;
    RowMoments(T const* x, std::size_t n, double eps)
    {
        T const m = mean = mean_of<T>(n, [=](std::size_t i) { return x[i]; });
        rstd = 1 / std::sqrt(mean_of<T>(n, [=](std::size_t i) { return (x[i] - m) * (x[i] - m); }) + static_cast<T>(eps));
    }
};

/// Rows y of x, each less its mean and divided by sqrt(variance + eps). Its derivative of a row of n elements is the symmetric matrix
/// J = (I - (1 1' + y y')/n)/sqrt(variance + eps).
struct NormalizeRows : Arraywise {
    double eps;
    static constexpr xgrad::detail::Uses uses[] = {xgrad::detail::uses_argument(0)};

    template <RealScalar T> auto value(xgrad::detail::Array<T> const& x) const
    {
        auto const from = xgrad::detail::contiguous(x);
        xgrad::detail::Array<T> out(x.shape);
        std::size_t const n = x.shape.back();
        for (std::size_t at = 0; at < x.numel; at += n) {
            T const* const in = from.begin() + at;
            T* const to = out.begin() + at;
            RowMoments<T> const m(in, n, eps);
            for (std::size_t i = 0; i < n; ++i) to[i] = (in[i] - m.mean) * m.rstd;
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const;
};

/// J g for each row.
struct NormalizeRowsGradient : Arraywise {
    double eps;
    static constexpr xgrad::detail::Uses uses[] = {xgrad::detail::uses_argument(1), xgrad::detail::uses_argument(0) | xgrad::detail::uses_argument(1)};

    template <RealScalar T> auto value(xgrad::detail::Array<T> const& gradient, xgrad::detail::Array<T> const& x) const
    {
        auto const from = xgrad::detail::contiguous(x), by = xgrad::detail::contiguous(gradient);
        xgrad::detail::Array<T> out(x.shape);
        std::size_t const n = x.shape.back();
        for (std::size_t at = 0; at < x.numel; at += n) {
            T const *const in = from.begin() + at, *const g = by.begin() + at;
            T* const to = out.begin() + at;
            RowMoments<T> const m(in, n, eps);
            T const mean_g = mean_of<T>(n, [=](std::size_t i) { return g[i]; });
            T const mean_gy = mean_of<T>(n, [=](std::size_t i) { return g[i] * ((in[i] - m.mean) * m.rstd); });
            for (std::size_t i = 0; i < n; ++i) to[i] = m.rstd * (g[i] - mean_g - (in[i] - m.mean) * m.rstd * mean_gy);
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& h, auto const&, auto const&, auto const& x) const { return express(*this, h, x); }
    /// Of h'J g: with dr = -r^2 (y'dx)/n for the factor r = 1/sqrt(variance + eps) of J, and dy = J dx.
    auto pullback(wrt<1>, auto const& h, auto const&, auto const& g, auto const& x) const
    {
        auto const y = express(NormalizeRows{{}, eps}, x);
        auto const from_mean = materialize_expression(x - mean(x, {-1}, keepdims));
        auto const r = materialize_expression(pow(mean(square(from_mean), {-1}, keepdims) + eps, -0.5));
        auto const jg = express(*this, g, x);
        auto const mixed = materialize_expression(mean(g * y, {-1}, keepdims) * h + mean(h * y, {-1}, keepdims) * g);
        auto const jm = express(*this, mixed, x);
        return materialize_expression(-r * (y * mean(h * jg, {-1}, keepdims) + jm));
    }
};

auto NormalizeRows::pullback(wrt<0>, auto const& g, auto const&, auto const& x) const { return express(NormalizeRowsGradient{{}, eps}, g, x); }

}  // namespace detail

namespace functional {

/// (x - mean)/sqrt(variance + eps) over the last axes, those of normalized_shape, times `weight` plus `bias` of that shape where
/// they are defined; the variance has no correction (Ba, Kiros and Hinton, 2016).
template <RealScalar T>
Tensor<T> layer_norm(Tensor<T> const& x, Shape const& normalized_shape, std::type_identity_t<Tensor<T>> const& weight = {}, std::type_identity_t<Tensor<T>> const& bias = {}, double eps = 1e-5)
{
    auto const& shape = x.shape();
    auto const k = normalized_shape.size();
    if (k == 0) xgrad::detail::fail<ShapeError>("layer_norm: normalized_shape has no axes");
    if (shape.size() < k || !std::equal(normalized_shape.begin(), normalized_shape.end(), shape.end() - static_cast<std::ptrdiff_t>(k)))
        xgrad::detail::fail<ShapeError>("layer_norm: an input of shape ", shape, " does not end in normalized_shape ", normalized_shape);
    for (auto const* const p : {&weight, &bias})
        if (p->defined() && !(p->shape() == normalized_shape))
            xgrad::detail::fail<ShapeError>("layer_norm: ", p == &weight ? "weight" : "bias", " has shape ", p->shape(), ", it should have normalized_shape ", normalized_shape);
    Axes rows(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(k));
    rows.push_back(static_cast<std::ptrdiff_t>(numel(normalized_shape)));
    Tensor<T> y = express(detail::NormalizeRows{{}, eps}, k == 1 ? x : reshape(x, rows));
    if (k != 1) y = reshape(y, Axes(shape));
    if (weight.defined() && bias.defined()) return y * weight + bias;
    if (weight.defined()) return y * weight;
    return bias.defined() ? Tensor<T>(y + bias) : y;
}

}  // namespace functional

/// layer_norm() with weight (ones to begin with) and bias (zeros) of normalized_shape, or without (elementwise_affine).
template <RealScalar T = double> struct LayerNorm : Module<LayerNorm<T>> {
    Shape normalized_shape;
    double eps;
    Parameter<T> weight, bias;

    explicit LayerNorm(Shape const& shape, double epsilon = 1e-5, bool elementwise_affine = true)
        : normalized_shape(shape), eps(epsilon), weight(*this, "weight", elementwise_affine ? ones<T>(shape) : Tensor<T>()), bias(*this, "bias", elementwise_affine ? zeros<T>(shape) : Tensor<T>())
    {
    }
    explicit LayerNorm(std::initializer_list<std::size_t> shape, double epsilon = 1e-5, bool elementwise_affine = true) : LayerNorm(Shape(shape), epsilon, elementwise_affine) {}
    explicit LayerNorm(std::size_t features, double epsilon = 1e-5, bool elementwise_affine = true) : LayerNorm(Shape{features}, epsilon, elementwise_affine) {}
    Tensor<T> forward(Tensor<T> const& x) const { return functional::layer_norm(x, normalized_shape, weight, bias, eps); }
    std::string extra_repr() const override
    {
        std::string s;
        for (auto const n : normalized_shape) s += (s.empty() ? "[" : ", ") + std::to_string(n);
        return s + "], eps=" + xgrad::detail::number_text(eps) + ", elementwise_affine=" + (weight.defined() ? "true" : "false");
    }
};

}  // namespace xgrad::nn
