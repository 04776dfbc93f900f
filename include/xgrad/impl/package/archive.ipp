// Bodies of archive.hpp and saved_record.hpp.
#pragma once

#include <xgrad/package/archive.hpp>
#include <xgrad/package/saved_record.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION Archive::Archive(data::Input in) : in_(std::move(in)), zip_(in_) {
    for (auto const& e : zip_.entries()) {
        if (e.deflated) fail_in(e.name, "the entry is compressed, which those of packages are not");
        entries_.emplace(e.name, &e);
    }
    if (!entries_.contains(manifest_file))
        fail_in(manifest_file, "this file is not there; the zip file is no package of xgrad");
    read_manifest(json(manifest_file));
    check_files();
}

XGRAD_FUNCTION auto Archive::find(std::string_view package, std::string_view resource) const
    -> Resource const* {
    auto const base = base_of("PackageImporter", package, resource);
    auto const at = resources_.find(base);
    return at == resources_.end() ? nullptr : &at->second;
}

XGRAD_FUNCTION auto Archive::resource(std::string_view by, std::string_view package,
    std::string_view name, ResourceKind kind) const -> Resource const& {
    auto const* const r = find(package, name);
    if (!r) fail<PackageError>(by, ": ", in_.name(), " has no resource '", package, ".", name, "'");
    if (r->kind != kind)
        fail<PackageError>(by, ": '", r->name, "' in ", in_.name(), " is of kind ",
            name_of(r->kind), ", not ", name_of(kind));
    return *r;
}

XGRAD_FUNCTION Json Archive::json(std::string_view file) const {
    auto const bytes = read(file);
    return data::read_json(data::Input(bytes, title(file)));
}

XGRAD_FUNCTION StateDict Archive::tensors(Resource const& r) const {
    auto const file = files_of(r.kind, r.base).back();
    auto const bytes = read(file);
    return data::load_safetensors(data::Input(bytes, title(file)));
}

XGRAD_FUNCTION std::string Archive::file_structure(
    Patterns const& include, Patterns const& exclude) const {
    Glob const glob(include, exclude, '/');
    std::vector<std::string> files;
    for (auto const& [file, entry] : entries_)
        if (glob.matches(file)) files.push_back(file);
    return tree_of(std::move(files), std::filesystem::path(in_.name()).filename().string());
}

XGRAD_FUNCTION void Archive::read_manifest(Json const& json) {
    auto const where = title(manifest_file);
    auto const member = [&](Json const& of, std::string_view key) -> Json const& {
        auto const* const found = of.find(key);
        if (!found) fail<data::FormatError>(where, ": there is no '", key, "'");
        return *found;
    };
    auto const members = [&](Json const& of, std::string_view key) -> Json::Object const& {
        auto const* const found = member(of, key).get_if<Json::Object>();
        if (!found) fail<data::FormatError>(where, ": '", key, "' should be an object");
        return *found;
    };
    format_ = from_json<std::int64_t>(member(json, "format"), where + ", format");
    xgrad_version_ = from_json<std::string>(member(json, "xgrad"), where + ", xgrad");
    if (format_ > format_version)
        fail<PackageError>(in_.name(), ": the package has format ", format_,
            " and was written by xgrad ", xgrad_version_, "; this xgrad reads formats up to ",
            format_version);
    if (format_ < 1) fail<data::FormatError>(where, ": there is no format ", format_);
    for (auto const& [base, value] : members(json, "resources")) {
        auto const kind =
            from_json<std::string>(member(value, "kind"), where + ", resource '" + base + "'");
        auto const* const known = std::ranges::find(kind_names, kind);
        if (known == std::end(kind_names))
            fail<data::FormatError>(where, ": a resource of kind '", kind, "' is not known");
        auto const slash = base.rfind('/');
        std::string package = base.substr(0, slash == base.npos ? 0 : slash);
        std::ranges::replace(package, '/', '.');
        try {
            if (slash == base.npos || base_of("", package, base.substr(slash + 1)) != base)
                throw PackageError("");
        } catch (PackageError const&) {
            fail<data::FormatError>(where, ": '", base, "' cannot be the path of a resource");
        }
        Resource r{package + "." + base.substr(slash + 1), base,
            static_cast<ResourceKind>(known - std::begin(kind_names))};
        graph_.add(r.name).is_resource = true;
        for (auto const& name : names(member(value, "depends_on"), where))
            graph_.add_edge(r.name, name);
        resources_.emplace(base, std::move(r));
    }
    for (auto const& [name, value] : members(json, "dependencies")) {
        if (!is_dotted(name))
            fail<data::FormatError>(where, ": '", name, "' cannot be the name of a dependency");
        auto const action =
            from_json<std::string>(member(value, "action"), where + ", dependency '" + name + "'");
        auto const* const known = std::ranges::find(action_names, action);
        if (known == std::end(action_names) || *known == name_of(Action::deny))
            fail<data::FormatError>(where, ": the action '", action, "' is not known");
        graph_.add(name).action = static_cast<Action>(known - std::begin(action_names));
        for (auto const& target : names(member(value, "depends_on"), where))
            graph_.add_edge(name, target);
    }
    for (auto const& name : graph_.names())
        if (auto const& node = *graph_.find(name); !node.action && !node.is_resource)
            fail<data::FormatError>(where, ": what becomes of '", name, "' is not said");
}

XGRAD_FUNCTION std::vector<std::string> Archive::names(Json const& json, std::string const& where) {
    return from_json<std::vector<std::string>>(json, where + ", depends_on");
}

XGRAD_FUNCTION void Archive::check_files() const {
    std::size_t expected = 1;
    for (auto const& [base, r] : resources_)
        for (auto const& file : files_of(r.kind, base)) {
            ++expected;
            if (!entries_.contains(file)) fail_in(file, "this file is not there");
        }
    if (expected == entries_.size()) return;
    std::set<std::string, std::less<>> known{std::string(manifest_file)};
    for (auto const& [base, r] : resources_)
        for (auto& file : files_of(r.kind, base)) {
            if (!known.insert(file).second) fail_in(file, "the file belongs to two resources");
        }
    for (auto const& [file, entry] : entries_)
        if (!known.contains(file)) fail_in(file, "the file belongs to no resource");
}

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
