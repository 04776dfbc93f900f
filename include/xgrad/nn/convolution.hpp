// Convolutions as operations. A convolution is one trilinear form of images, filters and products,
// and each of the three can be computed from the two others: so the gradients of each are the other
// two, to any order.
#pragma once

#include <xgrad/base/gemm.hpp>
#include <xgrad/nn/correlation.hpp>
#include <xgrad/nn/filter_sums.hpp>
#include <xgrad/ops/reduction.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

namespace detail {

/// Products of images and filters.
template <class T> Correlation<T> products_of(ConvGeometry const& g) {
    return {.batch = g.batch,
        .groups = g.groups,
        .sources = g.channels_of_group(),
        .results = g.filters_of_group(),
        .step_of_source = g.places(),
        .step_of_result = g.depth(),
        .filters_size = g.filters_of_group() * g.depth(),
        .height = g.rows.windows,
        .width = g.columns.windows,
        .rows = plan_of_products(g.rows),
        .columns = plan_of_products(g.columns)};
}
/// Images whose windows see products, each through its filter: the transpose.
template <class T> Correlation<T> images_of(ConvGeometry const& g) {
    return {.batch = g.batch,
        .groups = g.groups,
        .sources = g.filters_of_group(),
        .results = g.channels_of_group(),
        .step_of_source = g.depth(),
        .step_of_result = g.places(),
        .filters_size = g.filters_of_group() * g.depth(),
        .height = g.rows.extent,
        .width = g.columns.extent,
        .rows = plan_of_images(g.rows),
        .columns = plan_of_images(g.columns)};
}

} // namespace detail

/// What of a convolution is computed from the two others, which stand in this order.
enum class ConvPart : unsigned char { products, images, filters };

namespace detail {

/// The parts of a convolution that is a product of matrices: those of images [batch, depth],
/// filters [filters, depth] and products [batch, filters] for each group.
template <ConvPart part, class T>
void multiply_whole(
    ConvGeometry const& g, Factor<T> const& a, Factor<T> const& b, T const* bias, T* out) {
    auto const depth = static_cast<std::ptrdiff_t>(g.depth()),
               all = depth * static_cast<std::ptrdiff_t>(g.groups),
               filters = static_cast<std::ptrdiff_t>(g.filters);
    if (bias) {
        std::size_t const results = part == ConvPart::products ? g.filters : g.channels,
                          numbers = part == ConvPart::products ? 1 : g.places();
        for (std::size_t k = 0; k < g.batch * results; ++k)
            std::fill_n(out + k * numbers, numbers, bias[k % results]);
    }
    for (std::size_t group = 0; group < g.groups; ++group) {
        std::size_t const m = g.filters_of_group(), image = group * g.depth(), product = group * m,
                          filter = product * g.depth();
        using xgrad::detail::gemm;
        if constexpr (part == ConvPart::products)
            gemm(g.batch, m, g.depth(), a.data + image, all, 1, a.conj, b.data + filter, 1, depth,
                b.conj, out + product, filters, bias != nullptr);
        else if constexpr (part == ConvPart::images)
            gemm(g.batch, g.depth(), m, a.data + product, filters, 1, a.conj, b.data + filter,
                depth, 1, b.conj, out + image, all, bias != nullptr);
        else
            gemm(m, g.depth(), g.batch, b.data + product, 1, filters, b.conj, a.data + image, all,
                1, a.conj, out + filter, depth, false);
    }
}

} // namespace detail

/// Products from images and filters; images from products and filters; filters from images and
/// products.
template <ConvPart part> struct Convolution : Arraywise {
    detail::ConvGeometry geometry;
    bool conj_a = false, conj_b = false;
    static constexpr bool is_multilinear = true;
    static constexpr xgrad::detail::Uses uses[2] = {
        xgrad::detail::uses_argument(1), xgrad::detail::uses_argument(0)};

    template <Scalar T>
    auto value(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b) const {
        return computed(a, b, nullptr);
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&, auto const& b) const {
        constexpr auto other = part == ConvPart::images ? ConvPart::products : ConvPart::images;
        Convolution<other> const op{{}, geometry, conj_a, conj_a == conj_b};
        if constexpr (part == ConvPart::filters)
            return express(Convolution<other>{{}, geometry, op.conj_b, op.conj_a}, b, g);
        else return express(op, g, b);
    }
    auto pullback(wrt<1>, auto const& g, auto const&, auto const& a, auto const&) const {
        constexpr auto other = part == ConvPart::filters ? ConvPart::products : ConvPart::filters;
        Convolution<other> const op{{}, geometry, conj_a == conj_b, conj_b};
        if constexpr (part == ConvPart::images)
            return express(Convolution<other>{{}, geometry, op.conj_b, op.conj_a}, g, a);
        else return express(op, a, g);
    }

protected:
    template <Scalar T>
    auto computed(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b,
        std::type_identity_t<T> const* bias) const {
        using xgrad::detail::Array;
        Array<T> const first = xgrad::detail::contiguous(a), second = xgrad::detail::contiguous(b);
        Array<T> out(part == ConvPart::products ? geometry.product_shape()
                     : part == ConvPart::images ? geometry.image_shape()
                                                : geometry.filter_shape());
        detail::Factor<T> const x{first.begin(), conj_a}, y{second.begin(), conj_b};
        if (geometry.is_matrix_product())
            detail::multiply_whole<part>(geometry, x, y, bias, out.begin());
        else if constexpr (part == ConvPart::products)
            detail::products_of<T>(geometry).run(x, y, bias, out.begin());
        else if constexpr (part == ConvPart::images)
            detail::images_of<T>(geometry).run(x, y, bias, out.begin());
        else detail::FilterSums<T>(geometry).run(x, y, out.begin());
        return out;
    }
};

/// The same, plus a number for each channel of the result.
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
