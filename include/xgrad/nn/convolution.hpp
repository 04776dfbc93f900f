// Convolutions as operations.
//
// sum(output * conv(input, weight)) is a trilinear form of output, input and weight. ConvPart names
// the one that an operation computes from the other two: output is the convolution, input the
// transposed convolution, weight the gradient of the weight. The gradients of each operation are
// the other two, so that gradients of any order need no further code.
//
// Shapes: input: [N, C, ...], weight: [O, C/groups, K...], output: [N, O, ...]; the geometry has
// all extents.
// Gradients: each part's operation is the gradient of the others', so of any order, in backward and
// forward mode. Complex numbers are conjugated in gradients only.
// Errors: nothing is checked here: the functions in conv.hpp check shapes and options.
//
// Read next: convolution_plan.hpp, convolution_lines.hpp (the layout of the input),
// correlation.hpp, weight_gradient.hpp, correlation_kernel.hpp (inner loops). Benchmark: networks.
#pragma once

#include <xgrad/kernels/gemm.hpp>
#include <xgrad/nn/correlation.hpp>
#include <xgrad/nn/weight_gradient.hpp>
#include <xgrad/ops/reduction.hpp>

namespace xgrad::nn {

namespace detail {

/// The computation of the output from input and weight.
template <class T> Correlation<T> output_correlation(ConvGeometry const& g) {
    return {.batch = g.batch,
        .groups = g.groups,
        .sources = g.channels_of_group(),
        .results = g.out_channels_of_group(),
        .step_of_source = g.taps(),
        .step_of_result = g.depth(),
        .weight_size = g.out_channels_of_group() * g.depth(),
        .height = g.rows.windows,
        .width = g.columns.windows,
        .rows = output_plan(g.rows),
        .columns = output_plan(g.columns)};
}
/// The computation of the input from output and weight: the transposed convolution.
template <class T> Correlation<T> input_correlation(ConvGeometry const& g) {
    return {.batch = g.batch,
        .groups = g.groups,
        .sources = g.out_channels_of_group(),
        .results = g.channels_of_group(),
        .step_of_source = g.depth(),
        .step_of_result = g.taps(),
        .weight_size = g.out_channels_of_group() * g.depth(),
        .height = g.rows.extent,
        .width = g.columns.extent,
        .rows = input_plan(g.rows),
        .columns = input_plan(g.columns)};
}

} // namespace detail

/// The part of a convolution that an operation computes: output, input or weight. Its operands are
/// the other two, in this order.
enum class ConvPart : unsigned char { output, input, weight };

namespace detail {

/// The case that is a matrix product for each group: input [batch, depth], weight [out_channels,
/// depth] and output [batch, out_channels].
template <ConvPart part, class T>
void multiply_whole(
    ConvGeometry const& g, Factor<T> const& a, Factor<T> const& b, T const* bias, T* out) {
    auto const depth = static_cast<std::ptrdiff_t>(g.depth()),
               all = depth * static_cast<std::ptrdiff_t>(g.groups),
               out_channels = static_cast<std::ptrdiff_t>(g.out_channels);
    if (bias) {
        std::size_t const results = part == ConvPart::output ? g.out_channels : g.channels,
                          numbers = part == ConvPart::output ? 1 : g.taps();
        for (std::size_t k = 0; k < g.batch * results; ++k)
            std::fill_n(out + k * numbers, numbers, bias[k % results]);
    }
    for (std::size_t group = 0; group < g.groups; ++group) {
        std::size_t const m = g.out_channels_of_group(), input_begin = group * g.depth(),
                          output_begin = group * m, weight_begin = output_begin * g.depth();
        using xgrad::detail::gemm;
        if constexpr (part == ConvPart::output)
            gemm(g.batch, m, g.depth(), a.data + input_begin, all, 1, a.conj, b.data + weight_begin,
                1, depth, b.conj, out + output_begin, out_channels, bias != nullptr);
        else if constexpr (part == ConvPart::input)
            gemm(g.batch, g.depth(), m, a.data + output_begin, out_channels, 1, a.conj,
                b.data + weight_begin, depth, 1, b.conj, out + input_begin, all, bias != nullptr);
        else
            gemm(m, g.depth(), g.batch, b.data + output_begin, 1, out_channels, b.conj,
                a.data + input_begin, all, 1, a.conj, out + weight_begin, depth, false);
    }
}

} // namespace detail

/// Computes output from (input, weight), input from (output, weight), or weight from (input,
/// output).
template <ConvPart part> struct Convolution : Arraywise {
    detail::ConvGeometry geometry; // the extents
    /// Whether the first operand (conj_a) and the second one (conj_b) are conjugated.
    bool conj_a = false, conj_b = false;
    static constexpr bool is_multilinear = true;
    static constexpr xgrad::detail::Uses uses[2] = {
        xgrad::detail::uses_argument(1), xgrad::detail::uses_argument(0)};
    /// The batch of input and output, and the channels that the weight also has.
    Axes kept_axes(std::size_t operand, std::size_t rank_of_operand, std::size_t rank) const {
        Axes kept(rank, -1);
        if (rank_of_operand != rank) kept[1] = 0; // the bias
        else if (part != ConvPart::weight && operand == 0) kept[0] = 0;
        else if (part == ConvPart::output) kept[1] = 0;
        else if (part == ConvPart::weight && operand == 1) kept[0] = 1;
        else if (geometry.groups == 1) kept[1] = 1;
        return kept;
    }

    template <Scalar T>
    auto value(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b) const {
        return computed(a, b, nullptr);
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&, auto const& b) const {
        constexpr auto other = part == ConvPart::input ? ConvPart::output : ConvPart::input;
        Convolution<other> const op{{}, geometry, conj_a, conj_a == conj_b};
        if constexpr (part == ConvPart::weight)
            return express(Convolution<other>{{}, geometry, op.conj_b, op.conj_a}, b, g);
        else return express(op, g, b);
    }
    auto pullback(wrt<1>, auto const& g, auto const&, auto const& a, auto const&) const {
        constexpr auto other = part == ConvPart::weight ? ConvPart::output : ConvPart::weight;
        Convolution<other> const op{{}, geometry, conj_a == conj_b, conj_b};
        if constexpr (part == ConvPart::input)
            return express(Convolution<other>{{}, geometry, op.conj_b, op.conj_a}, g, a);
        else return express(op, a, g);
    }

protected:
    template <Scalar T>
    auto computed(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b,
        std::type_identity_t<T> const* bias) const {
        using xgrad::detail::Array;
        Array<T> const first = xgrad::detail::contiguous(a), second = xgrad::detail::contiguous(b);
        Array<T> out(part == ConvPart::output  ? geometry.output_shape()
                     : part == ConvPart::input ? geometry.input_shape()
                                               : geometry.weight_shape());
        detail::Factor<T> const x{first.begin(), conj_a}, y{second.begin(), conj_b};
        if (geometry.is_matrix_product())
            detail::multiply_whole<part>(geometry, x, y, bias, out.begin());
        else if constexpr (part == ConvPart::output)
            detail::output_correlation<T>(geometry).run(x, y, bias, out.begin());
        else if constexpr (part == ConvPart::input)
            detail::input_correlation<T>(geometry).run(x, y, bias, out.begin());
        else detail::WeightGradient<T>(geometry).run(x, y, out.begin());
        return out;
    }
};

/// A convolution plus a bias for each channel of the result.
template <ConvPart part> struct BiasedConvolution : Convolution<part> {
    static constexpr bool is_multilinear = false;
    static constexpr xgrad::detail::Uses uses[3] = {
        xgrad::detail::uses_argument(1), xgrad::detail::uses_argument(0), 0};

    template <Scalar T>
    auto value(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b,
        xgrad::detail::Array<T> const& bias) const {
        return this->computed(a, b, xgrad::detail::contiguous(bias).begin());
    }
    template <std::size_t I>
    auto pullback(wrt<I> argument, auto const& g, auto const& y, auto const& a, auto const& b,
        auto const&) const {
        if constexpr (I < 2) return Convolution<part>::pullback(argument, g, y, a, b);
        else return this->geometry.axes == 1 ? sum(g, {0, 2}) : sum(g, {0, 2, 3});
    }
};

} // namespace xgrad::nn
