// Convolutions as operations. A convolution is one trilinear form of images, filters and products, and each of the three can be
// computed from the two others: so the gradients of each are the other two, to any order.
#pragma once

#include <xgrad/base/gemm.hpp>
#include <xgrad/nn/im2col.hpp>
#include <xgrad/ops/reduction.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

namespace detail {

/// A kernel on arrays in row-major order, with factors conjugated or not.
template <class T> class Convolver {
public:
    explicit Convolver(ConvGeometry const& geometry)
        : g(geometry), largest(largest_chunk(g, sizeof(T))), depth(g.depth()), windows(g.windows()), image(g.channels * g.rows.extent * g.columns.extent),
          padded_image(g.channels_of_group() * g.rows.padded() * g.columns.padded())
    {
    }

    /// A number for each window: the product of filters and images, plus a bias for each filter where there is one.
    void products(T const* images, bool conj_images, T const* filters, bool conj_filters, T const* bias, T* out) const
    {
        Room const room(*this);
        for_each_group_and_chunk([&](std::size_t group, Chunk const& chunk) {
            auto const [columns, step] = columns_of(room, group, chunk, images);
            std::size_t const m = g.filters_of_group(), n = chunk.windows(g);
            T const* const own_bias = bias ? bias + group * m : nullptr;
            T* const to = out + product_at(group, chunk);
            bool const in_place = chunk.samples == 1;
            if (in_place && bias)
                for (std::size_t o = 0; o < m; ++o) std::fill_n(to + o * windows, n, own_bias[o]);
            T* const result = in_place ? to : room.products;
            xgrad::detail::gemm<T>(m, n, depth, filters + group * m * depth, signed_size(depth), 1, conj_filters, columns, step, 1, conj_images, result, signed_size(in_place ? windows : n), in_place && bias);
            if (in_place) return;
            for_each_filter(chunk, to, room.products, [&](T* plain, T const* gathered, std::size_t o) {
                T const add = own_bias ? own_bias[o] : T(0);
                for (std::size_t p = 0; p < windows; ++p) plain[p] = gathered[p] + add;
            });
        });
    }
    /// The images whose windows see the products, each through its filter: the transpose of products().
    void images(T const* products, bool conj_products, T const* filters, bool conj_filters, T const* bias, T* out) const
    {
        Room const room(*this);
        std::size_t const pixels = g.rows.extent * g.columns.extent;
        for (std::size_t plane = 0; plane < g.batch * g.channels; ++plane) std::fill_n(out + plane * pixels, pixels, bias ? bias[plane % g.channels] : T(0));
        if (windows == 0) return;
        for_each_group_and_chunk([&](std::size_t group, Chunk const& chunk) {
            std::size_t const m = g.filters_of_group(), n = chunk.windows(g);
            auto const [factor, step] = products_of(room, group, chunk, products);
            T* const to = out + image_at(group, chunk);
            T const* const own_filters = filters + group * m * depth;
            if (is_plain(chunk)) return xgrad::detail::gemm<T>(depth, n, m, own_filters, 1, signed_size(depth), conj_filters, factor, step, 1, conj_products, to + chunk.row * g.columns.windows, signed_size(windows), true);
            xgrad::detail::gemm<T>(depth, n, m, own_filters, 1, signed_size(depth), conj_filters, factor, step, 1, conj_products, room.columns, signed_size(n), false);
            if (!g.is_padded()) return scatter_columns(g, chunk, room.columns, to, image);
            if (chunk.row == 0) std::fill_n(room.padded, chunk.samples * padded_image, T(0));
            scatter_columns(g, chunk, room.columns, room.padded, padded_image);
            if (chunk.row + chunk.rows == g.rows.windows)
                for_each_line(g, chunk.samples, to, room.padded, [&](T* plain, T const* padded) { add_row(plain, padded, g.columns.extent); });
        });
    }
    /// For each filter, the sum of what its windows see, times its products.
    void filters(T const* images, bool conj_images, T const* products, bool conj_products, T* out) const
    {
        Room const room(*this);
        std::size_t const m = g.filters_of_group();
        std::fill_n(out, g.filters * depth, T(0));
        for_each_group_and_chunk([&](std::size_t group, Chunk const& chunk) {
            auto const [columns, columns_step] = columns_of(room, group, chunk, images);
            auto const [factor, step] = products_of(room, group, chunk, products);
            xgrad::detail::gemm<T>(m, depth, chunk.windows(g), factor, step, 1, conj_products, columns, 1, columns_step, conj_images, out + group * m * depth, signed_size(depth), true);
        });
    }

private:
    /// Working memory for a chunk.
    struct Room {
        xgrad::detail::kernel::Scratch<T> scratch;
        T *columns, *products, *padded;

        explicit Room(Convolver const& c)
            : scratch(c.largest.windows(c.g) * (c.depth + c.g.filters_of_group()) + (c.g.is_padded() ? c.largest.samples * c.padded_image : 0)), columns(scratch.data()),
              products(columns + c.largest.windows(c.g) * c.depth), padded(products + c.largest.windows(c.g) * c.g.filters_of_group())
        {
        }
    };
    struct Factor {
        T const* data;
        std::ptrdiff_t step;  // from row to row
    };

    static std::ptrdiff_t signed_size(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
    bool is_plain(Chunk const& chunk) const { return chunk.samples == 1 && g.is_pointwise(); }
    std::size_t image_at(std::size_t group, Chunk const& chunk) const { return chunk.sample * image + group * g.channels_of_group() * g.rows.extent * g.columns.extent; }
    std::size_t product_at(std::size_t group, Chunk const& chunk) const
    {
        return (chunk.sample * g.filters + group * g.filters_of_group()) * windows + chunk.row * g.columns.windows;
    }
    template <class F> void for_each_group_and_chunk(F f) const
    {
        for (std::size_t group = 0; group < g.groups; ++group) for_each_chunk(g, largest, [&](Chunk const& chunk) { f(group, chunk); });
    }
    /// Visits products as they lie in samples, and side by side for each filter: f(those of a sample, the same, filter).
    template <class P, class Q, class F> void for_each_filter(Chunk const& chunk, P* plain, Q* gathered, F f) const
    {
        for (std::size_t o = 0; o < g.filters_of_group(); ++o)
            for (std::size_t s = 0; s < chunk.samples; ++s, gathered += windows) f(plain + (s * g.filters + o) * windows, gathered, o);
    }
    Factor columns_of(Room const& room, std::size_t group, Chunk const& chunk, T const* images) const
    {
        T const* const own = images + image_at(group, chunk);
        if (is_plain(chunk)) return {own + chunk.row * g.columns.windows, signed_size(windows)};
        if (!g.is_padded()) gather_columns(g, chunk, room.columns, own, image);
        else {
            if (chunk.row == 0) {
                std::fill_n(room.padded, chunk.samples * padded_image, T(0));
                for_each_line(g, chunk.samples, own, room.padded, [&](T const* plain, T* padded) { copy_row(padded, plain, g.columns.extent); });
            }
            gather_columns(g, chunk, room.columns, static_cast<T const*>(room.padded), padded_image);
        }
        return {room.columns, signed_size(chunk.windows(g))};
    }
    Factor products_of(Room const& room, std::size_t group, Chunk const& chunk, T const* products) const
    {
        T const* const own = products + product_at(group, chunk);
        if (chunk.samples == 1) return {own, signed_size(windows)};
        for_each_filter(chunk, own, room.products, [&](T const* plain, T* gathered, std::size_t) { std::copy_n(plain, windows, gathered); });
        return {room.products, signed_size(chunk.windows(g))};
    }

    ConvGeometry const& g;
    Chunk largest;
    std::size_t depth, windows, image, padded_image;
};

}  // namespace detail

/// What of a convolution is computed from the two others, which stand in this order.
enum class ConvPart : unsigned char { products, images, filters };

/// Products from images and filters; images from products and filters; filters from images and products.
template <ConvPart part> struct Convolution : Arraywise {
    detail::ConvGeometry geometry;
    bool conj_a = false, conj_b = false;
    static constexpr bool is_multilinear = true;
    static constexpr xgrad::detail::Uses uses[2] = {xgrad::detail::uses_argument(1), xgrad::detail::uses_argument(0)};

    template <Scalar T> auto value(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b) const { return computed(a, b, nullptr); }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&, auto const& b) const
    {
        constexpr auto other = part == ConvPart::images ? ConvPart::products : ConvPart::images;
        Convolution<other> const op{{}, geometry, conj_a, conj_a == conj_b};
        if constexpr (part == ConvPart::filters) return express(Convolution<other>{{}, geometry, op.conj_b, op.conj_a}, b, g);
        else return express(op, g, b);
    }
    auto pullback(wrt<1>, auto const& g, auto const&, auto const& a, auto const&) const
    {
        constexpr auto other = part == ConvPart::filters ? ConvPart::products : ConvPart::filters;
        Convolution<other> const op{{}, geometry, conj_a == conj_b, conj_b};
        if constexpr (part == ConvPart::images) return express(Convolution<other>{{}, geometry, op.conj_b, op.conj_a}, g, a);
        else return express(op, a, g);
    }

protected:
    template <Scalar T> auto computed(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b, std::type_identity_t<T> const* bias) const
    {
        using xgrad::detail::Array;
        Array<T> const first = xgrad::detail::contiguous(a), second = xgrad::detail::contiguous(b);
        Array<T> out(part == ConvPart::products ? geometry.product_shape() : part == ConvPart::images ? geometry.image_shape() : geometry.filter_shape());
        detail::Convolver<T> const convolver(geometry);
        if constexpr (part == ConvPart::products) convolver.products(first.begin(), conj_a, second.begin(), conj_b, bias, out.begin());
        else if constexpr (part == ConvPart::images) convolver.images(first.begin(), conj_a, second.begin(), conj_b, bias, out.begin());
        else convolver.filters(first.begin(), conj_a, second.begin(), conj_b, out.begin());
        return out;
    }
};

/// The same, plus a number for each channel of the result.
template <ConvPart part> struct BiasedConvolution : Convolution<part> {
    static constexpr bool is_multilinear = false;
    static constexpr xgrad::detail::Uses uses[3] = {xgrad::detail::uses_argument(1), xgrad::detail::uses_argument(0), 0};

    template <Scalar T> auto value(xgrad::detail::Array<T> const& a, xgrad::detail::Array<T> const& b, xgrad::detail::Array<T> const& bias) const
    {
        return this->computed(a, b, xgrad::detail::contiguous(bias).begin());
    }
    template <std::size_t I> auto pullback(wrt<I> argument, auto const& g, auto const& y, auto const& a, auto const& b, auto const&) const
    {
        if constexpr (I < 2) return Convolution<part>::pullback(argument, g, y, a, b);
        else return this->geometry.axes == 1 ? sum(g, {0, 2}) : sum(g, {0, 2, 3});
    }
};

}  // namespace xgrad::nn
