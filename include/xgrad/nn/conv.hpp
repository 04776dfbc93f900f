// Convolutions and their transposes over one and two axes, as functions.
//
// Shapes: x: [N, C, L] or [C, L], [N, C, H, W] or [C, H, W]; weight: [O, C/groups, K...],
// transposed [C, O/groups, K...]; bias: [O]. Each function has the extents of its result.
// Gradients: of input, weight and bias, of any order, in backward and forward mode; complex ones as
// PyTorch's, dL/dRe + i dL/dIm.
// Errors: shapes, groups, or options that do not fit, and a kernel larger than the padded input,
// are a ShapeError; an undefined input or weight is an Error. Integers do not compile.
#pragma once

#include <xgrad/nn/convolution.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::nn {

/// Options of a convolution; `padding` adds zeros on both sides of each axis.
template <std::size_t D> struct ConvOptions {
    /// `stride` is the step from window to window, `padding` the number of zeros on both sides of
    /// the axis, `dilation` the step between the elements of a window. Each is one integer, or one
    /// for each axis. A stride or dilation below 1, or a padding below 0, is a ShapeError.
    PerAxis<D> stride = 1, padding = 0, dilation = 1;
    /// Channels are divided into so many groups, which are convolved apart. It must divide
    /// in_channels and out_channels.
    std::size_t groups = 1;
    bool bias = true; // of layers: functions get a bias, or none
};
/// Options of a transposed convolution; output_padding adds to the output size, which is ambiguous
/// for strides above 1.
template <std::size_t D> struct ConvTransposeOptions {
    /// `stride` and `padding` are those of the convolution whose transpose this is: a larger stride
    /// makes a larger output, and the padding is cut off. `output_padding` is added to the output
    /// size. Each is one integer, or one for each axis. An output_padding that is neither below the
    /// stride nor below the dilation is a ShapeError.
    PerAxis<D> stride = 1, padding = 0, output_padding = 0;
    std::size_t groups = 1;  // as in ConvOptions
    PerAxis<D> dilation = 1; // as in ConvOptions
    bool bias = true;        // of layers: functions get a bias, or none
};

namespace detail {

/// Checks the operands of a convolution or transposed convolution and returns its geometry, in
/// which the spatial extents of the result are still missing.
template <std::size_t D, Scalar T>
ConvGeometry conv_geometry(std::string_view name, bool transposed, Tensor<T> const& x,
    Tensor<T> const& weight, Tensor<T> const& bias, PerAxis<D> stride, PerAxis<D> padding,
    PerAxis<D> dilation, std::size_t groups) {
    using xgrad::detail::fail;
    xgrad::detail::check_defined(name, x);
    xgrad::detail::check_defined(name, weight, 1);
    auto const extents = spatial_extents<D>(name, x.shape());
    auto const& w = weight.shape();
    if (w.size() != D + 2)
        fail<ShapeError>(name, ": the weight needs ", D + 2, " axes, not shape ", w);
    PerAxis<D> kernel(1);
    for (std::size_t d = 0; d < D; ++d) kernel.along[d] = static_cast<std::ptrdiff_t>(w[2 + d]);
    check_window(name, kernel, stride, padding, dilation);
    if (groups == 0) fail<ShapeError>(name, ": the number of groups must be positive");
    if (w[0] == 0 || w[0] % groups != 0)
        fail<ShapeError>(name, ": ", groups,
            " groups need a weight whose first extent they divide, not shape ", w);

    ConvGeometry g{.axes = D,
        .batch = x.dim() == D + 2 ? x.shape()[0] : 1,
        .channels = w[1] * groups,
        .out_channels = w[0],
        .groups = groups};
    auto const channels = x.shape()[x.dim() - D - 1],
               wanted = transposed ? g.out_channels : g.channels,
               made = transposed ? g.channels : g.out_channels;
    if (channels != wanted)
        fail<ShapeError>("Given ", transposed ? "transposed=1" : "groups=" + std::to_string(groups),
            ", weight of size ", w, ", expected input", x.shape(), " of ", name, " to have ",
            wanted, " channels, but got ", channels, " channels instead");
    if (bias.defined() && !(bias.shape() == Shape{made}))
        fail<ShapeError>(name, ": a weight of size ", w, " needs a bias with ", made,
            " elements, not one of shape ", bias.shape());
    for (std::size_t d = 0; d < D; ++d) {
        AxisGeometry& axis = d + 1 == D ? g.columns : g.rows;
        axis = axis_geometry(d, kernel.along[d], stride, padding, dilation);
        (transposed ? axis.windows : axis.extent) = extents[d];
    }
    return g;
}

/// The convolution of a batch, or of one sample without a batch axis.
template <ConvPart part, std::size_t D, Scalar T>
Tensor<T> convolve(
    ConvGeometry const& g, Tensor<T> const& x, Tensor<T> const& weight, Tensor<T> const& bias) {
    bool const batched = x.dim() == D + 2;
    Tensor<T> const input = batched ? x : unsqueeze(x, 0);
    Tensor<T> const y = bias.defined()
                            ? express(BiasedConvolution<part>{{{}, g}}, input, weight, bias)
                            : express(Convolution<part>{{}, g}, input, weight);
    return batched ? y : squeeze(y, 0);
}

template <std::size_t D, Scalar T>
Tensor<T> conv(std::string_view name, Tensor<T> const& x, Tensor<T> const& weight,
    Tensor<T> const& bias, ConvOptions<D> const& o) {
    auto g =
        conv_geometry<D>(name, false, x, weight, bias, o.stride, o.padding, o.dilation, o.groups);
    for (AxisGeometry* axis : {&g.rows, &g.columns}) {
        if (axis->padded() < axis->reach()) {
            std::array<std::ptrdiff_t, D> image, window;
            for (std::size_t d = 0; d < D; ++d) {
                AxisGeometry const& s = d + 1 == D ? g.columns : g.rows;
                image[d] = static_cast<std::ptrdiff_t>(s.padded());
                window[d] = static_cast<std::ptrdiff_t>(s.reach());
            }
            xgrad::detail::fail<ShapeError>(name,
                ": Calculated padded input size per channel: ", sizes_text(image),
                ". Kernel size: ", sizes_text(window),
                ". Kernel size can't be greater than actual input size");
        }
        axis->windows = (axis->padded() - axis->reach()) / axis->stride + 1;
    }
    return convolve<ConvPart::output, D>(g, x, weight, bias);
}

template <std::size_t D, Scalar T>
Tensor<T> conv_transpose(std::string_view name, Tensor<T> const& x, Tensor<T> const& weight,
    Tensor<T> const& bias, ConvTransposeOptions<D> const& o) {
    auto g =
        conv_geometry<D>(name, true, x, weight, bias, o.stride, o.padding, o.dilation, o.groups);
    for (std::size_t d = 0; d < D; ++d) {
        AxisGeometry& axis = d + 1 == D ? g.columns : g.rows;
        auto const more = o.output_padding.along[d];
        if (more < 0 || (static_cast<std::size_t>(more) >= axis.stride &&
                            static_cast<std::size_t>(more) >= axis.dilation))
            xgrad::detail::fail<ShapeError>(name,
                ": output padding must be smaller than either stride or dilation, but got "
                "output_padding ",
                o.output_padding.along, ", stride ", o.stride.along, ", dilation ",
                o.dilation.along);
        std::size_t const last = axis.reach() + static_cast<std::size_t>(more);
        using xgrad::detail::add_extents, xgrad::detail::multiply_extents;
        std::size_t const all =
            axis.windows == 0
                ? 0
                : add_extents(name, multiply_extents(name, axis.windows - 1, axis.stride), last);
        if (all <= 2 * axis.padding)
            xgrad::detail::fail<ShapeError>(name, ": an input of shape ", x.shape(),
                " with padding ", o.padding.along, " gives an output without elements");
        axis.extent = all - 2 * axis.padding;
    }
    return convolve<ConvPart::input, D>(g, x, weight, bias);
}

} // namespace detail

namespace functional {

/// Cross-correlation with zero padding: y[n,o,t] = b[o] + sum over channels c of the group and
/// taps i of w[o,c,i] x[n, c, t stride + i dilation - padding]. x of shape [N, C, L] or [C, L], w
/// [O, C/groups, K], b [O] or undefined; the result is [N, O, floor((L + 2 padding - dilation (K-1)
/// - 1) / stride) + 1]. Complex numbers are not conjugated.
template <Differentiable T>
Tensor<T> conv1d(Tensor<T> const& x, std::type_identity_t<Tensor<T>> const& weight,
    std::type_identity_t<Tensor<T>> const& bias = {}, ConvOptions<1> const& options = {}) {
    return detail::conv<1>("conv1d", x, weight, bias, options);
}
/// Cross-correlation as conv1d(), over two axes: x of shape [N, C, H, W] or [C, H, W], w [O,
/// C/groups, KH, KW].
template <Differentiable T>
Tensor<T> conv2d(Tensor<T> const& x, std::type_identity_t<Tensor<T>> const& weight,
    std::type_identity_t<Tensor<T>> const& bias = {}, ConvOptions<2> const& options = {}) {
    return detail::conv<2>("conv2d", x, weight, bias, options);
}

/// The transpose of conv1d() with the same weight, which here is [C, O/groups, K] for x of shape
/// [N, C, L] or [C, L]: the result is [N, O, (L-1) stride - 2 padding + dilation (K-1) +
/// output_padding + 1].
template <Differentiable T>
Tensor<T> conv_transpose1d(Tensor<T> const& x, std::type_identity_t<Tensor<T>> const& weight,
    std::type_identity_t<Tensor<T>> const& bias = {}, ConvTransposeOptions<1> const& options = {}) {
    return detail::conv_transpose<1>("conv_transpose1d", x, weight, bias, options);
}
/// The transpose of conv2d(): x of shape [N, C, H, W] or [C, H, W], w [C, O/groups, KH, KW].
template <Differentiable T>
Tensor<T> conv_transpose2d(Tensor<T> const& x, std::type_identity_t<Tensor<T>> const& weight,
    std::type_identity_t<Tensor<T>> const& bias = {}, ConvTransposeOptions<2> const& options = {}) {
    return detail::conv_transpose<2>("conv_transpose2d", x, weight, bias, options);
}

} // namespace functional
} // namespace xgrad::nn
