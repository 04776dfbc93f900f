// Hooks of modules: the lists of one module, those of all modules, and what a call of forward shows
// to them.
#pragma once

#include <optional>

#include <xgrad/graph/any_tensor.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

class AnyModule;

/// How a hook on a module is registered.
struct HookOptions {
    /// Before the hooks that are there, not behind them.
    bool prepend = false;
    /// Of a hook after forward: it runs also where forward or another hook throws, with an
    /// undefined (default-constructed) result where there is none. The exception then goes on.
    bool always_call = false;
};

namespace detail {

using xgrad::detail::Gradients;
using xgrad::detail::HookList;
using Tensors = std::vector<AnyTensor>;

enum class MemberKind : unsigned char { parameter, buffer, module };

/// A call of forward as hooks see it that do not know its types: a place for each argument and for
/// each result (the parts of a tuple), which is undefined where that is no tensor.
class ModuleCall {
public:
    virtual Tensors arguments() const = 0;
    virtual void set_arguments(Tensors const& tensors, std::string_view by) = 0;
    virtual void forward() = 0;
    /// Nothing while there is no result.
    virtual Tensors results() const = 0;
    virtual void set_results(Tensors const& tensors, std::string_view by) = 0;
    /// The first tensor among the results, also inside lists; undefined where there is none.
    virtual AnyTensor first_result() const = 0;
    /// False where the results hold no tensor that a backward hook could be put on.
    virtual bool returns_tensors() const = 0;

    /// Whether a hook runs now: where the call has failed, only one that is always called, and has
    /// not been.
    bool begin(xgrad::detail::Identity hook, bool always) {
        if (failed && !always) return false;
        for (auto const other : called_)
            if (other == hook) return false;
        if (always) called_.push_back(hook);
        return true;
    }

    bool failed = false;

protected:
    ~ModuleCall() = default;

private:
    std::vector<xgrad::detail::Identity> called_;
};

/// The hooks of one module, or of all. They belong to the object: they move with it, and a copy has
/// none.
struct ModuleHooks {
    using Returned = std::optional<Gradients>;
    using ForwardHooks = HookList<void(AnyModule&, ModuleCall&)>;
    using PreHooks = HookList<Returned(AnyModule&, Gradients const& grad_output)>;
    using BackwardHooks =
        HookList<Returned(AnyModule&, Gradients const& grad_input, Gradients const& grad_output)>;
    enum class BackwardKind : unsigned char { none, full, of_last_node };

    AnyModule* module; // where it is now, if it is
    ForwardHooks forward_pre, forward;
    PreHooks backward_pre;
    BackwardHooks backward;
    BackwardKind backward_kind = BackwardKind::none;

    explicit ModuleHooks(AnyModule* m = nullptr) noexcept : module(m) {}

    bool any() const {
        return forward_pre.any() || forward.any() || backward_pre.any() || backward.any();
    }
    static ModuleHooks& of_all_modules() {
        static ModuleHooks hooks;
        return hooks;
    }
};

template <class R>
inline constexpr bool returns_gradients =
    std::is_void_v<R> || std::is_convertible_v<R, Gradients> ||
    std::is_convertible_v<R, std::optional<Gradients>>;

/// A call of a hook that may return nothing.
template <class F, class... A> std::optional<Gradients> call_hook(F& f, A&&... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
        f(std::forward<A>(arguments)...);
        return std::nullopt;
    } else return f(std::forward<A>(arguments)...);
}

/// A hook on tensors of any types in the form of the lists.
template <class M, class F> ModuleHooks::ForwardHooks::Function untyped_pre_hook(F f) {
    return [f = std::move(f)](AnyModule& m, ModuleCall& call) mutable {
        Tensors const in = call.arguments();
        if (auto const after = call_hook(f, static_cast<M&>(m), in))
            call.set_arguments(*after, "a forward pre-hook");
    };
}
template <class M, class F>
ModuleHooks::ForwardHooks::Function untyped_forward_hook(F f, bool always) {
    return [f = std::move(f), always, identity = xgrad::detail::Identity()](
               AnyModule& m, ModuleCall& call) mutable {
        if (!call.begin(identity, always)) return;
        Tensors const in = call.arguments(), out = call.results();
        if (auto const after = call_hook(f, static_cast<M&>(m), in, out); after && !call.failed)
            call.set_results(*after, "a forward hook");
    };
}

} // namespace detail
} // namespace xgrad::nn
