// PackageExporter: writes a package, one file that holds modules, tensors, texts and bytes, by
// rules for each thing that they depend on.
#pragma once

#include <xgrad/data.hpp>
#include <xgrad/graph/hook.hpp>
#include <xgrad/package/record.hpp>

namespace xgrad::package {

/// How a rule is given.
struct RuleOptions {
    /// Names that the rule does not match though its patterns do.
    Patterns exclude = {};
    /// Without it, close() is an EmptyMatchError where the rule has matched nothing.
    bool allow_empty = true;
};

/// Collects what a package consists of; close() decides what becomes of each dependency, and writes
/// the file, whole or not at all. A dependency is the type of a module, or what a type declares
/// beside (package::DependsOn). The rules are asked in the order in which they were given, and the
/// first that matches a name decides.
class PackageExporter {
public:
    explicit PackageExporter(std::filesystem::path path) : path_(std::move(path)) {}
    PackageExporter(PackageExporter const&) = delete;
    PackageExporter& operator=(PackageExporter const&) = delete;
    /// Without close() no file is written.
    ~PackageExporter() = default;

    /// Types of these names are stored with arguments, parameters and buffers.
    void intern(Patterns const& names, RuleOptions const& options = {}) {
        add_rule(Action::intern, names, options);
    }
    /// Of these names nothing else is stored; the program that reads the package provides what they
    /// stand for.
    void extern_(Patterns const& names, RuleOptions const& options = {}) {
        add_rule(Action::extern_, names, options);
    }
    /// Of these names nothing else is stored; a Mock stands for them in the program that reads the
    /// package.
    void mock(Patterns const& names, RuleOptions const& options = {}) {
        add_rule(Action::mock, names, options);
    }
    /// A dependency of these names keeps the package from being written.
    void deny(Patterns const& names, Patterns const& exclude = {}) {
        add_rule(Action::deny, names, {.exclude = exclude});
    }

    /// Stores a module with the values that it has now. Each type in it that is interned must have
    /// a name (package::Type).
    void save_module(
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
    /// Stores the values of a tensor.
    void save_tensor(std::string_view package, std::string_view resource, AnyTensor const& tensor) {
        if (!tensor.defined()) detail::fail<PackageError>("save_tensor: the tensor is undefined");
        Resource r = start("save_tensor", package, resource, ResourceKind::tensor);
        r.state.set("tensor", xgrad::detail::value_copy(tensor));
        finish(std::move(r));
    }
    /// Stores the values of tensors under their names, such as the state of an optimiser.
    void save_tensors(
        std::string_view package, std::string_view resource, StateDict const& tensors) {
        Resource r = start("save_tensors", package, resource, ResourceKind::tensors);
        for (auto const& [name, tensor] : tensors)
            r.state.set(name, xgrad::detail::value_copy(tensor));
        finish(std::move(r));
    }
    /// Stores a text, which must be UTF-8.
    void save_text(std::string_view package, std::string_view resource, std::string_view text) {
        if (data::detail::utf8_until(text) != text.size())
            detail::fail<PackageError>("save_text: the text is not UTF-8");
        Resource r = start("save_text", package, resource, ResourceKind::text);
        r.bytes = text;
        finish(std::move(r));
    }
    /// Stores bytes as they are.
    void save_binary(
        std::string_view package, std::string_view resource, std::span<std::byte const> bytes) {
        Resource r = start("save_binary", package, resource, ResourceKind::binary);
        r.bytes.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
        finish(std::move(r));
    }

    /// A hook for each name that becomes external: f(exporter, name), at the moment of the
    /// decision, once for each name, in order of registration. It may give rules, which count for
    /// names that are decided later, save further resources, or throw: then close() throws, and no
    /// file is written.
    template <class F> HookHandle register_extern_hook(F f) {
        return add_hook(Action::extern_, std::move(f));
    }
    /// The same for each name that is interned.
    template <class F> HookHandle register_intern_hook(F f) {
        return add_hook(Action::intern, std::move(f));
    }
    /// The same for each name that is mocked.
    template <class F> HookHandle register_mock_hook(F f) {
        return add_hook(Action::mock, std::move(f));
    }

    /// Decides what becomes of each dependency, with the hooks, and writes the file. Throws a
    /// PackageError that lists every name that is denied, matches no rule, or cannot be interned,
    /// with a path by which it is reached.
    void close() {
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

    /// The names that were decided so far, in the order of the decisions.
    std::vector<std::string> interned() const { return graph_.names(Action::intern); }
    std::vector<std::string> externed() const { return graph_.names(Action::extern_); }
    std::vector<std::string> mocked() const { return graph_.names(Action::mock); }
    std::vector<std::string> denied() const { return graph_.names(Action::deny); }
    /// The graph of dependencies in the language of Graphviz: resources, and what they depend on.
    std::string dependency_graph() const { return graph_.dot(); }
    /// Every path in that graph from one name to another: {"acme.model", "acme.Net",
    /// "xgrad.nn.Linear"}.
    std::vector<std::vector<std::string>> all_paths(
        std::string const& from, std::string const& to) const {
        return graph_.all_paths(from, to);
    }
    /// The files of the package as a tree: those that match a pattern such as "acme/**" and none of
    /// `exclude`.
    std::string file_structure(Patterns const& include = "**", Patterns const& exclude = {}) const {
        detail::Glob const glob(include, exclude, '/');
        std::vector<std::string> files{std::string(detail::manifest_file)};
        for (auto const& r : resources_)
            for (auto& file : detail::files_of(r->kind, r->base)) files.push_back(std::move(file));
        std::erase_if(files, [&](std::string const& file) { return !glob.matches(file); });
        return detail::tree_of(std::move(files), path_.filename().string());
    }

private:
    using ResourceKind = detail::ResourceKind;
    using Hook = void(PackageExporter&, std::string const&);

    struct Rule {
        Action action;
        detail::Glob names;
        bool allow_empty, matched = false;
    };
    struct Resource {
        std::string name, base; // "acme.vision.model" and "acme/vision/model"
        ResourceKind kind;
        detail::ModuleRecord module = {};
        StateDict state = {};
        std::vector<std::string> parameters = {}, frozen = {}, evaluating = {};
        std::string bytes = {};
    };
    enum class Problem : unsigned char { no_rule, denied, only_a_name, nothing_saved };

    void add_rule(Action action, Patterns const& names, RuleOptions const& options) {
        if (names.empty()) detail::fail<PackageError>("PackageExporter: a rule needs a pattern");
        rules_.push_back({action, detail::Glob(names, options.exclude), options.allow_empty});
    }
    template <class F> HookHandle add_hook(Action action, F f) {
        constexpr bool takes = std::is_invocable_v<F&, PackageExporter&, std::string const&>;
        static_assert(takes, "PackageExporter: a hook takes the PackageExporter& and the name, a "
                             "std::string const&");
        if constexpr (takes) {
            constexpr bool fits =
                std::is_void_v<std::invoke_result_t<F&, PackageExporter&, std::string const&>>;
            static_assert(fits, "PackageExporter: a hook returns nothing");
            if constexpr (fits) return hooks_[static_cast<std::size_t>(action)].add(std::move(f));
        }
        return {};
    }

    Resource start(std::string_view by, std::string_view package, std::string_view resource,
        ResourceKind kind) const {
        auto base = detail::base_of(by, package, resource);
        for (auto const& file : detail::files_of(kind, base))
            for (auto const& other : resources_)
                for (auto const& there : detail::files_of(other->kind, other->base))
                    if (there == file)
                        detail::fail<PackageError>(
                            by, ": the package has a file '", file, "' already");
        return {.name = std::string(package) + "." + std::string(resource),
            .base = std::move(base),
            .kind = kind};
    }
    void finish(Resource r) {
        if (written_)
            detail::fail<PackageError>("PackageExporter: nothing can be saved after close()");
        resources_.push_back(std::make_unique<Resource>(std::move(r)));
    }

    void visit(detail::ModuleRecord const& m, std::string const& from, std::string const& path) {
        if (m.type.empty()) {
            unnamed_.push_back("'" + path + "' (" + m.kind + ") in " + graph_.path_to(from));
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
    std::optional<Action> decide(std::string const& name) {
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
    void add_problem(Problem p, std::string const& name) {
        auto const problem = std::pair(p, name);
        if (std::ranges::find(problems_, problem) == problems_.end()) problems_.push_back(problem);
    }

    void check() {
        for (auto const& name : beside_) {
            bool const saved =
                std::ranges::any_of(resources_, [&](auto const& r) { return r->name == name; });
            if (!saved && !detail::registry().knows(name))
                add_problem(Problem::nothing_saved, name);
        }
        std::string text;
        static constexpr std::pair<Problem, std::string_view> reasons[] = {
            {Problem::no_rule, "no rule matches; intern, extern or mock them"},
            {Problem::denied, "denied by a rule"},
            {Problem::only_a_name, "interned, but the type has only a name"},
            {Problem::nothing_saved, "interned, but nothing was saved under this name"},
        };
        for (auto const& [problem, reason] : reasons) {
            bool first = true;
            for (auto const& [p, name] : problems_) {
                if (p != problem) continue;
                if (std::exchange(first, false)) text += "\n* " + std::string(reason) + ':';
                text += "\n    " + name + " (" + graph_.path_to(name) + ")";
            }
        }
        for (auto const& each : unnamed_)
            text += (&each == &unnamed_.front() ? "\n* modules whose C++ types have no name; give "
                                                  "them one by package::Type:\n    "
                                                : "\n    ") +
                    each;
        if (!text.empty())
            detail::fail<PackageError>(path_.string(), ": the package cannot be written:", text);
        for (auto const& rule : rules_)
            if (!rule.allow_empty && !rule.matched)
                detail::fail<EmptyMatchError>(path_.string(), ": the rule ",
                    detail::name_of(rule.action), "(", rule.names.text(), ") matched nothing");
    }

    void write() {
        data::AtomicFile file(path_);
        data::detail::ZipWriter zip(file);
        zip.add(std::string(detail::manifest_file), data::to_text(manifest()));
        for (auto const& r : resources_) write(*r, zip);
        zip.finish();
        file.commit();
        written_ = true;
    }
    Json manifest() const {
        Json json;
        json.set("format", format_version);
        json.set("xgrad", std::to_string(XGRAD_VERSION_MAJOR) + "." +
                              std::to_string(XGRAD_VERSION_MINOR) + "." +
                              std::to_string(XGRAD_VERSION_PATCH));
        auto const targets = [](detail::Dependencies::Node const& node) {
            Json::Array all;
            for (auto const& target : node.targets) all.push_back(target);
            return all;
        };
        Json::Object dependencies, resources;
        for (auto const& name : graph_.names()) {
            auto const& node = *graph_.find(name);
            if (node.action)
                dependencies.emplace_back(
                    name, Json::Object{{"action", detail::name_of(*node.action)},
                              {"depends_on", targets(node)}});
        }
        for (auto const& r : resources_)
            resources.emplace_back(r->base, Json::Object{{"kind", detail::name_of(r->kind)},
                                                {"depends_on", targets(*graph_.find(r->name))}});
        json.set("dependencies", std::move(dependencies));
        json.set("resources", std::move(resources));
        return json;
    }
    void write(Resource const& r, data::detail::ZipWriter& zip) const {
        auto const files = detail::files_of(r.kind, r.base);
        if (r.kind == ResourceKind::text || r.kind == ResourceKind::binary)
            return zip.add(files[0], r.bytes);
        std::vector<std::string> left_out;
        if (r.kind == ResourceKind::module) {
            find_left_out(r.module, "", left_out);
            zip.add(files[0], data::to_text(to_json(r, left_out)));
        }
        StateDict state;
        for (auto const& [name, tensor] : r.state)
            if (!is_within_any(name, left_out)) state.set(name, tensor);
        auto const image = data::detail::safetensors_image(state, {});
        std::vector<std::span<std::byte const>> pieces;
        for (auto const& values : image.values) pieces.push_back(image.bytes(values));
        zip.add(files.back(), image.head, pieces);
    }
    bool is_interned(std::string const& type) const {
        return graph_.find(type)->action == Action::intern;
    }
    /// The paths of the modules of which only the name is stored.
    void find_left_out(detail::ModuleRecord const& m, std::string const& path,
        std::vector<std::string>& found) const {
        if (!is_interned(m.type)) return found.push_back(path);
        for (auto const& inside : m.modules)
            find_left_out(inside, detail::join(path, inside.name), found);
    }
    static bool is_within_any(std::string_view name, std::vector<std::string> const& modules) {
        return std::ranges::any_of(
            modules, [&](auto const& m) { return detail::is_within(name, m); });
    }
    Json to_json(Resource const& r, std::vector<std::string> const& left_out) const {
        auto const list = [&](std::vector<std::string> const& names) {
            Json::Array all;
            for (auto const& name : names)
                if (!is_within_any(name, left_out)) all.push_back(name);
            return all;
        };
        Json json;
        json.set("module", detail::to_json(r.module,
                               [this](std::string const& type) { return is_interned(type); }));
        json.set("parameters", list(r.parameters))
            .set("frozen", list(r.frozen))
            .set("evaluating", list(r.evaluating));
        return json;
    }

    std::filesystem::path path_;
    std::vector<Rule> rules_;
    std::vector<std::unique_ptr<Resource>> resources_;
    xgrad::detail::HookList<Hook> hooks_[3];
    detail::Dependencies graph_;
    std::set<std::string> undecided_;
    std::vector<std::pair<Problem, std::string>> problems_;
    std::vector<std::string> unnamed_, beside_;
    bool closed_ = false, written_ = false;
};

} // namespace xgrad::package
