// Bodies of provided.hpp.
#pragma once

#include <xgrad/package/provided.hpp>

namespace xgrad::package::detail {

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
