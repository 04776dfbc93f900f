// Bodies of registry.hpp and provided.hpp.
#pragma once

#include <xgrad/package/provided.hpp>
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

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> Provided::make(
    std::string const& name, std::string const& where) const {
    if (auto const at = entries_.find(name); at != entries_.end()) {
        if (!at->second.make)
            fail<PackageError>(where, ": what is provided as '", name, "' is no module");
        if (auto made = at->second.make()) return made;
        fail<PackageError>(where, ": the factory of '", name, "' returned no module");
    }
    return type_named(name)->make(Json::Object(), where, 0);
}

XGRAD_FUNCTION TypeEntry const* Provided::type_of(nn::AnyModule const& m) const {
    for (auto const& [name, e] : entries_)
        if (e.type && e.type->is_type_of(m)) return &*e.type;
    return registry().find(m);
}

XGRAD_FUNCTION auto Provided::find_call(nn::AnyModule const& m,
    std::type_info const& signature) const -> nn::ModuleContainer::AnyFunction {
    for (auto const& [name, e] : entries_)
        if (e.type && e.type->is_type_of(m))
            if (auto const call = e.type->call(signature)) return call;
    return registry().find_call(m, signature);
}

XGRAD_FUNCTION void Provided::check(std::string const& name) {
    if (!is_dotted(name))
        fail<PackageError>(
            "PackageImporter: '", name, "' cannot be the name of something external");
}

XGRAD_FUNCTION TypeEntry const* Provided::type_named(std::string const& name) {
    auto const* const e = registry().find(name, {});
    return e && e->make && e->without_arguments ? e : nullptr;
}

} // namespace xgrad::package::detail
