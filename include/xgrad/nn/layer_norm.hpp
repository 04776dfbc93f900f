// Layer normalisation.
//
// Shapes: x: [..., normalized_shape] gives the same shape; weight and bias have normalized_shape.
// Gradients: of x, weight and bias, of any order, in backward and forward mode.
// Errors: shapes that do not fit, and an empty normalized_shape, are a ShapeError; an undefined
// input is an Error. Complex tensors do not compile.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/standardize.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::nn {

namespace functional {

/// (x - mean)/sqrt(variance + eps) over the last axes, those of normalized_shape, times `weight`
/// plus `bias` of that shape where they are defined; the variance has no correction (Ba, Kiros and
/// Hinton, 2016).
template <RealScalar T>
Tensor<T> layer_norm(Tensor<T> const& x, Shape const& normalized_shape,
    std::type_identity_t<Tensor<T>> const& weight = {},
    std::type_identity_t<Tensor<T>> const& bias = {}, double eps = 1e-5) {
    auto const& shape = x.shape();
    auto const k = normalized_shape.size();
    if (k == 0) xgrad::detail::fail<ShapeError>("layer_norm: normalized_shape has no axes");
    if (shape.size() < k || !std::equal(normalized_shape.begin(), normalized_shape.end(),
                                shape.end() - static_cast<std::ptrdiff_t>(k)))
        xgrad::detail::fail<ShapeError>("layer_norm: an input of shape ", shape,
            " does not end in normalized_shape ", normalized_shape);
    for (auto const* const p : {&weight, &bias})
        if (p->defined() && !(p->shape() == normalized_shape))
            xgrad::detail::fail<ShapeError>("layer_norm: ", p == &weight ? "weight" : "bias",
                " has shape ", p->shape(), ", it should have normalized_shape ", normalized_shape);
    auto const n = numel(normalized_shape);
    detail::StandardizeGeometry const rows{
        .samples = n ? x.numel() / n : 0, .positions = n, .eps = eps};
    Tensor<T> const y = detail::standardize<T>(rows, x, {}, {}).first;
    if (weight.defined() && bias.defined()) return y * weight + bias;
    if (weight.defined()) return y * weight;
    return bias.defined() ? Tensor<T>(y + bias) : y;
}

} // namespace functional

/// Options of LayerNorm.
struct LayerNormOptions {
    double eps = 1e-5;              // added to the variance before the square root
    bool elementwise_affine = true; // false for no weight and no bias
};

/// layer_norm() with a weight (initially ones) and a bias (zeros) of normalized_shape, unless
/// elementwise_affine is false.
template <RealScalar T = double> struct LayerNorm : Module<LayerNorm<T>> {
    using Options = LayerNormOptions;
    /// Extents in braces.
    using Extents = std::initializer_list<xgrad::detail::DimsElement<std::size_t>>;

    Shape normalized_shape; // the extents of the last axes, which are normalised together
    double eps;             // added to the variance before the square root
    /// `weight` and `bias` have the shape normalized_shape, and are undefined without
    /// elementwise_affine.
    Parameter<T> weight, bias;

    explicit LayerNorm(Shape const& shape, Options const& o = {})
        : normalized_shape(shape), eps(o.eps),
          weight(*this, "weight", o.elementwise_affine ? ones<T>(shape) : Tensor<T>()),
          bias(*this, "bias", o.elementwise_affine ? zeros<T>(shape) : Tensor<T>()) {}
    explicit LayerNorm(Extents shape, Options const& o = {}) : LayerNorm(Shape(shape), o) {}
    explicit LayerNorm(std::size_t features, Options const& o = {})
        : LayerNorm(Shape{features}, o) {}
    template <std::floating_point Real>
    LayerNorm(Shape const& shape, Real epsilon, bool elementwise_affine = true)
        : LayerNorm(shape, Options{epsilon, elementwise_affine}) {}
    template <std::floating_point Real>
    LayerNorm(Extents shape, Real epsilon, bool elementwise_affine = true)
        : LayerNorm(Shape(shape), epsilon, elementwise_affine) {}
    template <std::floating_point Real>
    LayerNorm(std::size_t features, Real epsilon, bool elementwise_affine = true)
        : LayerNorm(Shape{features}, epsilon, elementwise_affine) {}
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::layer_norm(x, normalized_shape, weight, bias, eps);
    }
    std::string extra_repr() const override {
        std::string s;
        for (auto const n : normalized_shape) s += (s.empty() ? "[" : ", ") + std::to_string(n);
        return s + "], eps=" + xgrad::detail::number_text(eps) +
               ", elementwise_affine=" + (weight.defined() ? "true" : "false");
    }
};

} // namespace xgrad::nn
