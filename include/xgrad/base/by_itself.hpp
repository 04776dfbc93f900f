// by_itself(): keeps a compiler from reading neighbours in memory together. Where they were written
// one by one a moment ago, a processor cannot hand them on to a wider read and waits until they are
// in the cache, which takes as long as some sixty instructions.
#pragma once

#include <xgrad/base/config.hpp>

namespace xgrad::detail {

/// The same number or pointer.
template <class T> XGRAD_INLINE T by_itself(T v) noexcept {
    asm("" : "+r"(v));
    return v;
}

} // namespace xgrad::detail
