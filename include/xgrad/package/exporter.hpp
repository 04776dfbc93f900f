// PackageExporter: writes a package, one file that holds modules, tensors, texts and bytes, by
// rules for each thing that they depend on.
//
// Gradients: none are stored: only values, and which parameters require one.
// Errors: PackageError for names that no rule decides, that are denied or that cannot be interned,
// for a resource that is there already, for an undefined tensor, and after close(); EmptyMatchError
// for a rule that had to match. A file that cannot be written is an Error. A hook with other
// parameters does not compile.
#pragma once

#include <xgrad/autograd/hook.hpp>
#include <xgrad/data.hpp>
#include <xgrad/package/saved_record.hpp>

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
        std::string_view package, std::string_view resource, nn::AnyModule const& module);
    /// Stores the values of a tensor.
    void save_tensor(std::string_view package, std::string_view resource, AnyTensor const& tensor);
    /// Stores the values of tensors under their names, such as the state of an optimiser.
    void save_tensors(
        std::string_view package, std::string_view resource, StateDict const& tensors);
    /// Stores a text, which must be UTF-8.
    void save_text(std::string_view package, std::string_view resource, std::string_view text);
    /// Stores bytes as they are.
    void save_binary(
        std::string_view package, std::string_view resource, std::span<std::byte const> bytes);

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
    void close();

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
    std::string file_structure(Patterns const& include = "**", Patterns const& exclude = {}) const;

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

    void add_rule(Action action, Patterns const& names, RuleOptions const& options);
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
        ResourceKind kind) const;
    void finish(Resource r);

    void visit(detail::ModuleRecord const& m, std::string const& from, std::string const& path);
    std::optional<Action> decide(std::string const& name);
    void add_problem(Problem p, std::string const& name);

    void check();

    void write();
    Json manifest() const;
    void write(Resource const& r, data::detail::ZipWriter& zip) const;
    bool is_interned(std::string const& type) const {
        return graph_.find(type)->action == Action::intern;
    }
    /// The paths of the modules of which only the name is stored.
    void find_left_out(
        detail::ModuleRecord const& m, std::string const& path, detail::ModulePaths& found) const;
    Json to_json(Resource const& r, detail::ModulePaths const& left_out) const;

    std::filesystem::path path_;
    std::vector<Rule> rules_;
    std::vector<std::unique_ptr<Resource>> resources_;
    std::set<std::string> files_; // of resources_
    xgrad::detail::HookList<Hook> hooks_[3];
    detail::Dependencies graph_;
    std::set<std::string> undecided_;
    std::vector<std::pair<Problem, std::string>> problems_;
    std::set<std::pair<Problem, std::string>> known_problems_;
    std::vector<std::pair<std::string, std::string>> unnamed_; // what is said, and the type around
    std::vector<std::string> beside_;
    bool closed_ = false, written_ = false;
};

} // namespace xgrad::package
