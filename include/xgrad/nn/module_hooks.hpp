// Hooks of modules: the lists of one module, the global lists, and the view of a forward call that
// hooks get. state_hooks.hpp and backward_hooks.hpp register hooks in these lists.
//
// Shapes: hooks see arguments and results of any shapes.
// Gradients: options of hooks change none.
// Errors: an always_call hook that throws after another error is announced by a warning only.
#pragma once

#include <optional>

#include <xgrad/autograd/any_tensor.hpp>

namespace xgrad {
class StateDict;
}
namespace xgrad::nn {

class AnyModule;
struct LoadReport;

/// How a hook on a module is registered.
struct HookOptions {
    /// Runs before the hooks that are registered already.
    bool prepend = false;
    /// For a hook after forward: it runs also if forward or another hook throws, with an undefined
    /// (default-constructed) result if there is none. The exception then propagates.
    bool always_call = false;
};

namespace detail {

using xgrad::detail::Gradients;
using xgrad::detail::HookList;
using Tensors = std::vector<AnyTensor>;

enum class MemberKind : unsigned char { parameter, buffer, module };

/// A call of forward for hooks without its types: an AnyTensor for each argument and each result
/// (the elements of a tuple), undefined if that is no tensor.
class ModuleCall {
public:
    virtual Tensors arguments() const = 0;
    virtual void set_arguments(Tensors const& tensors, std::string_view by) = 0;
    virtual void forward() = 0;
    /// Empty before forward has returned.
    virtual Tensors results() const = 0;
    virtual void set_results(Tensors const& tensors, std::string_view by) = 0;
    /// The first tensor among the results, also in lists; undefined if there is none.
    virtual AnyTensor first_result() const = 0;
    /// True if the results contain a tensor to which a backward hook can be attached.
    virtual bool returns_tensors() const = 0;

    /// True if a hook must run: after a failure, only an always_call hook that has not run.
    bool begin(xgrad::detail::Identity hook, bool always);

    bool failed = false;

protected:
    ~ModuleCall() = default;

private:
    std::vector<xgrad::detail::Identity> called_;
};

/// The hooks of one module, or the global ones. They belong to the object: a move takes them along,
/// and a copy has none.
struct ModuleHooks {
    using Returned = std::optional<Gradients>;
    using ForwardHooks = HookList<void(AnyModule&, ModuleCall&)>;
    using PreHooks = HookList<Returned(AnyModule&, Gradients const& grad_output)>;
    using BackwardHooks =
        HookList<Returned(AnyModule&, Gradients const& grad_input, Gradients const& grad_output)>;
    using Name = std::string const&;
    enum class BackwardKind : unsigned char { none, full, of_last_node };

    AnyModule* module; // its current address, or null
    ForwardHooks forward_pre, forward;
    PreHooks backward_pre;
    BackwardHooks backward;
    HookList<void(AnyModule&, Name prefix)> state_dict_pre;
    HookList<void(AnyModule&, StateDict&, Name prefix)> state_dict_post;
    HookList<void(AnyModule&, StateDict&, Name prefix, LoadReport&)> load_state_dict_pre;
    HookList<void(AnyModule&, LoadReport&)> load_state_dict_post;
    BackwardKind backward_kind = BackwardKind::none;

    explicit ModuleHooks(AnyModule* m = nullptr) noexcept : module(m) {}

    /// True where a call has hooks.
    bool any() const;
    static ModuleHooks& of_all_modules() {
        static ModuleHooks hooks;
        return hooks;
    }
};

/// The hooks on what is registered in any module. One of a tensor may return another tensor.
struct RegistrationHooks {
    using Name = std::string const&;
    using TensorHooks = HookList<AnyTensor(AnyModule&, Name, AnyTensor const&)>;

    TensorHooks parameter, buffer;
    HookList<void(AnyModule&, Name, AnyModule&)> module;

    static RegistrationHooks& of_all_modules() {
        static RegistrationHooks hooks;
        return hooks;
    }
};

template <class R>
inline constexpr bool returns_gradients = std::disjunction_v<std::is_void<R>,
    std::is_convertible<R, Gradients>, std::is_convertible<R, std::optional<Gradients>>>;

/// Calls a hook that may return nothing.
template <class F, class... A> std::optional<Gradients> call_hook(F& f, A&&... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
        f(std::forward<A>(arguments)...);
        return std::nullopt;
    } else return f(std::forward<A>(arguments)...);
}

/// Converts a hook on std::vector<AnyTensor> to the type in the lists.
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
