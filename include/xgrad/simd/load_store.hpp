// Loads and stores of kernels: batches of any scalar type in a tile.
#pragma once

#include <xgrad/simd/complex_batch.hpp>

namespace xgrad::detail {

/// The element of a tile of precision P for an operand of type T: std::complex<P> if T is complex,
/// else P (masks are 0 and 1).
template <class T, class P> using tile_type = std::conditional_t<is_complex<T>, std::complex<P>, P>;

template <class T, class P> XGRAD_INLINE auto load_batch(void const* tile, std::size_t i) {
    auto const* const p = static_cast<tile_type<T, P> const*>(tile) + i;
    if constexpr (std::same_as<T, bool>) return simd::Batch<P>::load(p) != 0;
    else return simd::batch_of<T, P>::load(p);
}

/// Writes a result. A result narrower than the kernel's precision is rounded element by element.
template <class T, class Batch> XGRAD_INLINE void store_batch(T* out, Batch const& y) {
    if constexpr (requires { y.store(out); }) y.store(out);
    else if constexpr (is_complex<T>) {
        std::complex<typename Batch::precision> all[Batch::width];
        y.store(all);
        for (std::size_t i = 0; i < Batch::width; ++i) out[i] = static_cast<T>(all[i]);
    } else {
        typename Batch::precision all[Batch::width];
        y.store(all);
        for (std::size_t i = 0; i < Batch::width; ++i) out[i] = static_cast<T>(all[i]);
    }
}

} // namespace xgrad::detail
