// Linear and bilinear maps.
//
// Shapes: x: [..., in], weight: [out, in], bias: [out] give [..., out]; bilinear() takes [..., in1]
// and [..., in2], whose leading axes broadcast, and weight [out, in1, in2].
// Gradients: of inputs, weight and bias, of any order, in backward and forward mode; complex ones
// as PyTorch's, dL/dRe + i dL/dIm.
// Errors: shapes that do not fit are a ShapeError; an undefined input or weight is an Error. A
// tensor of another scalar type does not compile.
#pragma once

#include <xgrad/nn/init.hpp>
#include <xgrad/nn/module.hpp>
#include <xgrad/ops/linalg.hpp>

namespace xgrad::nn {

namespace functional {

/// x W^T + b on the last axis: x of shape [..., in], W [out, in], b [out] or undefined. Complex
/// numbers are not conjugated.
template <Scalar T>
Tensor<T> linear(Tensor<T> const& x, std::type_identity_t<Tensor<T>> const& weight,
    std::type_identity_t<Tensor<T>> const& bias = {}) {
    if (weight.dim() != 2 || x.dim() == 0 || x.shape().back() != weight.shape()[1])
        xgrad::detail::fail<ShapeError>("linear: an input of shape ", x.shape(),
            " does not fit a weight of shape ", weight.shape(), ", which is [out, in]");
    auto const in = static_cast<std::ptrdiff_t>(weight.shape()[1]);
    bool const stacked =
        x.dim() > 2; // one product of two matrices, also for the gradient of the weight
    Tensor<T> y = matmul(stacked ? reshape(x, {static_cast<std::ptrdiff_t>(numel(
                                                   Shape(x.shape().begin(), x.shape().end() - 1))),
                                                  in})
                                 : x,
        mT(weight));
    if (bias.defined()) {
        xgrad::detail::check_broadcasts("linear", "a bias", bias.shape(), "an output", y.shape());
        y = y + bias;
    }
    if (!stacked) return y;
    Axes shape(x.shape());
    shape.back() = static_cast<std::ptrdiff_t>(weight.shape()[0]);
    return xgrad::detail::only_reshaped(reshape(y, shape));
}

/// y_k = sum_ij x1_i W_kij x2_j + b_k on the last axes: W of shape [out, in1, in2], b [out] or
/// undefined.
template <Scalar T>
Tensor<T> bilinear(Tensor<T> const& x1, std::type_identity_t<Tensor<T>> const& x2,
    std::type_identity_t<Tensor<T>> const& weight,
    std::type_identity_t<Tensor<T>> const& bias = {}) {
    auto const& w = weight.shape();
    bool fits = w.size() == 3 && x1.dim() && x2.dim() && x1.shape().back() == w[1] &&
                x2.shape().back() == w[2];
    if (fits) {
        Shape others(x1.shape().begin(), x1.shape().end() - 1);
        fits = xgrad::detail::widen(others, Shape(x2.shape().begin(), x2.shape().end() - 1));
    }
    if (!fits)
        xgrad::detail::fail<ShapeError>("bilinear: inputs of shapes ", x1.shape(), " and ",
            x2.shape(), " do not fit a weight of shape ", w, ", which is [out, in1, in2]");
    // [..., in1] times [in1, out in2] is [..., out in2]; its rows of in2 elements are multiplied by
    // x2
    auto const out = static_cast<std::ptrdiff_t>(w[0]), in1 = static_cast<std::ptrdiff_t>(w[1]),
               in2 = static_cast<std::ptrdiff_t>(w[2]);
    Axes rows(x1.shape());
    rows.back() = out;
    rows.push_back(in2);
    Tensor<T> const half =
        reshape(Tensor<T>(matmul(x1, reshape(permute(weight, {1, 0, 2}), {in1, out * in2}))), rows);
    Tensor<T> const y = sum(half * unsqueeze(x2, -2), {-1});
    if (!bias.defined()) return y;
    xgrad::detail::check_broadcasts("bilinear", "a bias", bias.shape(), "an output", y.shape());
    return y + bias;
}

} // namespace functional

/// Options of Linear, Bilinear, LSTMCell and GRUCell.
struct LinearOptions {
    bool bias = true; // false for no bias
};

/// y = x W^T + b on the last axis. weight [out_features, in_features] and bias [out_features] begin
/// uniform on +-1/sqrt(in_features), of complex numbers both parts; without a bias it is undefined.
template <Differentiable T = double> struct Linear : Module<Linear<T>> {
    using Options = LinearOptions;
    /// `weight` is [out_features, in_features], `bias` is [out_features] or undefined.
    Parameter<T> weight, bias;

    Linear(std::size_t in_features, std::size_t out_features, Options const& o = {})
        : Linear(in_features, out_features, o.bias) {}
    template <std::same_as<bool> Bool> // not {}
    Linear(std::size_t in_features, std::size_t out_features, Bool has_bias)
        : weight(*this, "weight", detail::uniform_for<T>(in_features, {out_features, in_features})),
          bias(*this, "bias",
              has_bias ? detail::uniform_for<T>(in_features, {out_features}) : Tensor<T>()) {}
    Tensor<T> forward(Tensor<T> const& x) const { return functional::linear(x, weight, bias); }
    std::string extra_repr() const override {
        return "in_features=" + std::to_string(weight.shape()[1]) +
               ", out_features=" + std::to_string(weight.shape()[0]) +
               ", bias=" + (bias.defined() ? "true" : "false");
    }
};

/// y_k = x1 W_k x2 + b_k on the last axes. weight [out_features, in1_features, in2_features] and
/// bias begin uniform on +-1/sqrt(in1_features).
template <Differentiable T = double> struct Bilinear : Module<Bilinear<T>> {
    using Options = LinearOptions;
    /// `weight` is [out_features, in1_features, in2_features], `bias` is [out_features] or
    /// undefined.
    Parameter<T> weight, bias;

    Bilinear(std::size_t in1_features, std::size_t in2_features, std::size_t out_features,
        Options const& o = {})
        : Bilinear(in1_features, in2_features, out_features, o.bias) {}
    template <std::same_as<bool> Bool> // not {}
    Bilinear(
        std::size_t in1_features, std::size_t in2_features, std::size_t out_features, Bool has_bias)
        : weight(*this, "weight",
              detail::uniform_for<T>(in1_features, {out_features, in1_features, in2_features})),
          bias(*this, "bias",
              has_bias ? detail::uniform_for<T>(in1_features, {out_features}) : Tensor<T>()) {}
    Tensor<T> forward(Tensor<T> const& x1, Tensor<T> const& x2) const {
        return functional::bilinear(x1, x2, weight, bias);
    }
    std::string extra_repr() const override {
        auto const& w = weight.shape();
        return "in1_features=" + std::to_string(w[1]) + ", in2_features=" + std::to_string(w[2]) +
               ", out_features=" + std::to_string(w[0]) +
               ", bias=" + (bias.defined() ? "true" : "false");
    }
};

} // namespace xgrad::nn
