// LiveModules: which modules exist, and where. By it a module finds another one that lies in its
// memory and is no Child.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

#include <xgrad/base/config.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

class AnyModule;

namespace detail {

/// The addresses of all modules that exist, by which a module finds those that lie in its own
/// memory.
class LiveModules {
public:
    void add(AnyModule const* m) {
        std::lock_guard const lock(mutex_);
        all_.insert(m);
    }
    void remove(AnyModule const* m) noexcept {
        std::lock_guard const lock(mutex_);
        all_.erase(m);
    }
    /// The module at `to` takes the entry of the one that it was moved from, which allocates
    /// nothing.
    void move(AnyModule const* from, AnyModule const* to) noexcept {
        std::lock_guard const lock(mutex_);
        auto entry = all_.extract(from);
        if (!entry) return; // moved from before
        entry.value() = to;
        all_.insert(std::move(entry));
    }
    /// The first module whose address is not below `begin`; null where that is not below `end`.
    AnyModule const* first_in(std::uintptr_t begin, std::uintptr_t end) {
        std::lock_guard const lock(mutex_);
        auto const found = all_.lower_bound(reinterpret_cast<AnyModule const*>(begin));
        return found != all_.end() && reinterpret_cast<std::uintptr_t>(*found) < end ? *found
                                                                                     : nullptr;
    }
    /// Never destroyed: modules of static storage duration may outlive any other static object.
    static LiveModules& instance() {
        static auto* const all = new LiveModules;
        return *all;
    }

private:
    std::mutex mutex_;
    std::set<AnyModule const*, std::less<>> all_;
};

} // namespace detail

} // namespace xgrad::nn
