// Bodies of layers.hpp and layer_arguments.hpp.
#pragma once

#include <xgrad/package/layer_arguments.hpp>
#include <xgrad/package/layers.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION Registry& registry() {
    [[maybe_unused]] static bool const added = (add_layers(Registry::program()), true);
    return Registry::program();
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> make_container(
    std::string_view name, std::optional<DType> dtype) {
    if (name == "xgrad.nn.ModuleList" && !dtype)
        return std::make_unique<nn::ModuleList<nn::AnyModule>>();
    if (name != "xgrad.nn.Sequential" || !dtype) return nullptr;
    switch (*dtype) {
    case DType::float32:
        return std::make_unique<nn::Sequential<float>>();
    case DType::float64:
        return std::make_unique<nn::Sequential<double>>();
    case DType::complex64:
        return std::make_unique<nn::Sequential<std::complex<float>>>();
    case DType::complex128:
        return std::make_unique<nn::Sequential<std::complex<double>>>();
    default:
        return nullptr;
    }
}

XGRAD_FUNCTION double size_of_bilinear(std::size_t in1, std::size_t in2, std::size_t out, bool) {
    return (extent(in1) * extent(in2) + 1) * extent(out);
}

XGRAD_FUNCTION double size_of_batch_norm(std::size_t features, nn::BatchNormOptions const& o) {
    return (2. * o.affine + 2. * o.track_running_stats) * extent(features) + 1;
}

XGRAD_FUNCTION double size_of_shape(Shape const& shape) {
    double size = 1;
    for (auto const n : shape) size *= extent(n);
    return size;
}

XGRAD_FUNCTION double size_of_attention(
    std::size_t embed, std::size_t, nn::MultiheadAttentionOptions const& o) {
    auto const of = [embed](std::size_t dim) { return extent(dim ? dim : embed); };
    return extent(embed) * (2 * extent(embed) + of(o.kdim) + of(o.vdim) + 4);
}

XGRAD_FUNCTION double size_of_encoder_layer(
    std::size_t d_model, std::size_t nhead, nn::TransformerEncoderLayerOptions const& o) {
    return size_of_attention(d_model, nhead, {}) +
           extent(d_model) * (2 * extent(o.dim_feedforward) + 5) + extent(o.dim_feedforward);
}

XGRAD_FUNCTION double size_of_encoder(std::size_t d_model, std::size_t nhead,
    nn::TransformerEncoderLayerOptions const& o, std::size_t num_layers, std::optional<double>) {
    return extent(num_layers) * size_of_encoder_layer(d_model, nhead, o) + 2 * extent(d_model);
}

XGRAD_FUNCTION double size_of_shapes(std::vector<Shape> const& shapes) {
    double size = 0;
    for (auto const& shape : shapes) size += size_of_shape(shape);
    return size;
}
XGRAD_FUNCTION double size_of_weighted_bce(nn::Reduction, std::optional<Shape> const& weight) {
    return weight ? size_of_shape(*weight) : 0;
}
XGRAD_FUNCTION double size_of_weighted_binary_cross_entropy(
    nn::Reduction, std::optional<Shape> const& weight, std::optional<Shape> const& pos_weight) {
    return (weight ? size_of_shape(*weight) : 0) + (pos_weight ? size_of_shape(*pos_weight) : 0);
}

} // namespace xgrad::package::detail
