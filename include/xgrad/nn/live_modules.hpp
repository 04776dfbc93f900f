// LiveModules: the addresses of all existing modules. A module uses it to detect a member that is a
// module but no Child.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

#include <xgrad/core/config.hpp>

namespace xgrad::nn {

class AnyModule;

namespace detail {

/// The sorted addresses of all existing modules.
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
    /// The module at `to` reuses the entry of the module that it was moved from: no allocation.
    void move(AnyModule const* from, AnyModule const* to) noexcept;
    /// The module with the lowest address in [begin, end), or null.
    AnyModule const* first_in(std::uintptr_t begin, std::uintptr_t end);
    /// It is never destroyed: a module with static storage duration may outlive it otherwise.
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
