// Sequential: modules that are called one after the other.
//
// Shapes: each module takes the shape that the one before it returns.
// Gradients: those of the modules.
// Errors: operator[] throws IndexError for a position that is not there, at() TypeError for a
// module of another type, a call what the modules throw. A module that does not take and return a
// Tensor<T> does not compile.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/module_container.hpp>

namespace xgrad::nn {

/// Modules of any kinds in a row, under the names "0", "1", ...: each takes a Tensor<T>, the result
/// of the one before it, and returns a Tensor<T>. Where the type changes on the way, write a module
/// of your own.
template <Scalar T = double>
class Sequential : public Module<Sequential<T>>, public ModuleContainer {
    using Call = detail::CallSignature<Tensor<T>(Tensor<T>)>;

public:
    template <class... M>
        requires(std::derived_from<std::remove_cvref_t<M>, AnyModule> && ...)
    explicit Sequential(M&&... modules) {
        (push_back(std::forward<M>(modules)), ...);
    }
    Sequential(Sequential const&) = default;
    Sequential(Sequential&) = default; // copies; else it would be a Sequential in a Sequential
    Sequential(Sequential&&) = default;
    Sequential& operator=(Sequential const&) = default;
    Sequential& operator=(Sequential&&) = default;

    /// Appends a module, which is copied or moved; returns a reference to the stored one.
    template <class M> auto& push_back(M&& module) {
        using Stored = std::remove_cvref_t<M>;
        constexpr bool fits = std::is_invocable_r_v<Tensor<T>, Stored&, Tensor<T> const&>;
        static_assert(fits, "Sequential: a module is called with a Tensor of this Sequential's "
                            "scalar type, and returns one");
        auto owned = std::make_unique<Stored>(std::forward<M>(module));
        auto& m = *owned;
        calls_.reserve(calls_.size() + 1);
        this->own(std::to_string(size()), std::move(owned));
        if constexpr (fits)
            calls_.push_back([](AnyModule& any, Tensor<T> const& x) {
                return Tensor<T>(static_cast<Stored&>(any)(x));
            });
        return m;
    }
    template <class M> Sequential& append(M&& module) {
        push_back(std::forward<M>(module));
        return *this;
    }
    std::size_t size() const noexcept { return this->member_count(); }
    AnyModule& operator[](std::size_t i) { return this->owned(i); }

    /// Module i as its type: net.at<nn::Linear<double>>(0); TypeError where it has another one.
    template <std::derived_from<AnyModule> M> M& at(std::size_t i) {
        auto& module = (*this)[i];
        if (auto* const m = dynamic_cast<M*>(&module)) return *m;
        xgrad::detail::fail<TypeError>("Sequential: module ", i, " is a ", module.kind(),
            ", not a ", xgrad::detail::type_name<M>);
    }

    Tensor<T> forward(Tensor<T> x) {
        for (std::size_t i = 0; i < calls_.size(); ++i) x = calls_[i](this->owned(i), x);
        return x;
    }

    std::string_view container_kind() const noexcept override { return "Sequential"; }
    std::optional<DType> container_dtype() const noexcept override { return dtype_of<T>; }
    void replace_modules(
        std::vector<std::unique_ptr<AnyModule>> modules, FindCall const& find) override {
        std::vector<typename Call::Function> calls;
        for (auto const& m : modules) {
            auto const i = calls.size();
            bool const same = i < calls_.size() && this->has_type_of(i, *m);
            calls.push_back(Call::find(*m, find, same ? calls_[i] : nullptr));
        }
        this->own_in_row(std::move(modules));
        calls_ = std::move(calls);
    }

private:
    std::vector<typename Call::Function> calls_;
};

} // namespace xgrad::nn
