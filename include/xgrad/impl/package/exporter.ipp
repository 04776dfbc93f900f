// Bodies of exporter.hpp and importer.hpp.
#pragma once

#include <xgrad/package/exporter.hpp>
#include <xgrad/package/importer.hpp>
#include <xgrad/tensor/generator.hpp>

namespace xgrad::package {

XGRAD_FUNCTION void PackageExporter::save_module(
    std::string_view package, std::string_view resource, nn::AnyModule const& module) {
    auto& m = const_cast<nn::AnyModule&>(module); // which is only read: AnyModule lists what is
                                                  // inside as modules that can be changed
    Resource r = start("save_module", package, resource, ResourceKind::module);
    r.module = detail::record_of(m);
    r.state = m.state_dict();
    for (auto const& [name, p] : m.named_parameters()) {
        r.parameters.push_back(name);
        if (!p.requires_grad()) r.frozen.push_back(name);
    }
    for (auto const& [name, each] : m.named_modules())
        if (!each->is_training()) r.evaluating.push_back(name);
    finish(std::move(r));
}

XGRAD_FUNCTION void PackageExporter::save_tensor(
    std::string_view package, std::string_view resource, AnyTensor const& tensor) {
    if (!tensor.defined()) detail::fail<PackageError>("save_tensor: the tensor is undefined");
    Resource r = start("save_tensor", package, resource, ResourceKind::tensor);
    r.state.set("tensor", xgrad::detail::value_copy(tensor));
    finish(std::move(r));
}

XGRAD_FUNCTION void PackageExporter::save_tensors(
    std::string_view package, std::string_view resource, StateDict const& tensors) {
    Resource r = start("save_tensors", package, resource, ResourceKind::tensors);
    for (auto const& [name, tensor] : tensors) r.state.set(name, xgrad::detail::value_copy(tensor));
    finish(std::move(r));
}

XGRAD_FUNCTION void PackageExporter::save_text(
    std::string_view package, std::string_view resource, std::string_view text) {
    if (data::detail::utf8_until(text) != text.size())
        detail::fail<PackageError>("save_text: the text is not UTF-8");
    Resource r = start("save_text", package, resource, ResourceKind::text);
    r.bytes = text;
    finish(std::move(r));
}

XGRAD_FUNCTION void PackageExporter::save_binary(
    std::string_view package, std::string_view resource, std::span<std::byte const> bytes) {
    Resource r = start("save_binary", package, resource, ResourceKind::binary);
    r.bytes.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    finish(std::move(r));
}

XGRAD_FUNCTION void PackageExporter::close() {
    if (closed_) detail::fail<PackageError>("PackageExporter: close() was called before");
    closed_ = true;
    for (std::size_t i = 0; i < resources_.size(); ++i) { // hooks may add some
        auto const& r = *resources_[i];
        graph_.add(r.name).is_resource = true;
        if (r.kind == ResourceKind::module) visit(r.module, r.name, "");
    }
    check();
    write();
}

XGRAD_FUNCTION std::string PackageExporter::file_structure(
    Patterns const& include, Patterns const& exclude) const {
    detail::Glob const glob(include, exclude, '/');
    std::vector<std::string> files{std::string(detail::manifest_file)};
    for (auto const& r : resources_)
        for (auto& file : detail::files_of(r->kind, r->base)) files.push_back(std::move(file));
    std::erase_if(files, [&](std::string const& file) { return !glob.matches(file); });
    return detail::tree_of(std::move(files), path_.filename().string());
}

XGRAD_FUNCTION void PackageExporter::add_rule(
    Action action, Patterns const& names, RuleOptions const& options) {
    if (names.empty()) detail::fail<PackageError>("PackageExporter: a rule needs a pattern");
    rules_.push_back({action, detail::Glob(names, options.exclude), options.allow_empty});
}

XGRAD_FUNCTION auto PackageExporter::start(std::string_view by, std::string_view package,
    std::string_view resource, ResourceKind kind) const -> Resource {
    auto base = detail::base_of(by, package, resource);
    for (auto const& file : detail::files_of(kind, base))
        if (files_.contains(file))
            detail::fail<PackageError>(by, ": the package has a file '", file, "' already");
    return {.name = std::string(package) + "." + std::string(resource),
        .base = std::move(base),
        .kind = kind};
}

XGRAD_FUNCTION void PackageExporter::finish(Resource r) {
    if (written_) detail::fail<PackageError>("PackageExporter: nothing can be saved after close()");
    for (auto& file : detail::files_of(r.kind, r.base)) files_.insert(std::move(file));
    resources_.push_back(std::make_unique<Resource>(std::move(r)));
}

XGRAD_FUNCTION void PackageExporter::visit(
    detail::ModuleRecord const& m, std::string const& from, std::string const& path) {
    if (path.size() > detail::max_path_bytes)
        detail::fail<PackageError>(path_.string(), ": the path of a module has ", path.size(),
            " bytes; a package can hold ", detail::max_path_bytes);
    if (m.type.empty()) {
        unnamed_.push_back({"'" + path + "' (" + m.kind + ") in ", from});
        return;
    }
    graph_.add_edge(from, m.type);
    if (decide(m.type) != Action::intern) return;
    if (!m.can_be_interned) add_problem(Problem::only_a_name, m.type);
    for (auto const& name : m.depends_on) {
        graph_.add_edge(m.type, name);
        if (decide(name) == Action::intern) beside_.push_back(name);
    }
    for (auto const& inside : m.modules) visit(inside, m.type, detail::join(path, inside.name));
}

XGRAD_FUNCTION std::optional<Action> PackageExporter::decide(std::string const& name) {
    if (auto const decided = graph_.add(name).action) return decided;
    if (!undecided_.insert(name).second) return {};
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!rules_[i].names.matches(name)) continue;
        rules_[i].matched = true;
        auto const action = rules_[i].action;
        undecided_.erase(name);
        graph_.add(name).action = action;
        if (action == Action::deny) add_problem(Problem::denied, name);
        else
            hooks_[static_cast<std::size_t>(action)].for_each(
                [&](auto const& hook) { hook(*this, name); });
        return action;
    }
    add_problem(Problem::no_rule, name);
    return {};
}

XGRAD_FUNCTION void PackageExporter::add_problem(Problem p, std::string const& name) {
    if (known_problems_.insert({p, name}).second) problems_.push_back({p, name});
}

XGRAD_FUNCTION void PackageExporter::check() {
    for (auto const& name : beside_)
        if (!graph_.find(name)->is_resource && !detail::registry().knows(name))
            add_problem(Problem::nothing_saved, name);
    std::vector<std::string> names;
    for (auto const& [problem, name] : problems_) names.push_back(name);
    for (auto const& [text, from] : unnamed_) names.push_back(from);
    auto const paths = graph_.paths_to(names);
    std::string text;
    static constexpr std::pair<Problem, std::string_view> reasons[] = {
        {Problem::no_rule, "no rule matches; intern, extern or mock them"},
        {Problem::denied, "denied by a rule"},
        {Problem::only_a_name, "interned, but the type has only a name"},
        {Problem::nothing_saved, "interned, but nothing was saved under this name"},
    };
    for (auto const& [problem, reason] : reasons) {
        bool first = true;
        for (std::size_t i = 0; i < problems_.size(); ++i) {
            if (problems_[i].first != problem) continue;
            if (std::exchange(first, false)) text += "\n* " + std::string(reason) + ':';
            text += "\n    " + names[i] + " (" + paths[i] + ")";
        }
    }
    for (std::size_t i = 0; i < unnamed_.size(); ++i)
        text += (i == 0 ? "\n* modules whose C++ types have no name; give "
                          "them one by package::Type:\n    "
                        : "\n    ") +
                unnamed_[i].first + paths[problems_.size() + i];
    if (!text.empty())
        detail::fail<PackageError>(path_.string(), ": the package cannot be written:", text);
    for (auto const& rule : rules_)
        if (!rule.allow_empty && !rule.matched)
            detail::fail<EmptyMatchError>(path_.string(), ": the rule ",
                detail::name_of(rule.action), "(", rule.names.text(), ") matched nothing");
}

XGRAD_FUNCTION void PackageExporter::write() {
    data::AtomicFile file(path_);
    data::detail::ZipWriter zip(file);
    zip.add(std::string(detail::manifest_file), data::to_text(manifest()));
    for (auto const& r : resources_) write(*r, zip);
    zip.finish();
    file.commit();
    written_ = true;
}

XGRAD_FUNCTION Json PackageExporter::manifest() const {
    Json json;
    json.set("format", format_version);
    json.set("xgrad", XGRAD_VERSION_STRING);
    auto const targets = [](detail::Dependencies::Node const& node) {
        Json::Array all;
        for (auto const& target : node.targets) all.push_back(target);
        return all;
    };
    Json::Object dependencies, resources;
    for (auto const& name : graph_.names()) {
        auto const& node = *graph_.find(name);
        if (node.action)
            dependencies.emplace_back(name, Json::Object{{"action", detail::name_of(*node.action)},
                                                {"depends_on", targets(node)}});
    }
    for (auto const& r : resources_)
        resources.emplace_back(r->base, Json::Object{{"kind", detail::name_of(r->kind)},
                                            {"depends_on", targets(*graph_.find(r->name))}});
    json.set("dependencies", std::move(dependencies));
    json.set("resources", std::move(resources));
    return json;
}

XGRAD_FUNCTION void PackageExporter::write(Resource const& r, data::detail::ZipWriter& zip) const {
    auto const files = detail::files_of(r.kind, r.base);
    if (r.kind == ResourceKind::text || r.kind == ResourceKind::binary)
        return zip.add(files[0], r.bytes);
    detail::ModulePaths left_out;
    if (r.kind == ResourceKind::module) {
        find_left_out(r.module, "", left_out);
        zip.add(files[0], data::to_text(to_json(r, left_out)));
    }
    StateDict state;
    for (auto const& [name, tensor] : r.state)
        if (!detail::is_within_any(name, left_out)) state.set(name, tensor);
    auto const image = data::detail::safetensors_image(state, {});
    std::vector<std::span<std::byte const>> pieces;
    for (auto const& values : image.values) pieces.push_back(image.bytes(values));
    zip.add(files.back(), image.head, pieces);
}

XGRAD_FUNCTION void PackageExporter::find_left_out(
    detail::ModuleRecord const& m, std::string const& path, detail::ModulePaths& found) const {
    if (!is_interned(m.type)) return void(found.insert(path));
    for (auto const& inside : m.modules)
        find_left_out(inside, detail::join(path, inside.name), found);
}

XGRAD_FUNCTION Json PackageExporter::to_json(
    Resource const& r, detail::ModulePaths const& left_out) const {
    auto const list = [&](std::vector<std::string> const& names) {
        Json::Array all;
        for (auto const& name : names)
            if (!detail::is_within_any(name, left_out)) all.push_back(name);
        return all;
    };
    Json json;
    json.set("module",
        detail::to_json(r.module, [this](std::string const& type) { return is_interned(type); }));
    json.set("parameters", list(r.parameters))
        .set("frozen", list(r.frozen))
        .set("evaluating", list(r.evaluating));
    return json;
}

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
