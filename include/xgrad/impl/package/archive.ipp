// Bodies of archive.hpp.
#pragma once

#include <xgrad/package/archive.hpp>

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

} // namespace xgrad::package::detail
