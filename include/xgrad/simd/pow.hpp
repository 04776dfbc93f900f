// Powers of batches with an exponent for each number.
#pragma once

#include <xgrad/simd/log.hpp>

namespace xgrad::simd {

/// x^p, number by number.
template <class P> XGRAD_INLINE Batch<P> pow(Batch<P> x, Batch<P> p) {
    return detail::each([](P a, P b) { return std::pow(a, b); }, x, p);
}

} // namespace xgrad::simd
