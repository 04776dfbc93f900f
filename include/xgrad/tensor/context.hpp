// Context: data that a custom Function's forward passes to its backward.
//
// Shapes: saved tensors keep their shapes.
// Gradients: saved tensors have their grad_fn, so that a backward written with operations on
// tensors is differentiable. mark_non_differentiable() marks results without a gradient.
// Errors: saved_tensors() throws VersionError where a saved tensor was changed in place, and
// GraphError where it was freed; needs_input_grad() throws IndexError for an argument that is not
// there; save_for_backward() and the functions that mark tensors throw GraphError outside of
// forward. Saving another type than `Saved` does not compile.
#pragma once

#include <xgrad/tensor/function_check.hpp>
#include <xgrad/tensor/function_node.hpp>

namespace xgrad {

namespace detail {

struct NoData {};
template <class F> consteval auto data_of() {
    if constexpr (requires { requires can_be_derived_from<typename F::Data>; })
        return std::type_identity<typename F::Data>{};
    else return std::type_identity<NoData>{};
}
template <class F> consteval auto saved_by() {
    if constexpr (requires { typename F::Saved; }) return std::type_identity<typename F::Saved>{};
    else return std::type_identity<std::tuple<>>{};
}

/// Calls visit for each tensor in a tensor, an optional tensor or a vector of them; other types
/// have none.
template <class V, class Visit> void each_tensor_in(V& v, Visit visit) {
    if constexpr (std::derived_from<std::remove_const_t<V>, AnyTensor>) visit(v);
    else if constexpr (is_vector_of_tensors<std::remove_const_t<V>>)
        for (auto& t : v) visit(t);
    else if constexpr (is_tensor<std::remove_const_t<V>>)
        if (v) visit(*v);
}
/// Calls visit for each element of a tuple, or for an object that is no tuple.
template <class R, class Visit> void each_element(R& r, Visit visit) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(element<I>(r)), ...); }(
        std::make_index_sequence<elements_of<R>::size>{});
}

} // namespace detail

/// Data that forward of a Function F passes to its backward. `F::Saved`, a std::tuple of tensors
/// (optional ones and vectors of them too), is the type of what is saved. The members of `F::Data`,
/// a default-constructible struct, are members of the Context.
template <class F> class Context : public decltype(detail::data_of<F>())::type {
    static_assert(
        sizeof(detail::ReportDiagnostic<typename decltype(detail::check_context<F>())::type>) > 0);

public:
    /// The type of what is saved; an empty tuple if F has none.
    using Saved = typename decltype(detail::saved_by<F>())::type;

    explicit Context(detail::AnyFunctionNode& node) : node_(node) {}
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    /// Saves tensors for backward: arguments of forward, results, or others, which count as
    /// constants. In-place changes are detected, and saved tensor hooks are called, after forward
    /// has returned. A second call replaces the first.
    template <class... T> void save_for_backward(T const&... tensors) {
        using Sentence = typename verdict::Function<F>::
            template save_for_backward_saves_something_else_than_Saved<
                std::tuple<detail::stored_as<T>...>, Saved>;
        constexpr bool fits = is_saved(std::type_identity<Saved>{}, std::type_identity<T>{}...);
        static_cast<void>(
            detail::ReportDiagnostic<std::conditional_t<fits, verdict::ok, Sentence>>());
        if constexpr (fits) {
            if (!node_.is_recorded()) return;
            Saved saved(tensors...);
            std::vector<AnyTensor> to_save;
            detail::each_element(saved, [&](auto& s) {
                detail::each_tensor_in(
                    s, [&]<class X>(X& t) { to_save.push_back(std::exchange(t, X())); });
            });
            node_.save_for_backward(std::move(to_save));
            empty_ = std::move(saved);
        }
    }
    /// The saved tensors with their grad_fn: `auto const [x, w] = ctx.saved_tensors();`. Throws
    /// VersionError where one was changed in place since, and GraphError where they were freed.
    Saved saved_tensors() const {
        Saved saved = empty_;
        std::size_t i = 0;
        detail::each_element(saved, [&](auto& s) {
            detail::each_tensor_in(
                s, [&]<class T>(T& t) { t = T(node_.unpack_saved(i++).handle()); });
        });
        return saved;
    }

    /// True where the gradient of argument i of forward will be used: in forward for a recorded
    /// call, in backward for the pass that runs. For a vector of tensors: where that of one of them
    /// will be used.
    bool needs_input_grad(std::size_t argument) const { return node_.needs_input_grad(argument); }
    /// True where the gradient of one element of a vector argument will be used.
    bool needs_input_grad(std::size_t argument, std::size_t element) const {
        return node_.needs_input_grad(argument, element);
    }

    /// Declares that forward changes these arguments in place; it must return them. Counts as an
    /// in-place change, and throws GraphError where none is allowed: call it before writing the
    /// first element.
    template <Scalar... T> void mark_dirty(Tensor<T> const&... tensors) {
        (node_.mark_dirty(tensors), ...);
    }
    /// Declares that these results have no gradient.
    template <Scalar... T> void mark_non_differentiable(Tensor<T> const&... tensors) {
        (node_.mark_non_differentiable(tensors), ...);
    }
    /// Whether backward gets zeros (default) or an undefined tensor for a result without a
    /// gradient.
    void set_materialize_grads(bool on) { node_.materialize_grads = on; }
    /// Whether backward gets zeros or an undefined tensor for a result marked as
    /// non-differentiable.
    void set_materialize_non_diff_grads(bool on) { node_.materialize_non_diff_grads = on; }

private:
    template <class... S, class... T>
    static constexpr bool is_saved(std::type_identity<std::tuple<S...>>, std::type_identity<T>...) {
        if constexpr (sizeof...(S) == sizeof...(T)) return (detail::fits<T const&, S> && ...);
        else return false;
    }
    template <class Wrong, class... T>
    static constexpr bool is_saved(Wrong, std::type_identity<T>...) {
        return true;
    }

    detail::AnyFunctionNode& node_;
    Saved empty_; // what was saved, without the tensors
};

} // namespace xgrad
