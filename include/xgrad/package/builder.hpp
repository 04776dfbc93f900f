// ModuleBuilder: makes a module from what a package says of it. A module whose C++ type this
// program has is constructed from its arguments, with the modules inside it; those inside that
// differ from what the package says are replaced. Last come the parameters and buffers.
#pragma once

#include <xgrad/package/provided.hpp>

namespace xgrad::package::detail {

/// A module resource as it was read, before anything is made of it.
struct StoredModule {
    ModuleRecord module;
    StateDict state;
    std::set<std::string, std::less<>> parameters, frozen, evaluating;
    std::map<std::string, std::size_t, std::less<>> elements; // of each tensor of the state
    std::string where;

    StoredModule(Archive const& archive, Archive::Resource const& r);
    /// Calls f(the rest of the name, elements) for each tensor of a module and of those inside it.
    template <class F> void for_each_within(std::string const& path, F f) const {
        auto const prefix = path.empty() ? path : path + ".";
        for (auto at = elements.lower_bound(prefix);
             at != elements.end() && at->first.starts_with(prefix); ++at)
            f(std::string_view(at->first).substr(prefix.size()), at->second);
    }
};

class ModuleBuilder {
public:
    ModuleBuilder(Archive const& archive, Provided const& provided, StoredModule const& stored)
        : archive_(archive), provided_(provided), stored_(stored) {}

    /// The module of the resource. `container` is an empty one of the type that is wanted, or null.
    std::unique_ptr<nn::AnyModule> root(std::unique_ptr<nn::AnyModule> container);

    /// Parameters and buffers, which of them are trained, and which modules are training.
    void load_state(nn::AnyModule& module) const;

private:
    [[noreturn]] void wrong(std::string const& path, std::string const& what) const {
        fail<data::FormatError>(where(path), ": ", what);
    }
    std::string where(std::string const& path) const;
    static std::string title(ModuleRecord const& r) { return TypeEntry::title(r.type, r.dtype); }
    static std::string title(nn::AnyModule const& m, TypeEntry const* e);

    Action action_of(ModuleRecord const& r, std::string const& path) const;
    double elements_within(std::string const& path) const;

    std::unique_ptr<nn::AnyModule> build(ModuleRecord const& r, std::string const& path);

    std::unique_ptr<nn::AnyModule> build_generic(ModuleRecord const& r, std::string const& path);

    static bool is_container_of(nn::AnyModule& m, ModuleRecord const& r);
    /// Whether the modules inside have these names.
    static bool has_modules(std::vector<nn::NamedModule> const& children, ModuleRecord const& r);

    /// Makes the modules inside m what the package says.
    void fill(nn::AnyModule& m, ModuleRecord const& r, std::string const& path);
    void refill(nn::ModuleContainer& container, ModuleRecord const& r, std::string const& path);
    /// Whether the module has the type that the package says, and that is interned.
    bool is_stored_as(nn::AnyModule& m, ModuleRecord const& r, std::string const& path) const;
    /// Makes a module that another one holds by value what the package says.
    void fit(nn::AnyModule& m, ModuleRecord const& r, std::string const& path);
    static bool has_arguments(nn::AnyModule& m, ModuleRecord const& r);

    Archive const& archive_;
    Provided const& provided_;
    StoredModule const& stored_;
    ModulePaths left_out_;
};

} // namespace xgrad::package::detail
