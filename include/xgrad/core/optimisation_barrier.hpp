// optimisation_barrier(): stops GCC from merging adjacent scalar loads into a vector load, which
// would defeat store-to-load forwarding: if the values were stored one by one just before, the
// vector load waits until all of these stores have reached the cache, about as long as sixty
// instructions take (bench_rational, n = 4).
#pragma once

#include <xgrad/core/config.hpp>

namespace xgrad::detail {

/// Returns v. The compiler does not know that the result equals v.
template <class T> XGRAD_INLINE T optimisation_barrier(T v) noexcept {
    asm("" : "+r"(v));
    return v;
}

} // namespace xgrad::detail
