// ModuleList and ModuleDict: any number of modules of one type. ParameterList: of parameters.
//
// Shapes: none are needed: the lists have no forward.
// Gradients: parameters require one; lists record none.
// Errors: a position that is not there, or a name in ModuleDict, is an IndexError; a name that is
// empty, has a '.' or is taken is an Error, and so is replacing by a module of another type.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/module_container.hpp>

namespace xgrad::nn {

namespace detail {
/// Iterates over a list by its indices.
template <class List> class IndexIterator {
public:
    IndexIterator(List& list, std::size_t at) noexcept : list_(&list), at_(at) {}
    decltype(auto) operator*() const { return (*list_)[at_]; }
    IndexIterator& operator++() noexcept {
        ++at_;
        return *this;
    }
    bool operator==(IndexIterator const&) const = default;

private:
    List* list_;
    std::size_t at_;
};
} // namespace detail

/// A list of modules M, named "0", "1", ... It has no forward: the module that contains it calls
/// them.
template <std::derived_from<AnyModule> M>
class ModuleList : public Module<ModuleList<M>>, public ModuleContainer {
public:
    using iterator = detail::IndexIterator<ModuleList>;

    /// Appends a module, or constructs one at the end. Its name is its index.
    M& push_back(M module) { return insert(std::make_unique<M>(std::move(module))); }
    ModuleList& append(M module) {
        push_back(std::move(module));
        return *this;
    }
    template <class... A> M& emplace_back(A&&... arguments) {
        return insert(std::make_unique<M>(std::forward<A>(arguments)...));
    }

    /// The number of modules.
    std::size_t size() const noexcept { return this->member_count(); }
    bool empty() const noexcept { return size() == 0; }
    /// Module i; IndexError where it is not there.
    M& operator[](std::size_t i) { return static_cast<M&>(this->owned(i)); }
    M const& operator[](std::size_t i) const { return static_cast<M const&>(this->owned(i)); }
    M& at(std::size_t i) { return (*this)[i]; }
    iterator begin() noexcept { return {*this, 0}; }
    iterator end() noexcept { return {*this, size()}; }

    std::string_view container_kind() const noexcept override { return "ModuleList"; }
    void replace_modules(
        std::vector<std::unique_ptr<AnyModule>> modules, FindCall const&) override {
        if constexpr (!std::same_as<M, AnyModule>)
            for (auto const& m : modules)
                if (dynamic_cast<M*>(m.get()) == nullptr)
                    xgrad::detail::fail("ModuleList: a module ", m->kind(),
                        " is none of the type that this list holds");
        this->own_in_row(std::move(modules));
    }

private:
    M& insert(std::unique_ptr<M> module) {
        M& m = *module;
        this->own(std::to_string(size()), std::move(module));
        return m;
    }
};

/// Modules M by name, in the order in which they came. It has no forward.
template <std::derived_from<AnyModule> M> class ModuleDict : public Module<ModuleDict<M>> {
public:
    /// Adds a module under a name that is new and has no '.'; returns the stored one.
    M& insert(std::string const& name, M module) {
        auto owned = std::make_unique<M>(std::move(module));
        M& m = *owned;
        auto names = names_;
        names.push_back(name);
        this->own(name, std::move(owned));
        names_ = std::move(names);
        return m;
    }
    std::size_t size() const noexcept { return names_.size(); }
    bool contains(std::string_view name) const {
        return std::ranges::find(names_, name) != names_.end();
    }
    /// The names, in the order in which the modules came.
    std::vector<std::string> const& keys() const noexcept { return names_; }
    /// The module of that name; IndexError where there is none.
    M& operator[](std::string_view name) {
        auto const at = std::ranges::find(names_, name);
        if (at == names_.end())
            xgrad::detail::fail<IndexError>("ModuleDict: there is no module '", name, "'");
        return static_cast<M&>(this->owned(static_cast<std::size_t>(at - names_.begin())));
    }

private:
    std::vector<std::string> names_;
};

/// A list of parameters, named "0", "1", ...
template <Differentiable T = double> class ParameterList : public Module<ParameterList<T>> {
public:
    /// Of copies of these values.
    explicit ParameterList(std::vector<Tensor<T>> const& values = {}) {
        for (auto const& v : values) append(v);
    }
    /// Appends a parameter with a copy of these values.
    ParameterList& append(Tensor<T> const& value) {
        this->own(std::to_string(size()), xgrad::detail::value_copy(value));
        return *this;
    }
    std::size_t size() const noexcept { return this->member_count(); }
    /// Parameter i; IndexError where it is not there.
    Tensor<T> operator[](std::size_t i) const { return this->owned_tensor(i).template as<T>(); }
    auto begin() const noexcept { return detail::IndexIterator(*this, 0); }
    auto end() const noexcept { return detail::IndexIterator(*this, size()); }
};

} // namespace xgrad::nn
