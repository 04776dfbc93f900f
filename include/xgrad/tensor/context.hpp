// Context: what a custom Function's forward leaves for its backward.
#pragma once

#include <xgrad/tensor/function_node.hpp>
#include <xgrad/tensor/function_verdict.hpp>

XGRAD_COMPILED_ONCE

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

/// Visits the tensors in a tensor, an optional one, a vector of them, or something else, which has
/// none.
template <class V, class Visit> void each_tensor_in(V& v, Visit visit) {
    if constexpr (std::derived_from<std::remove_const_t<V>, AnyTensor>) visit(v);
    else if constexpr (is_vector_of_tensors<std::remove_const_t<V>>)
        for (auto& t : v) visit(t);
    else if constexpr (is_tensor<std::remove_const_t<V>>)
        if (v) visit(*v);
}
/// Visits the elements of a tuple, or the one thing that is none.
template <class R, class Visit> void each_element(R& r, Visit visit) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(element<I>(r)), ...); }(
        std::make_index_sequence<elements_of<R>::size>{});
}

} // namespace detail

/// What a Function F's forward leaves for its backward. `F::Saved`, a std::tuple of tensors (also
/// optional ones and vectors of them), says what is saved; the members of a struct `F::Data`, which
/// is made without arguments, are members of the Context.
template <class F> class Context : public decltype(detail::data_of<F>())::type {
    static_assert(
        sizeof(detail::ReportDiagnostic<typename decltype(detail::judge_context<F>())::type>) > 0);

public:
    using Saved = typename decltype(detail::saved_by<F>())::type;

    explicit Context(detail::AnyFunctionNode& node) : node_(node) {}
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    /// Keeps tensors for backward: arguments of forward, results, or others, which then count as
    /// constants. Changes in place are noticed, and hooks on saved tensors are called. Once forward
    /// has returned; a second call replaces the first.
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
    /// The saved tensors with their history: `auto const [x, w] = ctx.saved_tensors();`. Throws
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

    /// True where a gradient of argument i of forward will be used: in forward for a recorded call,
    /// in backward for the pass that runs. Of a vector of tensors: of one of them.
    bool needs_input_grad(std::size_t argument) const { return node_.needs_input_grad(argument); }
    /// The same for one element of an argument that is a vector.
    bool needs_input_grad(std::size_t argument, std::size_t element) const {
        return node_.needs_input_grad(argument, element);
    }

    /// Says that forward changes these arguments in place. It must return them. Counts as a change
    /// in place, and throws GraphError where none is allowed: call it before the first element is
    /// written.
    template <Scalar... T> void mark_dirty(Tensor<T> const&... tensors) {
        (node_.mark_dirty(tensors), ...);
    }
    /// Says that these results have no gradient.
    template <Scalar... T> void mark_non_differentiable(Tensor<T> const&... tensors) {
        (node_.mark_non_differentiable(tensors), ...);
    }
    /// Whether backward gets zeros (to begin with) or an undefined tensor for a result without a
    /// gradient.
    void set_materialize_grads(bool on) { node_.materialize_grads = on; }
    /// The same for results that are marked as non-differentiable.
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
