// Bodies of live_modules.hpp.
#pragma once

#include <xgrad/nn/live_modules.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION void LiveModules::move(AnyModule const* from, AnyModule const* to) noexcept {
    std::lock_guard const lock(mutex_);
    auto entry = all_.extract(from);
    if (!entry) return; // moved from before
    entry.value() = to;
    all_.insert(std::move(entry));
}

XGRAD_FUNCTION AnyModule const* LiveModules::first_in(std::uintptr_t begin, std::uintptr_t end) {
    std::lock_guard const lock(mutex_);
    auto const found = all_.lower_bound(reinterpret_cast<AnyModule const*>(begin));
    return found != all_.end() && reinterpret_cast<std::uintptr_t>(*found) < end ? *found : nullptr;
}

} // namespace xgrad::nn::detail
