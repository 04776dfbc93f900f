// PackageImporter: reads what a PackageExporter wrote.
//
// Shapes: those of the package, in row-major order.
// Gradients: none are stored: tensors are leaves, and parameters require one as they did.
// Errors: a malformed file is a FormatError; a newer format, a resource that is not there or of
// another kind, and an external name that is not provided or not allowed are a PackageError;
// elements that do not convert to T are a TypeError; a mocked object is an UncallableError.
#pragma once

#include <xgrad/package/builder.hpp>

namespace xgrad::package {

/// Options of PackageImporter.
struct ImporterOptions {
    /// Which external names this program may be asked for; without it, all.
    std::function<bool(std::string const& name)> allowed = {};
};

/// A resource of a package; its kind is "module", "tensor", "tensors", "text" or "binary".
struct ResourceInfo {
    /// A resource is found by the names `package` and `resource`; `kind` says what it is.
    std::string package, resource, kind;
};

/// Loads what a package holds. External names are looked for among what the program provides. A
/// file that is not what it should be is a data::FormatError, and a newer format a PackageError
/// that says so; nothing is half loaded.
class PackageImporter {
public:
    /// Opens a file, or bytes in memory, which must outlive the importer.
    explicit PackageImporter(data::Input in, ImporterOptions options = {})
        : archive_(std::move(in)), options_(std::move(options)) {}

    /// Provides a module for an external name; each module that is loaded gets a copy of it.
    /// Anything else is an object of the program, which object() returns.
    template <class X> void provide(std::string const& name, X object) {
        provided_.add(name, std::move(object));
    }
    /// Provides what makes the module of an external name: a function that returns a module, or a
    /// std::unique_ptr of one.
    template <class F> void provide_factory(std::string const& name, F make) {
        provided_.add_factory(name, std::move(make));
    }
    /// An object that was provided for a name that modules depend on. Throws an nn::UncallableError
    /// where it was mocked.
    template <class X> X const& object(std::string const& name) const {
        auto const* const node = archive_.dependencies().find(name);
        if (node && node->action == Action::mock)
            detail::fail<nn::UncallableError>(Mock(name, archive_.name()).why_uncallable());
        return provided_.object<X>(name);
    }

    /// The module of a type that is not known here: a Mock, a GenericModule where this program does
    /// not have the type, or the type itself; module_at() finds what is inside. Loading draws no
    /// random numbers from the calling thread's generator.
    std::unique_ptr<nn::AnyModule> load_module(
        std::string_view package, std::string_view resource) {
        return load(package, resource, nullptr);
    }
    /// A module of type M.
    template <std::derived_from<nn::AnyModule> M>
    M load_module(std::string_view package, std::string_view resource) {
        std::unique_ptr<nn::AnyModule> any;
        if constexpr (std::derived_from<M, nn::ModuleContainer>) {
            if constexpr (requires {
                              []<Differentiable T>(nn::Sequential<T>*) {}(static_cast<M*>(nullptr));
                          })
                []<Differentiable T>(nn::Sequential<T>*) { register_layer_calls<T>(); }(
                    static_cast<M*>(nullptr));
            any = load(package, resource, std::make_unique<M>());
        } else any = load(package, resource, nullptr);
        if (auto* const m = dynamic_cast<M*>(any.get())) return std::move(*m);
        detail::fail<PackageError>(archive_.name(), ": '", package, ".", resource, "' is no ",
            xgrad::detail::type_name<M>, " here: it is a ", any->kind());
    }
    AnyTensor load_tensor(std::string_view package, std::string_view resource) const;
    /// With elements of type T: precision is converted, and real numbers become complex; nothing
    /// else does.
    template <Scalar T>
    Tensor<T> load_tensor(std::string_view package, std::string_view resource) const {
        return data::detail::converted<T>(load_tensor(package, resource), archive_.name());
    }
    StateDict load_tensors(std::string_view package, std::string_view resource) const;
    std::string load_text(std::string_view package, std::string_view resource) const;
    std::vector<std::byte> load_binary(std::string_view package, std::string_view resource) const;

    /// True where the package has the resource.
    bool has_resource(std::string_view package, std::string_view resource) const {
        return archive_.find(package, resource) != nullptr;
    }
    /// All resources, in alphabetical order.
    std::vector<ResourceInfo> resources() const;
    std::int64_t format() const noexcept { return archive_.format(); }
    /// The version of xgrad that wrote the package, "0.1.0".
    std::string const& xgrad_version() const noexcept { return archive_.xgrad_version(); }
    std::vector<std::string> interned() const {
        return archive_.dependencies().names(Action::intern);
    }
    std::vector<std::string> externed() const {
        return archive_.dependencies().names(Action::extern_);
    }
    std::vector<std::string> mocked() const { return archive_.dependencies().names(Action::mock); }
    /// As those of PackageExporter.
    std::string dependency_graph() const { return archive_.dependencies().dot(); }
    std::vector<std::vector<std::string>> all_paths(
        std::string const& from, std::string const& to) const {
        return archive_.dependencies().all_paths(from, to);
    }
    std::string file_structure(Patterns const& include = "**", Patterns const& exclude = {}) const {
        return archive_.file_structure(include, exclude);
    }

private:
    std::unique_ptr<nn::AnyModule> load(std::string_view package, std::string_view resource,
        std::unique_ptr<nn::AnyModule> container);
    /// Names all external names that are missing at once, before anything is constructed.
    void check_externals(std::string const& resource) const;

    detail::Archive archive_;
    ImporterOptions options_;
    detail::Provided provided_;
};

} // namespace xgrad::package
