// Hooks on tensors: on a gradient, on .grad of a leaf after accumulation, on the gradients of
// several tensors. A hook with a strong reference to its own tensor is a cycle and never freed: use
// a WeakTensor.
//
// Shapes: a gradient has the shape of its tensor; a hook returns a gradient of that shape.
// Gradients: what a tensor hook returns replaces the gradient. Hooks see a recorded gradient in a
// pass with create_graph.
// Errors: GraphError for a hook or retain_grad() on a tensor that requires no gradient, and for a
// post-accumulate hook on a tensor that is no leaf. In the pass, a hook that returns another shape
// is a ShapeError, an AnyTensor of another type a TypeError, and a gradient for an undefined one a
// GraphError. A hook with other parameters or results does not compile.
#pragma once

#include <xgrad/autograd/engine.hpp>
#include <xgrad/ops/indexing.hpp>
#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

/// With `all`, of ops/indexing.hpp: when register_multi_grad_hook() calls its hook.
/// any(mask) is any_of(mask), as in NumPy.
inline constexpr struct Any {
    template <class X, class... A> auto operator()(X const& mask, A const&... a) const {
        return any_of(mask, a...);
    }
} any{};

namespace detail {

/// Writes a gradient to .grad of a tensor that is no leaf.
XGRAD_LAZY inline void keep_gradient(AnyTensor const& t, AnyTensor gradient) {
    AnyTensor grad(t.impl().grad);
    accumulate(grad, std::move(gradient));
    t.impl().grad = grad.handle();
}

XGRAD_LAZY inline NodeHooks::OutputHooks& tensor_hooks_of(AnyTensor const& t) {
    if (!t.requires_grad("register_hook"))
        fail<GraphError>("cannot register a hook on a variable that doesn't require gradient");
    auto const edge = gradient_edge(t);
    if (!edge)
        fail<GraphError>("cannot register a hook on a view that was made in no_grad mode: it has "
                         "no place in the graph");
    return NodeHooks::at(*edge.function, edge.input_nr);
}

/// True where a hook on a Tensor<T> may return Result: no number, though it converts to a tensor.
/// An AnyTensor is checked at run time.
template <class Result, class T> consteval bool find_tensor_hook_result() {
    using X = std::remove_cvref_t<Result>;
    if constexpr (std::is_void_v<Result> || std::same_as<X, AnyTensor>) return true;
    else if constexpr (TensorLike<X>) return std::same_as<tensor_type<X>, Tensor<T>>;
    else return !Number<X> && std::is_convertible_v<Result, Tensor<T>>;
}
template <class Result, Scalar T>
inline constexpr bool is_tensor_hook_result = find_tensor_hook_result<Result, T>();

template <Scalar T, class Result, class F> HookHandle add_tensor_hook(Tensor<T> const& t, F f) {
    return tensor_hooks_of(t).tensor_hooks.add(
        [f = std::move(f)](AnyTensor const& g) mutable -> AnyTensor {
            Tensor<T> const typed = g.defined() ? g.as<T>() : Tensor<T>();
            if constexpr (std::is_void_v<Result>) {
                f(typed);
                return {};
            } else if constexpr (std::is_convertible_v<Result, AnyTensor>) return f(typed);
            else return Tensor<T>(f(typed));
        });
}

/// One hook on several tensors. The gradients that arrived are stored in the pass, so that
/// concurrent passes do not interfere.
template <class F> class MultiGradHook : public std::enable_shared_from_this<MultiGradHook<F>> {
public:
    explicit MultiGradHook(F f) : f_(std::move(f)) {}

    template <class Mode> HookHandle attach(std::vector<AnyTensor> const& tensors, Mode mode) {
        for (auto const& t : tensors)
            if (!t.requires_grad())
                fail<GraphError>(
                    "register_multi_grad_hook: expected each tensor to require gradient");
        auto const handles = std::make_shared<std::vector<HookHandle>>();
        handles->reserve(tensors.size());
        HookHandle all([handles] {
            for (auto& handle : *handles) handle.remove();
        });
        try {
            for (std::size_t i = 0; i < tensors.size(); ++i) {
                auto const edge = gradient_edge(tensors[i]);
                auto alive = std::make_shared<char>();
                targets_.push_back({edge.function.get(), alive});
                handles->push_back(
                    tensor_hooks_of(tensors[i])
                        .tensor_hooks.add([self = this->shared_from_this(), alive, i, mode](
                                              AnyTensor const& g) -> AnyTensor {
                            self->arrived(mode, i, g);
                            return {};
                        }));
            }
        } catch (...) {
            all.remove();
            throw;
        }
        return all;
    }

private:
    struct Target {
        Node const* node;
        std::weak_ptr<char> alive; // gone when the Node is, or when the hook was removed
    };
    struct Arrived {
        std::size_t expected = 0, count = 0;
        Gradients gradients;
    };

    void arrived(All, std::size_t i, AnyTensor const& gradient) {
        auto& data = pass_data(identity_);
        if (!data) {
            auto const fresh = std::make_shared<Arrived>();
            fresh->gradients.resize(targets_.size());
            for (auto const& t : targets_)
                fresh->expected += !t.alive.expired() && pass_reaches(*t.node);
            data = fresh;
        }
        auto& all = *static_cast<Arrived*>(data.get());
        all.gradients[i] = gradient;
        if (++all.count == all.expected) f_(std::as_const(all.gradients));
    }
    void arrived(Any, std::size_t, AnyTensor const& gradient) {
        auto& data = pass_data(identity_);
        if (data) return;
        data = std::make_shared<bool>(true);
        f_(gradient);
    }

    F f_;
    Identity identity_;
    std::vector<Target> targets_;
};

} // namespace detail

/// Calls f once in each backward pass, after the last of the tensors that are part of the pass got
/// its gradient. f takes the gradients of all tensors; those of the others are undefined. Returns
/// one handle for all.
template <class F>
HookHandle register_multi_grad_hook(std::vector<AnyTensor> const& tensors, F f, All mode = {}) {
    constexpr bool takes_gradients = std::is_invocable_v<F&, std::vector<AnyTensor> const&>;
    static_assert(takes_gradients, "register_multi_grad_hook: with xgrad::all the hook takes all "
                                   "gradients, a std::vector<AnyTensor> const&");
    if constexpr (!takes_gradients) return {};
    else return std::make_shared<detail::MultiGradHook<F>>(std::move(f))->attach(tensors, mode);
}
/// Calls f once in each backward pass, with the first gradient that one of the tensors gets.
template <class F>
HookHandle register_multi_grad_hook(std::vector<AnyTensor> const& tensors, F f, Any mode) {
    constexpr bool takes_gradient = std::is_invocable_v<F&, AnyTensor const&>;
    static_assert(takes_gradient, "register_multi_grad_hook: with xgrad::any the hook takes the "
                                  "first gradient, an AnyTensor const&");
    if constexpr (!takes_gradient) return {};
    else return std::make_shared<detail::MultiGradHook<F>>(std::move(f))->attach(tensors, mode);
}

template <Scalar T> template <class F> HookHandle Tensor<T>::register_hook(F f) {
    constexpr bool takes_gradient = std::is_invocable_v<F&, Tensor const&>;
    static_assert(takes_gradient,
        "register_hook: a hook takes the gradient as a Tensor const& of this tensor's scalar type");
    if constexpr (takes_gradient) {
        using Result = std::invoke_result_t<F&, Tensor const&>;
        constexpr bool returns_gradient = detail::is_tensor_hook_result<Result, T>;
        static_assert(returns_gradient,
            "register_hook: a hook returns nothing, or the gradient to go on with: "
            "a tensor or an expression of this tensor's scalar type");
        if constexpr (returns_gradient)
            return detail::add_tensor_hook<T, Result>(*this, std::move(f));
    }
    return {};
}

template <Scalar T>
template <class F>
HookHandle Tensor<T>::register_post_accumulate_grad_hook(F f) {
    constexpr bool takes_leaf = std::is_invocable_v<F&, Tensor const&>;
    static_assert(takes_leaf, "register_post_accumulate_grad_hook: a hook takes the leaf, a Tensor "
                              "const& of this tensor's scalar type");
    if constexpr (takes_leaf) {
        static_assert(std::is_void_v<std::invoke_result_t<F&, Tensor const&>>,
            "register_post_accumulate_grad_hook: Tensor post accumulate grad hooks should return "
            "nothing");
        if (!requires_grad())
            detail::fail<GraphError>(
                "cannot register a hook on a tensor that doesn't require gradient");
        if (!is_leaf())
            detail::fail<GraphError>(
                "post accumulate grad hooks cannot be registered on non-leaf tensors");
        auto const edge = detail::gradient_edge(*this);
        return detail::NodeHooks::made(*edge.function)
            .post_accumulate.add(
                [f = std::move(f)](AnyTensor const& leaf) mutable { f(leaf.as<T>()); });
    }
    return {};
}

template <Scalar T> void Tensor<T>::retain_grad() {
    if (!requires_grad())
        detail::fail<GraphError>("can't retain_grad on Tensor that has requires_grad=False");
    if (is_leaf() || impl().retains_grad) return;
    // weak: the Node must not keep its own result alive
    detail::NodeHooks::at(*grad_fn(), output_nr())
        .exchange_retain_grad([self = WeakTensor(*this)](AnyTensor const& gradient) {
            if (auto const t = self.lock(); t.defined()) detail::keep_gradient(t, gradient);
        });
    impl().retains_grad = true;
}

} // namespace xgrad
