// Sums of all that comes before.
#pragma once

#include <xgrad/ops/runs.hpp>
#include <xgrad/ops/shaping.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// The sum of the elements up to each one along an axis; reversed, of those from each one on.
struct CumulativeSum : Arraywise {
    std::size_t axis = 0;
    bool reversed = false;
    static constexpr bool is_multilinear = true;

    template <Scalar T> auto value(detail::Array<T> const& x) const
    {
        auto const from = detail::contiguous(x);
        detail::Array<T> out(x.shape);
        std::size_t n = x.shape[axis], columns = 1;
        for (std::size_t d = axis + 1; d < x.shape.size(); ++d) columns *= x.shape[d];
        detail::CachedVector<detail::wide<T>> sums(columns);
        for (std::size_t begin = 0; begin < x.numel; begin += n * columns) {
            std::ranges::fill(sums, detail::wide<T>(0));
            for (std::size_t i = 0; i < n; ++i) {
                std::size_t const at = begin + (reversed ? n - 1 - i : i) * columns;
                for (std::size_t c = 0; c < columns; ++c) out.begin()[at + c] = detail::converted<T>(sums[c] += detail::converted<detail::wide<T>>(from.begin()[at + c]));
            }
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const { return express(CumulativeSum{{}, axis, !reversed}, g); }
};

/// The sum of the elements up to each one, and with it, along an axis. Of integers and masks: sums of int64.
template <Operand X> auto cumsum(X const& x, std::ptrdiff_t axis)
{
    if constexpr (std::same_as<typename X::letter, B>) return cumsum(cast<std::int64_t>(x), axis);
    else return express(CumulativeSum{{}, detail::normalize_axis("cumsum", axis, x.dim())}, x);
}

}  // namespace xgrad
