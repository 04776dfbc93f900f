// checkpoint(): a part of a graph that saves its inputs instead of what its Nodes would save, and
// is evaluated again when a backward pass needs that.
//
// Gradients: those of f, of any order, also of captured tensors, in backward and forward mode.
// Errors: GraphError for an undefined input, for an f that changes an input in place, and, in the
// backward pass, for an f that fails or saves other tensors than before; VersionError there for
// values that were changed in place since. An f that does not take the inputs, or returns no
// tensors, does not compile.
//
// Read next: impl/functional/checkpoint.ipp.
#pragma once

#include <xgrad/functional/evaluation.hpp>

namespace xgrad {

namespace detail {

/// f(inputs), whose Nodes save nothing but their index in the call.
XGRAD_LAZY Tensors checkpointed(std::function<Tensors(Tensors const&)> f, Tensors const& inputs);

/// A function without arguments: all that it needs is captured.
template <class F>
concept TakesNothing =
    requires { &std::remove_cvref_t<F>::operator(); } && std::invocable<std::remove_cvref_t<F>&>;

/// The results of the first call of a function, whose structure only that call tells; later calls
/// keep nothing here.
template <class R> struct FirstResults {
    std::optional<R> results = {};
    bool wanted = true;
};

/// checkpoint() of a function that the recorded call shares.
template <class Callable, class... X>
auto checkpoint_shared(std::shared_ptr<Callable> const& shared, X const&... inputs) {
    using Of = CheckedCall<Callable, std::tuple<tensor_type<X>...>>;
    if constexpr (Of::fits) {
        Tensors const x{materialize(inputs)...};
        check_defined("checkpoint", "input", x);
        // undefined tensors: the inputs themselves must not be kept here
        typename Of::In const in;
        if (!recording()) return Of::Call::tensors(*shared, in, x);
        using First = FirstResults<structure<typename Of::Result>>;
        auto const first = std::make_shared<First>();
        struct End {
            First& first;
            ~End() { first.wanted = false; }
        } const end{*first};
        auto const call = [shared, in, first](Tensors const& arguments) {
            auto results = Of::Call::tensors(*shared, in, arguments);
            auto tensors = erased(results);
            if (first->wanted) first->results.emplace(std::move(results));
            return tensors;
        };
        auto const outputs = checkpointed(call, x);
        auto results = *std::move(first->results);
        first->results.reset();
        return with_tensors(std::move(results), outputs);
    }
}

} // namespace detail

/// f(inputs...), recorded without what its Nodes save for backward: only the inputs are saved, and
/// a backward pass that needs the rest calls f again. It saves the memory of one call of f and
/// costs the time of one more.
///
/// f takes a Tensor<T> const& for each input and returns a Tensor, an expression or a std::tuple of
/// such; what else it needs it captures, and captured tensors get gradients, too. A module that the
/// caller owns is stored by reference and must outlive the backward pass; any other f is copied or
/// moved. It must compute the same in each call: random numbers and grad mode are replayed, and the
/// call may be made by another thread. Throws VersionError in the backward pass where an input, or
/// a captured tensor that was saved, has been changed in place since, and GraphError where f saves
/// other tensors than before.
///
/// grad(), retain_graph (f is called in each pass), create_graph, hooks and checkpoint() inside f
/// work as without it. Hooks on saved tensors that are active around the call get the inputs.
template <class F, detail::TensorLike... X>
    requires(sizeof...(X) > 0 || detail::TakesNothing<F>)
auto checkpoint(F&& f, X const&... inputs) {
    using Callable = detail::KeptCallable<F>;
    return detail::checkpoint_shared(std::make_shared<Callable>(std::forward<F>(f)), inputs...);
}
/// checkpoint() as a function of the inputs.
template <class F>
    requires(!detail::TakesNothing<F>)
auto checkpoint(F&& f) {
    using Callable = detail::KeptCallable<F>;
    return [shared = std::make_shared<Callable>(std::forward<F>(f))](
               auto const&... x) { return detail::checkpoint_shared(shared, x...); };
}

} // namespace xgrad
