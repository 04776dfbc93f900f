// Bodies of shared_writes.hpp.
#pragma once

#ifdef XGRAD_WARN_ON_SHARED_WRITES

#    include <algorithm>
#    include <mutex>
#    include <set>
#    include <string>
#    include <thread>
#    include <unordered_map>
#    include <vector>

#    include <xgrad/core/source_location.hpp>
#    include <xgrad/core/warning.hpp>
#    include <xgrad/tensor/shared_writes.hpp>

namespace xgrad::detail {

/// The Tensors of the program, each with its thread: one that belongs to another thread is not
/// read.
struct HandleList {
    std::mutex mutex;
    std::unordered_map<AnyTensor const*, std::thread::id> threads;
    std::set<std::vector<void*>> known_stacks;
    std::set<std::string> known_places;

    /// Never destroyed: tensors of static storage duration are destroyed later.
    static HandleList& all() {
        static HandleList& list = *new HandleList;
        return list;
    }
    std::size_t count(TensorImpl const* t) const {
        auto const here = std::this_thread::get_id();
        return static_cast<std::size_t>(
            std::count_if(threads.begin(), threads.end(), [&](auto const& entry) {
                return entry.second == here && entry.first->handle().get() == t;
            }));
    }
};

XGRAD_LAZY_BODY void add_handle(AnyTensor const* handle) noexcept {
    auto& list = HandleList::all();
    std::lock_guard const lock(list.mutex);
    list.threads.insert_or_assign(handle, std::this_thread::get_id());
}

XGRAD_LAZY_BODY void remove_handle(AnyTensor const* handle) noexcept {
    auto& list = HandleList::all();
    std::lock_guard const lock(list.mutex);
    list.threads.erase(handle);
}

XGRAD_LAZY_BODY void check_shared_write(AnyTensor const& t, std::string_view operation) {
    if (t.handle()->refs.load() < 2 || t.is_view() || (t.is_leaf() && t.requires_grad())) return;
    auto& list = HandleList::all();
    std::string place;
    {
        std::lock_guard const lock(list.mutex);
        auto const handles = list.count(t.handle().get());
        if (handles < 2) return;
        auto frames = call_stack();
        frames.resize(std::min<std::size_t>(frames.size(), 16));
        if (!list.known_stacks.insert(frames).second) return;
        place = call_stack_texts({frames})[0]; // "\n    file:line, in function" for each function
        if (auto const end = place.find('\n', 1); end != std::string::npos) place.resize(end);
        if (place.find(", in ") == std::string::npos) place = "an unknown place (compile with -g)";
        else if (!list.known_places.insert(std::string(operation) + place).second) return;
    }
    warn(operation, ": the change in place of ", describe(t),
        " is seen through another Tensor, too, which refers to the same elements: a copy, as in "
        "`old = x`, a by-value parameter or a capture, is no copy of the elements here. Write "
        "x.clone() where one is meant. Changed in: ",
        place);
}

} // namespace xgrad::detail

#endif
