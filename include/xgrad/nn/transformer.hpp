// The encoder of a transformer.
//
// Shapes: x: [L, N, E], [N, L, E] if batch_first, or [L, E] gives the same shape; masks are those
// of MultiheadAttention.
// Gradients: of x, masks of real numbers and parameters, of any order, in backward and forward
// mode.
// Errors: shapes that do not fit are a ShapeError; a probability outside of [0, 1], heads that do
// not divide d_model, an unknown activation and an undefined input are an Error. Complex tensors do
// not compile.
#pragma once

#include <xgrad/nn/activation_modules.hpp>
#include <xgrad/nn/attention.hpp>
#include <xgrad/nn/layer_norm.hpp>
#include <xgrad/nn/module_list.hpp>

namespace xgrad::nn {

/// The activation of transformer layers: relu or gelu.
enum class TransformerActivation : unsigned char { relu, gelu };
constexpr std::string_view choice_names(TransformerActivation) { return "activation: relu gelu"; }

/// Options of TransformerEncoderLayer.
struct TransformerEncoderLayerOptions {
    std::size_t dim_feedforward = 2048; // features between the two linear layers
    double dropout = 0.1;               // probability of a 0, in all dropouts of the layer
    Choice<TransformerActivation> activation = TransformerActivation::relu; // "relu" or "gelu"
    double layer_norm_eps = 1e-5; // `eps` of both LayerNorms
    /// Tensors are [N, L, E], not [L, N, E].
    bool batch_first = false;
    /// Normalise before attention and the linear layers instead of after.
    bool norm_first = false;
};

/// Self-attention and two linear layers, each with a residual connection, dropout and normalisation
/// (Vaswani et al., 2017). Called with x [L, N, d_model] and, if you like, a src_mask and a
/// src_key_padding_mask: those of MultiheadAttention.
template <RealScalar T = double>
class TransformerEncoderLayer : public Module<TransformerEncoderLayer<T>> {
    using Mask = AttentionMask<T>;

public:
    using Options = TransformerEncoderLayerOptions;
    Child<MultiheadAttention<T>> self_attn; // queries, keys and values are x
    Child<Linear<T>> linear1;               // from d_model to dim_feedforward
    Child<Dropout> dropout;                 // after the activation
    Child<Linear<T>> linear2;               // from dim_feedforward to d_model
    /// `norm1` belongs to the attention, `norm2` to the linear layers.
    Child<LayerNorm<T>> norm1, norm2;
    /// `dropout1` is after the attention, `dropout2` after linear2.
    Child<Dropout> dropout1, dropout2;
    TransformerActivation activation; // between the linear layers
    bool norm_first;                  // see TransformerEncoderLayerOptions

    TransformerEncoderLayer(std::size_t d_model, std::size_t nhead, Options const& o = {})
        : self_attn(*this, "self_attn", d_model, nhead,
              MultiheadAttentionOptions{.dropout = o.dropout, .batch_first = o.batch_first}),
          linear1(*this, "linear1", d_model, o.dim_feedforward),
          dropout(*this, "dropout", o.dropout),
          linear2(*this, "linear2", o.dim_feedforward, d_model),
          norm1(*this, "norm1", d_model, LayerNormOptions{.eps = o.layer_norm_eps}),
          norm2(*this, "norm2", d_model, LayerNormOptions{.eps = o.layer_norm_eps}),
          dropout1(*this, "dropout1", o.dropout), dropout2(*this, "dropout2", o.dropout),
          activation(o.activation), norm_first(o.norm_first) {}

    Tensor<T> forward(Tensor<T> const& x) const { return forward(x, {}, {}); }
    Tensor<T> forward(Tensor<T> const& x, Mask const& src_mask) const {
        return forward(x, src_mask, {});
    }
    Tensor<T> forward(
        Tensor<T> const& x, Mask const& src_mask, Mask const& src_key_padding_mask) const {
        MultiheadAttentionMasks<T> const masks{
            .key_padding_mask = src_key_padding_mask, .attn_mask = src_mask, .need_weights = false};
        if (norm_first) {
            Tensor<T> const y = x + attend(norm1(x), masks);
            return y + feed(norm2(y));
        }
        Tensor<T> const y = norm1(Tensor<T>(x + attend(x, masks)));
        return norm2(Tensor<T>(y + feed(y)));
    }

private:
    Tensor<T> attend(Tensor<T> const& x, MultiheadAttentionMasks<T> const& masks) const {
        return dropout1(std::get<0>(self_attn(x, x, x, masks)));
    }
    Tensor<T> feed(Tensor<T> const& x) const {
        Tensor<T> const inner = linear1(x);
        return dropout2(
            linear2(dropout(activation == TransformerActivation::relu ? Tensor<T>(relu(inner))
                                                                      : Tensor<T>(gelu(inner)))));
    }
};

/// A stack of layers, initially copies of one, and an optional final normalisation.
template <RealScalar T = double> class TransformerEncoder : public Module<TransformerEncoder<T>> {
    using Mask = AttentionMask<T>;

public:
    /// The layers, from first to last.
    Child<ModuleList<TransformerEncoderLayer<T>>> layers{*this, "layers"};

    TransformerEncoder(TransformerEncoderLayer<T> const& layer, std::size_t num_layers) {
        for (std::size_t i = 0; i < num_layers; ++i) layers.push_back(layer);
    }
    TransformerEncoder(
        TransformerEncoderLayer<T> const& layer, std::size_t num_layers, LayerNorm<T> const& norm)
        : TransformerEncoder(layer, num_layers) {
        this->own("norm", std::make_unique<LayerNorm<T>>(norm));
    }

    Tensor<T> forward(Tensor<T> const& x) const { return forward(x, {}, {}); }
    Tensor<T> forward(Tensor<T> const& x, Mask const& mask) const { return forward(x, mask, {}); }
    Tensor<T> forward(Tensor<T> x, Mask const& mask, Mask const& src_key_padding_mask) const {
        for (std::size_t i = 0; i < layers.size(); ++i)
            x = layers[i](x, mask, src_key_padding_mask);
        bool const has_norm = this->member_count() > 1;
        return has_norm ? static_cast<LayerNorm<T> const&>(this->owned(1))(x) : x;
    }
};

} // namespace xgrad::nn
