// Bodies of importer.hpp.
#pragma once

#include <xgrad/package/importer.hpp>
#include <xgrad/tensor/generator.hpp>

namespace xgrad::package {

XGRAD_FUNCTION AnyTensor PackageImporter::load_tensor(
    std::string_view package, std::string_view resource) const {
    auto const& r =
        archive_.resource("load_tensor", package, resource, detail::ResourceKind::tensor);
    auto const state = archive_.tensors(r);
    if (state.size() != 1 || !state.contains("tensor"))
        detail::fail<data::FormatError>(
            archive_.name(), ": ", r.base, ": here should be one tensor");
    return state.at("tensor");
}

XGRAD_FUNCTION StateDict PackageImporter::load_tensors(
    std::string_view package, std::string_view resource) const {
    return archive_.tensors(
        archive_.resource("load_tensors", package, resource, detail::ResourceKind::tensors));
}

XGRAD_FUNCTION std::string PackageImporter::load_text(
    std::string_view package, std::string_view resource) const {
    auto const bytes = archive_.read(
        archive_.resource("load_text", package, resource, detail::ResourceKind::text).base);
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

XGRAD_FUNCTION std::vector<std::byte> PackageImporter::load_binary(
    std::string_view package, std::string_view resource) const {
    return archive_.read(
        archive_.resource("load_binary", package, resource, detail::ResourceKind::binary).base);
}

XGRAD_FUNCTION std::vector<ResourceInfo> PackageImporter::resources() const {
    std::vector<ResourceInfo> all;
    for (auto const& [base, r] : archive_.resources()) {
        auto const length = base.size() - base.rfind('/') - 1;
        all.push_back({r.name.substr(0, r.name.size() - length - 1),
            r.name.substr(r.name.size() - length), std::string(detail::name_of(r.kind))});
    }
    return all;
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> PackageImporter::load(
    std::string_view package, std::string_view resource, std::unique_ptr<nn::AnyModule> container) {
    auto const& r =
        archive_.resource("load_module", package, resource, detail::ResourceKind::module);
    check_externals(r.name);
    detail::StoredModule const stored(archive_, r);
    struct Restored { // constructors draw random numbers
        std::mt19937_64 before = xgrad::detail::generator();
        ~Restored() { xgrad::detail::generator() = before; }
    } const restored;
    detail::ModuleBuilder builder(archive_, provided_, stored);
    auto module = builder.root(std::move(container));
    builder.load_state(*module);
    return module;
}

XGRAD_FUNCTION void PackageImporter::check_externals(std::string const& resource) const {
    auto const& graph = archive_.dependencies();
    std::vector<std::string> missing;
    for (auto const& name : graph.reachable(resource)) {
        auto const* const node = graph.find(name);
        if (!node || node->action != Action::extern_) continue;
        if (options_.allowed && !options_.allowed(name))
            detail::fail<PackageError>(archive_.name(), ": needs the external '", name, "' (",
                graph.path_to(name), "), which this importer does not allow");
        if (!provided_.provides(name)) missing.push_back(name);
    }
    if (missing.empty()) return;
    auto const paths = graph.paths_to(missing);
    std::string text;
    for (std::size_t i = 0; i < missing.size(); ++i)
        text += "\n    " + missing[i] + " (" + paths[i] + ")";
    detail::fail<PackageError>(archive_.name(),
        ": needs what this program does not provide; call provide() for it first:", text);
}

} // namespace xgrad::package
