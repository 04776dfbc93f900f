// Discrete Fourier transforms with NumPy's conventions: exp(-2 pi i jk/n) forward, and the scale
// chosen by `norm`.
//
// Shapes: a transformed axis gets extent n (its own by default); rfft() gives n/2 + 1 bins, irfft()
// n points, 2 (bins - 1) by default. The other axes are batches. Results are complex, but those of
// irfft() and irfftn() are real.
// Gradients: the adjoint transform, of any order, in backward and forward mode. A real operand gets
// the real part.
// Errors: no points (n = 0, or an axis of extent 0) and lengths that are not one for each axis are
// a ShapeError; an axis out of range or given twice is an IndexError; an undefined tensor and an
// unknown name of a norm are an Error. rfft() and rfftn() of complex numbers do not compile.
#pragma once

#include <optional>

#include <xgrad/core/choice.hpp>
#include <xgrad/fuse/element_type.hpp>
#include <xgrad/kernels/fft.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/indexing.hpp>

namespace xgrad {

/// Which transform has the factor 1/n: with `backward` the inverse one, with `forward` the forward
/// one. With `ortho` both have 1/sqrt(n).
enum class FftNorm { backward, ortho, forward };
constexpr std::string_view choice_names(FftNorm) { return "norm: backward ortho forward"; }

namespace detail {

/// 1-D transforms of every line of `x` along one axis.
template <RealScalar P>
void transform_axis(Array<std::complex<P>> const& x, std::size_t axis, int sign) {
    std::size_t const n = x.shape[axis], after = step_along(x.shape, axis);
    if (x.numel == 0) return;
    auto const step = static_cast<std::ptrdiff_t>(after);
    if (after == 1) {
        auto const length = static_cast<std::ptrdiff_t>(n);
        fft_many(x.begin(), 1, length, x.begin(), 1, length, n, x.numel / n, sign);
    } else
        for (std::size_t block = 0; block < x.numel; block += n * after)
            fft_many(x.begin() + block, step, 1, x.begin() + block, step, 1, n, after, sign);
}

inline double fft_scale(FftNorm norm, bool inverse, std::size_t n) {
    if (norm == FftNorm::ortho) return 1 / std::sqrt(static_cast<double>(n));
    return inverse == (norm == FftNorm::backward) ? 1 / static_cast<double>(n) : 1;
}

/// The weights of the bins of a half spectrum: 1 for bins that are their own mirror image, else 2
/// for the bin and its mirror image; inverse 1 and 1/2.
template <RealScalar P>
Array<P> half_spectrum_weights(std::size_t n, std::size_t rank, std::size_t axis, bool inverse) {
    Shape shape(rank, 1);
    shape[axis] = n / 2 + 1;
    Array<P> w(shape, inverse ? P(0.5) : P(2));
    w.begin()[0] = P(1);
    if (n % 2 == 0) w.begin()[n / 2] = P(1);
    return w;
}

} // namespace detail

/// Complex transform over axes, in either direction, times a factor. The adjoint is the transform
/// in the other direction.
struct Dft : Arraywise {
    Axes axes;        // normalised
    int sign = -1;    // of the exponent: -1 for the forward transform, +1 for the inverse
    double scale = 1; // factor of the result
    Axes joined_axes() const { return axes; }

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(x.shape);
        detail::copy_elements(out, x);
        for (auto const axis : axes)
            detail::transform_axis(out, static_cast<std::size_t>(axis), sign);
        if (scale != 1) detail::scale<T>(out.data, out.numel, scale);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(Dft{{}, axes, -sign, scale}, g);
    }
};

/// Half spectrum of real lines along one axis, times a factor.
struct RealDft : Arraywise {
    std::size_t axis = 0; // normalised
    double scale = 1;     // factor of the result
    Axes joined_axes() const { return {axis}; }

    template <RealScalar P> auto value(detail::Array<P> const& x) const {
        detail::Array<std::complex<P>> full(x.shape);
        detail::copy_elements(full, x);
        detail::transform_axis(full, axis, -1);
        if (scale != 1) detail::scale<std::complex<P>>(full.data, full.numel, scale);
        return detail::contiguous(detail::part_along(full, axis, 0, x.shape[axis] / 2 + 1));
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const;
};

/// Real lines of length n along one axis from their half spectra, times a factor.
struct InverseRealDft : Arraywise {
    std::size_t axis = 0, n = 0; // `axis` is normalised, `n` is the length of a line of the result
    double scale = 1;            // factor of the result
    Axes joined_axes() const { return {axis}; }

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        Shape shape = x.shape;
        shape[axis] = n;
        detail::Array<T> full(shape, T(0));
        detail::copy_elements(detail::part_along(full, axis, 0, n / 2 + 1), x);
        mirror(full);
        detail::transform_axis(full, axis, +1);
        detail::Array<precision_of<T>> out(shape);
        std::transform(full.begin(), full.end(), out.begin(),
            [s = static_cast<precision_of<T>>(scale)](T v) { return v.real() * s; });
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        using P = typename std::remove_cvref_t<decltype(g)>::value_type;
        auto const spectrum = express(RealDft{{}, axis, scale}, g);
        return materialize_expression(
            spectrum * std::remove_cvref_t<decltype(g)>(
                           detail::half_spectrum_weights<P>(n, g.dim(), axis, false)));
    }

private:
    /// Bin n - k is the conjugate of bin k; bins that are their own mirror image are real.
    template <class T> void mirror(detail::Array<T> const& full) const {
        auto const step = full.strides[axis];
        Shape lines = full.shape;
        lines[axis] = 1;
        Strides const* const strides[] = {&full.strides};
        std::ptrdiff_t const last = full.strides.back();
        detail::for_each_run(lines, strides, [&](std::size_t count, std::ptrdiff_t const* at) {
            for (std::size_t i = 0; i < count; ++i) {
                T* const line = full.begin() + at[0] + static_cast<std::ptrdiff_t>(i) * last;
                line[0] = line[0].real();
                if (n % 2 == 0)
                    line[static_cast<std::ptrdiff_t>(n / 2) * step] =
                        line[static_cast<std::ptrdiff_t>(n / 2) * step].real();
                for (std::size_t k = 1; k < (n + 1) / 2; ++k)
                    line[static_cast<std::ptrdiff_t>(n - k) * step] =
                        std::conj(line[static_cast<std::ptrdiff_t>(k) * step]);
            }
        });
    }
};

inline auto RealDft::pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
    using P = typename std::remove_cvref_t<decltype(x)>::value_type;
    std::size_t const n = x.shape()[axis];
    using Real = decltype(materialize_expression(real(g)));
    auto const halved =
        materialize_expression(g * Real(detail::half_spectrum_weights<P>(n, g.dim(), axis, true)));
    return express(InverseRealDft{{}, axis, n, scale}, halved);
}

namespace detail {

/// Crops x or pads it with zeros to extent n along an axis.
template <class X> auto resized(X const& x, std::size_t axis, std::size_t n) {
    auto const have = x.shape()[axis];
    if (have == n) return x;
    Window window(x.shape());
    window.count[axis] = std::min(have, n);
    if (n < have) return express(window, x);
    Shape shape = x.shape();
    shape[axis] = n;
    return express(Embed{{}, shape, window}, x);
}

template <class X> auto as_complex(X const& x) {
    auto const t = materialize_expression(x);
    using T = typename decltype(t)::value_type;
    using P = std::conditional_t<RealScalar<precision_of<T>>, precision_of<T>, double>;
    return cast<std::complex<P>>(t);
}

inline std::size_t checked_length(std::string_view operation, std::size_t n) {
    if (n == 0) fail<ShapeError>(operation, ": a transform needs at least one point");
    if (auto const given = static_cast<std::ptrdiff_t>(n); given < 0)
        fail<ShapeError>(operation, ": a transform has no ", given,
            " points; their number stands before the axis, as in fft(x, n, axis)");
    return n;
}

/// Axes of a transform to or from a half spectrum, by default all: one at least, each at most once.
inline void check_real_axes(
    std::string_view operation, Axes& axes, Shape const& lengths, Shape const& shape) {
    if (axes.empty()) axes = all_axes(shape.size());
    normalize_axes(operation, axes, shape);
    if (axes.empty())
        fail<ShapeError>(operation, ": an array without dimensions has no axis to transform");
    if (!lengths.empty() && lengths.size() != axes.size())
        fail<ShapeError>(operation, ": ", lengths.size(), " lengths for ", axes.size(), " axes");
}

template <class X>
auto complex_transform(std::string_view operation, X const& x, Axes const& axes,
    Shape const& lengths, FftNorm norm, bool inverse) {
    check_defined(operation, x);
    auto z = as_complex(x);
    Axes over = axes.empty() ? all_axes(z.dim()) : axes;
    for (auto& axis : over)
        axis = static_cast<std::ptrdiff_t>(normalize_axis(operation, axis, z.shape()));
    normalize_axes(operation, over, z.shape()); // each at most once
    if (!lengths.empty() && lengths.size() != over.size())
        fail<ShapeError>(operation, ": ", lengths.size(), " lengths for ", over.size(), " axes");
    double scale = 1;
    for (std::size_t i = 0; i < over.size(); ++i) {
        auto const axis = static_cast<std::size_t>(over[i]);
        if (!lengths.empty()) z = resized(z, axis, checked_length(operation, lengths[i]));
        scale *= fft_scale(norm, inverse, checked_length(operation, z.shape()[axis]));
    }
    return express(Dft{{}, over, inverse ? +1 : -1, scale}, z);
}

} // namespace detail

/// Transform along one axis, of n points (x is cut or padded with zeros); complex output for real
/// or complex input.
template <Operand X>
auto fft(X const& x, std::optional<std::size_t> n = {}, std::ptrdiff_t axis = -1,
    Choice<FftNorm> norm = FftNorm::backward) {
    return detail::complex_transform("fft", x, {axis}, n ? Shape{*n} : Shape(), norm, false);
}
template <Operand X>
auto ifft(X const& x, std::optional<std::size_t> n = {}, std::ptrdiff_t axis = -1,
    Choice<FftNorm> norm = FftNorm::backward) {
    return detail::complex_transform("ifft", x, {axis}, n ? Shape{*n} : Shape(), norm, true);
}
/// Transform over several axes, by default all.
template <Operand X>
auto fftn(X const& x, AxisList const& axes = {}, Shape const& lengths = {},
    Choice<FftNorm> norm = FftNorm::backward) {
    return detail::complex_transform("fftn", x, axes, lengths, norm, false);
}
template <Operand X>
auto ifftn(X const& x, AxisList const& axes = {}, Shape const& lengths = {},
    Choice<FftNorm> norm = FftNorm::backward) {
    return detail::complex_transform("ifftn", x, axes, lengths, norm, true);
}
/// Transform over the last two axes.
template <Operand X> auto fft2(X const& x, Choice<FftNorm> norm = FftNorm::backward) {
    return detail::complex_transform("fft2", x, {-2, -1}, {}, norm, false);
}
template <Operand X> auto ifft2(X const& x, Choice<FftNorm> norm = FftNorm::backward) {
    return detail::complex_transform("ifft2", x, {-2, -1}, {}, norm, true);
}

/// Transform of a real array along one axis: the n/2 + 1 bins that are not mirror images.
template <Operand X>
auto rfft(X const& x, std::optional<std::size_t> n = {}, std::ptrdiff_t axis = -1,
    Choice<FftNorm> norm = FftNorm::backward) {
    static_assert(!std::same_as<typename X::kind, C>,
        "rfft: a real operand is needed; fft transforms complex ones");
    auto const t = materialize_expression(x);
    using T = typename decltype(t)::value_type;
    auto const at = detail::normalize_axis("rfft", axis, t.shape());
    auto const real_x = detail::resized(cast<std::conditional_t<RealScalar<T>, T, double>>(t), at,
        detail::checked_length("rfft", n.value_or(t.shape()[at])));
    return express(RealDft{{}, at, detail::fft_scale(norm, false, real_x.shape()[at])}, real_x);
}
/// The real array of n points (2 (bins - 1) by default) whose half spectrum is x. Imaginary parts
/// of bins that are their own mirror image are ignored, and get no gradient.
template <Operand X>
auto irfft(X const& x, std::optional<std::size_t> n = {}, std::ptrdiff_t axis = -1,
    Choice<FftNorm> norm = FftNorm::backward) {
    detail::check_defined("irfft", x);
    auto const z = detail::as_complex(x);
    auto const at = detail::normalize_axis("irfft", axis, z.shape());
    auto const bins = z.shape()[at];
    auto const length = detail::checked_length("irfft", n.value_or(bins ? 2 * (bins - 1) : 0));
    return express(InverseRealDft{{}, at, length, detail::fft_scale(norm, true, length)},
        detail::resized(z, at, length / 2 + 1));
}
/// Transform of a real array over several axes, by default all; the last of them is the halved one.
template <Operand X>
auto rfftn(X const& x, AxisList axes = {}, Shape const& lengths = {},
    Choice<FftNorm> norm = FftNorm::backward) {
    detail::check_real_axes("rfftn", axes, lengths, x.shape());
    auto const z =
        rfft(x, lengths.empty() ? std::optional<std::size_t>() : lengths.back(), axes.back(), norm);
    if (axes.size() == 1) return z;
    Axes const others(axes.begin(), axes.end() - 1);
    return fftn(
        z, others, lengths.empty() ? lengths : Shape(lengths.begin(), lengths.end() - 1), norm);
}
/// The inverse of rfftn; `lengths` are those of the real array.
template <Operand X>
auto irfftn(X const& x, AxisList axes = {}, Shape const& lengths = {},
    Choice<FftNorm> norm = FftNorm::backward) {
    detail::check_real_axes("irfftn", axes, lengths, x.shape());
    auto z = detail::as_complex(x);
    if (axes.size() > 1) {
        Axes const others(axes.begin(), axes.end() - 1);
        z = ifftn(
            z, others, lengths.empty() ? lengths : Shape(lengths.begin(), lengths.end() - 1), norm);
    }
    return irfft(
        z, lengths.empty() ? std::optional<std::size_t>() : lengths.back(), axes.back(), norm);
}

// With all points and axes, and a norm: fft(x, "ortho").
template <Operand X> auto fft(X const& x, Choice<FftNorm> norm) { return fft(x, {}, -1, norm); }
template <Operand X> auto ifft(X const& x, Choice<FftNorm> norm) { return ifft(x, {}, -1, norm); }
template <Operand X> auto fftn(X const& x, Choice<FftNorm> norm) { return fftn(x, {}, {}, norm); }
template <Operand X> auto ifftn(X const& x, Choice<FftNorm> norm) { return ifftn(x, {}, {}, norm); }
template <Operand X> auto rfft(X const& x, Choice<FftNorm> norm) { return rfft(x, {}, -1, norm); }
template <Operand X> auto irfft(X const& x, Choice<FftNorm> norm) { return irfft(x, {}, -1, norm); }
template <Operand X> auto rfftn(X const& x, Choice<FftNorm> norm) { return rfftn(x, {}, {}, norm); }
template <Operand X> auto irfftn(X const& x, Choice<FftNorm> norm) {
    return irfftn(x, {}, {}, norm);
}

/// The transform of an xtensor expression alone, with the parameters that it has for a tensor.
#define XGRAD_TRANSFORM_OF_XTENSOR(transform, First, Second, default_second)                       \
    template <detail::XtensorExpression X>                                                         \
    auto transform(X const& x, First const& first = {}, Second const& second = default_second,     \
        Choice<FftNorm> norm = FftNorm::backward) {                                                \
        return transform(detail::OperandTraits<X>::make(x), first, second, norm);                  \
    }                                                                                              \
    template <detail::XtensorExpression X> auto transform(X const& x, Choice<FftNorm> norm) {      \
        return transform(detail::OperandTraits<X>::make(x), norm);                                 \
    }
XGRAD_TRANSFORM_OF_XTENSOR(fft, std::optional<std::size_t>, std::ptrdiff_t, -1)
XGRAD_TRANSFORM_OF_XTENSOR(ifft, std::optional<std::size_t>, std::ptrdiff_t, -1)
XGRAD_TRANSFORM_OF_XTENSOR(rfft, std::optional<std::size_t>, std::ptrdiff_t, -1)
XGRAD_TRANSFORM_OF_XTENSOR(irfft, std::optional<std::size_t>, std::ptrdiff_t, -1)
XGRAD_TRANSFORM_OF_XTENSOR(fftn, AxisList, Shape, {})
XGRAD_TRANSFORM_OF_XTENSOR(ifftn, AxisList, Shape, {})
XGRAD_TRANSFORM_OF_XTENSOR(rfftn, AxisList, Shape, {})
XGRAD_TRANSFORM_OF_XTENSOR(irfftn, AxisList, Shape, {})
#undef XGRAD_TRANSFORM_OF_XTENSOR
/// The same along the last two axes.
template <detail::XtensorExpression X>
auto fft2(X const& x, Choice<FftNorm> norm = FftNorm::backward) {
    return fft2(detail::OperandTraits<X>::make(x), norm);
}
template <detail::XtensorExpression X>
auto ifft2(X const& x, Choice<FftNorm> norm = FftNorm::backward) {
    return ifft2(detail::OperandTraits<X>::make(x), norm);
}

} // namespace xgrad
