// Bodies of saved_record.hpp.
#pragma once

#include <xgrad/package/saved_record.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION std::vector<std::string> files_of(ResourceKind kind, std::string const& base) {
    switch (kind) {
    case ResourceKind::module:
        return {base + ".json", base + ".safetensors"};
    case ResourceKind::tensor:
    case ResourceKind::tensors:
        return {base + ".safetensors"};
    default:
        return {base};
    }
}

XGRAD_FUNCTION std::string base_of(
    std::string_view by, std::string_view package, std::string_view resource) {
    if (!is_dotted(package))
        fail<PackageError>(by,
            ": the name of a package is identifiers with dots between them, not '", package, "'");
    bool good = !resource.empty() && resource != "." && resource != ".." &&
                data::detail::utf8_until(resource) == resource.size();
    for (char const c : resource)
        good = good && static_cast<unsigned char>(c) >= 0x20 && c != '/' && c != '\\' && c != ':';
    if (!good)
        fail<PackageError>(
            by, ": '", resource, "' cannot be the name of a resource, which is that of a file");
    std::string base(package);
    std::ranges::replace(base, '.', '/');
    return base + '/' + std::string(resource);
}

XGRAD_FUNCTION bool is_within_any(std::string_view path, ModulePaths const& modules) {
    if (modules.empty()) return false;
    for (auto end = path.size(); end != path.npos;) {
        if (modules.contains(path.substr(0, end))) return true;
        end = end ? path.rfind('.', end - 1) : path.npos;
    }
    return modules.contains("");
}

XGRAD_FUNCTION ModuleRecord record_of(nn::AnyModule& m) {
    ModuleRecord r;
    r.kind = m.kind();
    if (auto const* const container = dynamic_cast<nn::ModuleContainer const*>(&m)) {
        r.type = "xgrad.nn." + std::string(container->container_kind());
        r.dtype = container->container_dtype();
    } else if (auto const* const generic = dynamic_cast<GenericModule const*>(&m)) {
        r.type = generic->type();
        r.dtype = generic->dtype();
        r.arguments = generic->arguments();
    } else if (auto const* const mock = dynamic_cast<Mock const*>(&m)) {
        r.type = mock->name();
        r.can_be_interned = false;
    } else if (auto const* const entry = registry().find(m)) {
        r.type = entry->name;
        r.dtype = entry->dtype;
        r.depends_on.assign(entry->depends_on.begin(), entry->depends_on.end());
        if (entry->arguments) r.arguments = entry->arguments(m);
        else r.can_be_interned = false;
    }
    for (auto const& [name, module] : m.named_children()) {
        r.modules.push_back(record_of(*module));
        r.modules.back().name = name;
    }
    return r;
}

XGRAD_FUNCTION std::optional<DType> dtype_named(std::string_view text) {
    for (auto const t : {DType::boolean, DType::int64, DType::float32, DType::float64,
             DType::complex64, DType::complex128})
        if (name(t) == text) return t;
    return {};
}

XGRAD_FUNCTION ModuleRecord record_from(
    Json const& json, std::string const& file, std::string const& path) {
    auto const where = path.empty() ? file : file + "." + path;
    ModuleRecord r;
    auto const* const members = json.get_if<Json::Object>();
    if (!members) fail<data::FormatError>(where, ": here should be a module");
    for (auto const& [key, value] : *members) {
        if (key == "type") r.type = from_json<std::string>(value, where + ", type");
        else if (key == "arguments") r.arguments = value;
        else if (key == "dtype") {
            r.dtype = dtype_named(from_json<std::string>(value, where + ", dtype"));
            if (!r.dtype) fail<data::FormatError>(where, ": the dtype is not known");
        } else if (key == "modules") {
            auto const* const modules = value.get_if<Json::Object>();
            if (!modules) fail<data::FormatError>(where, ": here should be the modules inside");
            for (auto const& [name, module] : *modules) {
                if (name.empty() || name.find('.') != name.npos)
                    fail<data::FormatError>(where, ": no module can have the name '", name, "'");
                auto inside = join(path, name);
                if (inside.size() > max_path_bytes)
                    fail<data::FormatError>(file, ": the path of a module has ", inside.size(),
                        " bytes, which is more than ", max_path_bytes);
                r.modules.push_back(record_from(module, file, inside));
                r.modules.back().name = name;
            }
        } else fail<data::FormatError>(where, ": the key '", key, "' is not known");
    }
    if (!is_type_name(r.type))
        fail<data::FormatError>(where, ": '", r.type, "' cannot be the name of a type");
    return r;
}

} // namespace xgrad::package::detail
