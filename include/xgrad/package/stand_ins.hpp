// Modules that stand for others: a Mock for what was left out of a package, a GenericModule for a
// type that this program does not have.
//
// Shapes: parameters and buffers of a GenericModule keep theirs.
// Errors: a call is an UncallableError; module_at() throws IndexError for a module that is not
// there, and TypeError for one of another type.
#pragma once

#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/package/names.hpp>

namespace xgrad::package {

/// Stands for a module that a rule mocked. It can be held, copied, printed and listed; a call is an
/// nn::UncallableError that names what was mocked.
class Mock final : public nn::Module<Mock>, public nn::Uncallable {
public:
    /// `file` is the package that it comes from.
    Mock(std::string name, std::string file) : name_(std::move(name)), file_(std::move(file)) {}

    /// The name under which the package has it.
    std::string const& name() const noexcept { return name_; }
    std::string extra_repr() const override { return name_; }
    std::string why_uncallable() const override {
        return "'" + name_ + "' was mocked when " + file_ +
               " was written, but it is called. Intern it or make it external instead";
    }

private:
    std::string name_, file_;
};

/// Stands for an interned module of a type that this program does not have: the modules inside it
/// and its parameters and buffers under their names. What it would compute is not known, so a call
/// is an nn::UncallableError.
class GenericModule final : public nn::Module<GenericModule>, public nn::Uncallable {
public:
    GenericModule(std::string type, std::optional<DType> dtype, data::Json arguments)
        : type_(std::move(type)), dtype_(dtype), arguments_(std::move(arguments)) {}

    /// "acme.vision.Block": the name of its type.
    std::string const& type() const noexcept { return type_; }
    /// The scalar type of a template.
    std::optional<DType> dtype() const noexcept { return dtype_; }
    /// The arguments that its type is constructed from.
    data::Json const& arguments() const noexcept { return arguments_; }
    std::string_view kind() const noexcept override { return type_; }
    std::string why_uncallable() const override {
        return "a module of type '" + type_ +
               "' cannot be called: this program does not have that type";
    }

    /// Adds a part under a name; the order is that of the calls.
    void add_module(std::string_view name, std::unique_ptr<nn::AnyModule> module) {
        this->own(name, std::move(module));
    }
    void add_parameter(std::string_view name, AnyTensor parameter) {
        this->own(name, std::move(parameter));
    }
    void add_buffer(std::string_view name, AnyTensor buffer) {
        this->own_buffer(name, std::move(buffer));
    }

private:
    std::string type_;
    std::optional<DType> dtype_;
    data::Json arguments_;
};

/// The module of type M that a path such as "body.0" leads to from another one; "" is that one
/// itself. Throws an IndexError where there is none, and a TypeError where it is of another type.
template <class M = nn::AnyModule> M& module_at(nn::AnyModule& root, std::string_view path) {
    nn::AnyModule* at = &root;
    if (!path.empty())
        detail::every_segment(path, '.', [&](std::string_view segment) {
            nn::AnyModule* next = nullptr;
            for (auto const& [name, module] : at->named_children())
                if (name == segment) next = module;
            if (!next)
                detail::fail<IndexError>("module_at: there is no module '", path, "': ", at->kind(),
                    " has none called '", segment, "'");
            at = next;
            return true;
        });
    if constexpr (std::same_as<M, nn::AnyModule>) return *at;
    else {
        if (auto* const found = dynamic_cast<M*>(at)) return *found;
        detail::fail<TypeError>(
            "module_at: the module '", path, "' is of another type: ", at->kind());
    }
}

} // namespace xgrad::package
