// Bodies of memory.hpp.
#pragma once

#include <xgrad/core/memory.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void* system_allocate(std::size_t bytes) {
    return bytes <= small_block ? ::operator new(bytes)
                                : ::operator new(bytes, std::align_val_t{block_alignment});
}

XGRAD_FUNCTION void system_deallocate(void* p, std::size_t bytes) noexcept {
    if (bytes <= small_block) ::operator delete(p);
    else ::operator delete(p, std::align_val_t{block_alignment});
}

XGRAD_FUNCTION void BlockCache::clear() noexcept {
    for (std::size_t i = 0; i < classes; ++i)
        while (Link* const block = free_[i]) {
            free_[i] = block->next;
            system_deallocate(block, SizeClass::bytes_of(i));
        }
    held_ = 0;
}

XGRAD_NOINLINE XGRAD_FUNCTION void deallocate_unkept(void* p, SizeClass c) noexcept {
    if (auto* const cache = block_cache ? nullptr : make_block_cache(); cache && cache->give(p, c))
        return;
    system_deallocate(p, c.bytes);
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION void empty_cache() noexcept {
    if (auto* const cache = detail::this_thread_cache()) cache->clear();
}

XGRAD_FUNCTION void set_cache_limit(std::size_t bytes) noexcept {
    if (auto* const cache = detail::this_thread_cache()) {
        cache->limit = bytes;
        if (cache->held() > bytes) cache->clear();
    }
}

XGRAD_FUNCTION std::size_t cached_bytes() noexcept {
    auto const* const cache = detail::this_thread_cache();
    return cache ? cache->held() : 0;
}

} // namespace xgrad
