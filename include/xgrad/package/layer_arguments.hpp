// The arguments that xgrad's own layers are constructed from, how they are read from a layer, and
// how many elements the state of a layer has that is constructed from them.
#pragma once

#include <xgrad/nn.hpp>
#include <xgrad/package/arguments.hpp>

namespace xgrad::package {

template <std::size_t D>
struct Fields<nn::ConvOptions<D>> : FieldList<Argument<"stride", &nn::ConvOptions<D>::stride>,
                                        Argument<"padding", &nn::ConvOptions<D>::padding>,
                                        Argument<"dilation", &nn::ConvOptions<D>::dilation>,
                                        Argument<"groups", &nn::ConvOptions<D>::groups>> {};
template <std::size_t D>
struct Fields<nn::ConvTransposeOptions<D>>
    : FieldList<Argument<"stride", &nn::ConvTransposeOptions<D>::stride>,
          Argument<"padding", &nn::ConvTransposeOptions<D>::padding>,
          Argument<"output_padding", &nn::ConvTransposeOptions<D>::output_padding>,
          Argument<"groups", &nn::ConvTransposeOptions<D>::groups>,
          Argument<"dilation", &nn::ConvTransposeOptions<D>::dilation>> {};
template <std::size_t D>
struct Fields<nn::MaxPoolOptions<D>>
    : FieldList<Argument<"stride", &nn::MaxPoolOptions<D>::stride>,
          Argument<"padding", &nn::MaxPoolOptions<D>::padding>,
          Argument<"dilation", &nn::MaxPoolOptions<D>::dilation>,
          Argument<"ceil_mode", &nn::MaxPoolOptions<D>::ceil_mode>> {};
template <std::size_t D>
struct Fields<nn::AvgPoolOptions<D>>
    : FieldList<Argument<"stride", &nn::AvgPoolOptions<D>::stride>,
          Argument<"padding", &nn::AvgPoolOptions<D>::padding>,
          Argument<"ceil_mode", &nn::AvgPoolOptions<D>::ceil_mode>,
          Argument<"count_include_pad", &nn::AvgPoolOptions<D>::count_include_pad>,
          Argument<"divisor_override", &nn::AvgPoolOptions<D>::divisor_override>> {};
template <>
struct Fields<nn::BatchNormOptions>
    : FieldList<Argument<"eps", &nn::BatchNormOptions::eps>,
          Argument<"momentum", &nn::BatchNormOptions::momentum>,
          Argument<"affine", &nn::BatchNormOptions::affine>,
          Argument<"track_running_stats", &nn::BatchNormOptions::track_running_stats>> {};
template <>
struct Fields<nn::RecurrentOptions>
    : FieldList<Argument<"num_layers", &nn::RecurrentOptions::num_layers>,
          Argument<"bias", &nn::RecurrentOptions::bias>,
          Argument<"batch_first", &nn::RecurrentOptions::batch_first>,
          Argument<"dropout", &nn::RecurrentOptions::dropout>,
          Argument<"bidirectional", &nn::RecurrentOptions::bidirectional>,
          Argument<"proj_size", &nn::RecurrentOptions::proj_size>,
          Argument<"nonlinearity", &nn::RecurrentOptions::nonlinearity>> {};
template <>
struct Fields<nn::MultiheadAttentionOptions>
    : FieldList<Argument<"dropout", &nn::MultiheadAttentionOptions::dropout>,
          Argument<"bias", &nn::MultiheadAttentionOptions::bias>,
          Argument<"batch_first", &nn::MultiheadAttentionOptions::batch_first>,
          Argument<"kdim", &nn::MultiheadAttentionOptions::kdim>,
          Argument<"vdim", &nn::MultiheadAttentionOptions::vdim>> {};
template <>
struct Fields<nn::TransformerEncoderLayerOptions>
    : FieldList<Argument<"dim_feedforward", &nn::TransformerEncoderLayerOptions::dim_feedforward>,
          Argument<"dropout", &nn::TransformerEncoderLayerOptions::dropout>,
          Argument<"activation", &nn::TransformerEncoderLayerOptions::activation>,
          Argument<"layer_norm_eps", &nn::TransformerEncoderLayerOptions::layer_norm_eps>,
          Argument<"batch_first", &nn::TransformerEncoderLayerOptions::batch_first>,
          Argument<"norm_first", &nn::TransformerEncoderLayerOptions::norm_first>> {};

namespace detail {

// How arguments are read from layers that do not keep them as members.

template <class M, std::size_t axis> std::size_t weight_extent(M const& m) {
    return m.weight.shape()[axis];
}
template <class M> bool has_bias(M const& m) { return m.bias.defined(); }
/// The channels of a convolution: `in` and `out` are the axes of its weight that count them.
template <class M, bool transposed> std::size_t in_channels(M const& m) {
    return transposed ? m.weight.shape()[0] : m.weight.shape()[1] * m.options.groups;
}
template <class M, bool transposed> std::size_t out_channels(M const& m) {
    return transposed ? m.weight.shape()[1] * m.options.groups : m.weight.shape()[0];
}
template <class M, std::size_t D> nn::PerAxis<D> kernel_size(M const& m) {
    nn::PerAxis<D> kernel(0);
    for (std::size_t d = 0; d < D; ++d)
        kernel.along[d] = static_cast<std::ptrdiff_t>(m.weight.shape()[2 + d]);
    return kernel;
}
/// `bias` is an argument of its own in the format, and an option of the constructor.
template <class M, std::size_t D>
M make_conv(std::size_t in, std::size_t out, nn::PerAxis<D> const& kernel,
    typename M::Options options, bool bias) {
    options.bias = bias;
    return M(in, out, kernel, options);
}
template <class T> std::vector<Shape> parameter_shapes(nn::ParameterList<T> const& list) {
    std::vector<Shape> shapes;
    for (auto const& p : list) shapes.push_back(p.shape());
    return shapes;
}
template <class T> nn::ParameterList<T> make_parameter_list(std::vector<Shape> const& shapes) {
    nn::ParameterList<T> list;
    for (auto const& shape : shapes) list.append(zeros<T>(shape));
    return list;
}
template <class M> std::size_t bias_features(M const& m) { return m.bias.shape()[0]; }
template <class M> std::size_t num_channels(M const& m) {
    return m.weight.defined() ? m.weight.shape()[0] : m.num_groups;
}
template <class M> bool is_affine(M const& m) { return m.weight.defined(); }
template <class M> std::size_t input_size(M const& m) { return m.weight_ih.shape()[1]; }
template <class M> std::size_t hidden_size(M const& m) { return m.weight_hh.shape()[1]; }
template <class M> bool has_bias_ih(M const& m) { return m.bias_ih.defined(); }
template <class M> std::size_t embed_dim(M const& m) { return m.out_proj.weight.shape()[1]; }

template <class M> std::size_t d_model(M const& layer) { return embed_dim(layer.self_attn); }
template <class M> std::size_t nhead(M const& layer) { return layer.self_attn.num_heads(); }
template <class M> nn::TransformerEncoderLayerOptions encoder_layer_options(M const& layer) {
    return {.dim_feedforward = layer.linear1.weight.shape()[0],
        .dropout = layer.dropout.p,
        .activation = layer.activation,
        .layer_norm_eps = layer.norm1.eps,
        .batch_first = layer.self_attn.options().batch_first,
        .norm_first = layer.norm_first};
}
template <class T> auto const& first_layer(nn::TransformerEncoder<T> const& m) {
    if (m.layers.empty())
        fail<PackageError>("a TransformerEncoder without layers cannot be stored");
    return m.layers[0];
}
template <class T> std::size_t encoder_d_model(nn::TransformerEncoder<T> const& m) {
    return d_model(first_layer(m));
}
template <class T> std::size_t encoder_nhead(nn::TransformerEncoder<T> const& m) {
    return nhead(first_layer(m));
}
template <class T>
nn::TransformerEncoderLayerOptions encoder_options(nn::TransformerEncoder<T> const& m) {
    return encoder_layer_options(first_layer(m));
}
template <class T> std::size_t encoder_num_layers(nn::TransformerEncoder<T> const& m) {
    return m.layers.size();
}
/// The eps of the normalisation at the end, where there is one.
template <class T> std::optional<double> encoder_norm(nn::TransformerEncoder<T> const& m) {
    for (auto const& child : const_cast<nn::TransformerEncoder<T>&>(m).named_children())
        if (child.name == "norm") return static_cast<nn::LayerNorm<T>&>(*child.module).eps;
    return {};
}
template <class T>
nn::TransformerEncoder<T> make_encoder(std::size_t d_model, std::size_t nhead,
    nn::TransformerEncoderLayerOptions const& options, std::size_t num_layers,
    std::optional<double> norm_eps) {
    nn::TransformerEncoderLayer<T> const layer(d_model, nhead, options);
    return norm_eps
               ? nn::TransformerEncoder<T>(layer, num_layers, nn::LayerNorm<T>(d_model, *norm_eps))
               : nn::TransformerEncoder<T>(layer, num_layers);
}

template <class M> std::optional<std::size_t> class_count(M const& m) {
    if (m.weight.defined()) return m.weight.shape()[0];
    return {};
}
template <class M> nn::Reduction class_reduction(M const& m) { return m.options.reduction; }
template <class M> std::int64_t class_ignore_index(M const& m) { return m.options.ignore_index; }
template <class M> double class_label_smoothing(M const& m) { return m.options.label_smoothing; }
// Weights are buffers, so their values come with the state.
template <class T>
nn::CrossEntropyLoss<T> make_cross_entropy(std::optional<std::size_t> classes,
    nn::Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
    return nn::CrossEntropyLoss<T>({.weight = classes ? ones<T>({*classes}) : Tensor<T>(),
        .reduction = reduction,
        .ignore_index = ignore_index,
        .label_smoothing = label_smoothing});
}
template <class T>
nn::NLLLoss<T> make_nll(
    std::optional<std::size_t> classes, nn::Reduction reduction, std::int64_t ignore_index) {
    return nn::NLLLoss<T>({.weight = classes ? ones<T>({*classes}) : Tensor<T>(),
        .reduction = reduction,
        .ignore_index = ignore_index});
}

template <class T> std::optional<Shape> shape_of(Tensor<T> const& t) {
    if (t.defined()) return t.shape();
    return {};
}
template <class M> std::optional<Shape> weight_shape(M const& m) { return shape_of(m.weight); }
template <class M> std::optional<Shape> pos_weight_shape(M const& m) {
    return shape_of(m.pos_weight);
}
template <class T>
nn::BCELoss<T> make_bce(nn::Reduction reduction, std::optional<Shape> const& weight) {
    return nn::BCELoss<T>(reduction, weight ? ones<T>(*weight) : Tensor<T>());
}
template <class T>
nn::BCEWithLogitsLoss<T> make_binary_cross_entropy(nn::Reduction reduction,
    std::optional<Shape> const& weight, std::optional<Shape> const& pos_weight) {
    auto const of = [](std::optional<Shape> const& s) { return s ? ones<T>(*s) : Tensor<T>(); };
    return nn::BCEWithLogitsLoss<T>(reduction, of(weight), of(pos_weight));
}

// How many elements the states of layers have. An extent of 0 counts as 1: strides are products of
// extents, too.

inline double extent(std::size_t n) { return n ? static_cast<double>(n) : 1; }
inline double size_of_linear(std::size_t in, std::size_t out, bool) {
    return extent(in) * extent(out) + extent(out);
}
double size_of_bilinear(std::size_t in1, std::size_t in2, std::size_t out, bool);
template <std::size_t D, class Options>
double size_of_conv(
    std::size_t in, std::size_t out, nn::PerAxis<D> const& kernel, Options const& options, bool) {
    double size = extent(in) * extent(out) / extent(options.groups);
    for (auto const n : kernel.along) size *= n > 0 ? static_cast<double>(n) : 1;
    return size + extent(out);
}
double size_of_batch_norm(std::size_t features, nn::BatchNormOptions const& o);
inline double size_of_group_norm(std::size_t, std::size_t channels, double, bool affine) {
    return affine ? 2 * extent(channels) : 0;
}
double size_of_shape(Shape const& shape);
double size_of_shapes(std::vector<Shape> const& shapes);
inline double size_of_layer_norm(Shape const& shape, double, bool affine) {
    return affine ? 2 * size_of_shape(shape) : 0;
}
inline double size_of_embedding(std::size_t count, std::size_t dim, std::optional<std::int64_t>) {
    return extent(count) * extent(dim);
}
inline double size_of_features(std::size_t features) { return extent(features); }
template <std::size_t gates>
double size_of_recurrent(std::size_t in, std::size_t hidden, nn::RecurrentOptions const& o) {
    double const directions = o.bidirectional ? 2 : 1,
                 out = extent(o.proj_size ? o.proj_size : hidden),
                 rows = double(gates) * extent(hidden);
    auto const layer = [&](double input) {
        return directions *
               (rows * (input + out + 2 * o.bias) + double(o.proj_size) * extent(hidden));
    };
    return layer(extent(in)) + (extent(o.num_layers) - 1) * layer(directions * out);
}
template <std::size_t gates> double size_of_cell(std::size_t in, std::size_t hidden, bool) {
    return double(gates) * extent(hidden) * (extent(in) + extent(hidden) + 2);
}
inline double size_of_elman_cell(std::size_t in, std::size_t hidden, bool bias, nn::Nonlinearity) {
    return size_of_cell<1>(in, hidden, bias);
}
double size_of_attention(std::size_t embed, std::size_t, nn::MultiheadAttentionOptions const& o);
double size_of_encoder_layer(
    std::size_t d_model, std::size_t nhead, nn::TransformerEncoderLayerOptions const& o);
double size_of_encoder(std::size_t d_model, std::size_t nhead,
    nn::TransformerEncoderLayerOptions const& o, std::size_t num_layers, std::optional<double>);
inline double size_of_weighted_nll(
    std::optional<std::size_t> classes, nn::Reduction, std::int64_t) {
    return classes ? extent(*classes) : 0;
}
inline double size_of_weighted_cross_entropy(
    std::optional<std::size_t> classes, nn::Reduction, std::int64_t, double) {
    return classes ? extent(*classes) : 0;
}
double size_of_weighted_bce(nn::Reduction, std::optional<Shape> const& weight);
double size_of_weighted_binary_cross_entropy(
    nn::Reduction, std::optional<Shape> const& weight, std::optional<Shape> const& pos_weight);

} // namespace detail
} // namespace xgrad::package
