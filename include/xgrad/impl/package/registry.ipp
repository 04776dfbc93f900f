// Bodies of registry.hpp.
#pragma once

#include <xgrad/package/registry.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION auto TypeEntry::call(std::type_info const& signature) const noexcept
    -> nn::ModuleContainer::AnyFunction {
    for (auto const& c : calls)
        if (*c.signature == signature) return c.function;
    return nullptr;
}

XGRAD_FUNCTION std::string TypeEntry::title(std::string_view name, std::optional<DType> dtype) {
    std::string text(name);
    return dtype ? text + " (" + std::string(xgrad::name(*dtype)) + ")" : text;
}

XGRAD_FUNCTION void Registry::add(TypeEntry entry) {
    std::lock_guard const lock(mutex_);
    entries_.push_back(std::make_unique<TypeEntry const>(std::move(entry)));
}

XGRAD_FUNCTION TypeEntry const* Registry::find(
    std::string_view name, std::optional<DType> dtype) const {
    TypeEntry const* found = nullptr;
    std::lock_guard const lock(mutex_);
    for (auto const& e : entries_) {
        if (e->name != name || e->dtype != dtype) continue;
        if (found && *found->type != *e->type)
            fail<PackageError>("the name '", e->title(), "' was given to two C++ types");
        found = e.get();
    }
    return found;
}

XGRAD_FUNCTION TypeEntry const* Registry::find(nn::AnyModule const& m) const {
    std::lock_guard const lock(mutex_);
    for (auto const& e : entries_)
        if (e->is_type_of(m)) return e.get();
    return nullptr;
}

XGRAD_FUNCTION auto Registry::find_call(nn::AnyModule const& m,
    std::type_info const& signature) const -> nn::ModuleContainer::AnyFunction {
    if (auto const* const e = find(m))
        if (auto const call = e->call(signature)) return call;
    std::lock_guard const lock(mutex_);
    for (auto const& c : calls_)
        if (*c.call.signature == signature && (typeid(m) == *c.type || typeid(m) == *c.child_type))
            return c.call.function;
    return nullptr;
}

XGRAD_FUNCTION bool Registry::knows(std::string_view name) const {
    std::lock_guard const lock(mutex_);
    for (auto const& e : entries_)
        if (e->name == name) return true;
    return false;
}

} // namespace xgrad::package::detail
