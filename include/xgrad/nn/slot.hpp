// Slot: a module inside another one whose type is known only at run time.
//
// Shapes: those of the module inside.
// Gradients: those of the module inside.
// Errors: a call or module() of an empty Slot is an Error, as is more than one module in
// replace_modules(). A module that does not take the arguments of the signature does not compile.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/module_container.hpp>

namespace xgrad::nn {

/// A module inside another one whose type is known only at run time: see Slot<R(A...)>.
template <class Signature> class Slot;

/// A module of any type that is called with arguments A and returns an R, under the name "module".
/// It is to modules what std::function is to functions, and is used like other modules:
/// `nn::Child<nn::Slot<Tensor<float>(Tensor<float> const&)>> before{*this, "before", Normalize()};`
/// A call of an empty one is an Error.
template <class R, class... A>
class Slot<R(A...)> : public Module<Slot<R(A...)>>, public ModuleContainer {
    static_assert(
        (!(std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>)&&...),
        "Slot: the module inside takes its arguments by value or const reference");
    using Call = detail::CallSignature<R(A...)>;

public:
    Slot() = default;
    /// Stores a copy of this module, or moves it in.
    template <class M>
        requires(std::derived_from<std::remove_cvref_t<M>, AnyModule> &&
                 !std::derived_from<std::remove_cvref_t<M>, Slot>)
    explicit Slot(M&& module) {
        set(std::forward<M>(module));
    }

    /// Replaces the stored module; returns a reference to the new one.
    template <class M> auto& set(M&& module) {
        using Stored = std::remove_cvref_t<M>;
        constexpr bool is_module = std::derived_from<Stored, AnyModule>;
        static_assert(is_module, "Slot: what it holds must be a module, derived from nn::Module");
        if constexpr (is_module) {
            constexpr bool fits =
                requires(Stored& m, std::remove_cvref_t<A> const&... a) { m.forward(a...); };
            static_assert(
                fits, "Slot: the module is called with the arguments of the Slot's signature");
            auto owned = std::make_unique<Stored>(std::forward<M>(module));
            auto& m = *owned;
            if constexpr (fits) hold(std::move(owned), Call::template of<Stored>());
            return m;
        }
    }
    bool empty() const noexcept { return this->member_count() == 0; }
    /// The stored module; throws if there is none.
    AnyModule& module() { return checked(); }

    R forward(A... a) {
        AnyModule& module = checked(); // before call_ is read, which is null in an empty slot
        return call_(module, a...);
    }

    std::string_view container_kind() const noexcept override { return "Slot"; }
    void replace_modules(
        std::vector<std::unique_ptr<AnyModule>> modules, FindCall const& find) override {
        if (modules.size() > 1)
            xgrad::detail::fail("Slot: ", modules.size(), " modules do not fit into one slot");
        if (modules.empty()) return this->clear_members();
        AnyModule& module = *modules[0];
        bool const same = !empty() && this->has_type_of(0, module);
        auto const found = Call::find(module, find, same ? call_ : nullptr);
        hold(std::move(modules[0]), found);
    }

private:
    AnyModule& checked() {
        if (empty()) xgrad::detail::fail("Slot: there is no module inside");
        return this->owned(0);
    }
    void hold(std::unique_ptr<AnyModule> module, typename Call::Function function) {
        this->clear_members();
        this->own("module", std::move(module));
        call_ = function;
    }

    typename Call::Function call_ = nullptr;
};

} // namespace xgrad::nn
