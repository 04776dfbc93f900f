// ModuleList: any number of modules of one type.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/module_container.hpp>

namespace xgrad::nn {

/// A list of modules M, named "0", "1", ... It has no forward: the module that contains it calls
/// them.
template <std::derived_from<AnyModule> M>
class ModuleList : public Module<ModuleList<M>>, public ModuleContainer {
public:
    class iterator {
    public:
        iterator(ModuleList& list, std::size_t at) noexcept : list_(&list), at_(at) {}
        M& operator*() const { return (*list_)[at_]; }
        iterator& operator++() noexcept {
            ++at_;
            return *this;
        }
        bool operator==(iterator const&) const = default;

    private:
        ModuleList* list_;
        std::size_t at_;
    };

    /// Appends a module, or constructs one at the end. Its name is its index.
    M& push_back(M module) { return insert(std::make_unique<M>(std::move(module))); }
    template <class... A> M& emplace_back(A&&... arguments) {
        return insert(std::make_unique<M>(std::forward<A>(arguments)...));
    }

    /// The number of modules.
    std::size_t size() const noexcept { return this->member_count(); }
    bool empty() const noexcept { return size() == 0; }
    M& operator[](std::size_t i) { return static_cast<M&>(this->owned(i)); }
    M const& operator[](std::size_t i) const { return static_cast<M const&>(this->owned(i)); }
    /// Module i; IndexError where it is not there.
    M& at(std::size_t i) {
        if (i >= size())
            xgrad::detail::fail<IndexError>("ModuleList: there is no module ", i, " of ", size());
        return (*this)[i];
    }
    iterator begin() noexcept { return {*this, 0}; }
    iterator end() noexcept { return {*this, size()}; }

    std::string_view container_kind() const noexcept override { return "ModuleList"; }
    void replace_modules(
        std::vector<std::unique_ptr<AnyModule>> modules, FindCall const&) override {
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

} // namespace xgrad::nn
