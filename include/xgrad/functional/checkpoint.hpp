// checkpoint(): a part of a graph that saves its inputs instead of what its Nodes would save, and
// is evaluated again when a backward pass needs that. Read next: impl/functional/checkpoint.ipp.
#pragma once

#include <xgrad/functional/evaluation.hpp>

namespace xgrad {

namespace detail {

/// f(inputs), whose Nodes save nothing but their index in the call.
Tensors checkpointed(std::function<Tensors(Tensors const&)> f, Tensors const& inputs);

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
    requires(sizeof...(X) > 0 || std::invocable<F&>)
auto checkpoint(F&& f, X const&... inputs) {
    using Callable = detail::KeptCallable<F>;
    using Of = detail::CheckedCall<Callable, std::tuple<detail::tensor_type<X>...>>;
    if constexpr (Of::fits) {
        detail::Tensors const x{detail::materialize(inputs)...};
        detail::check_defined("checkpoint", "input", x);
        auto const shared = std::make_shared<Callable>(std::forward<F>(f));
        // undefined tensors: the inputs themselves must not be kept here
        typename Of::In const in;
        if (!detail::recording()) return Of::Call::tensors(*shared, in, x);
        std::optional<detail::structure<typename Of::Result>> first;
        auto const place = std::make_shared<decltype(&first)>(&first);
        auto const call = [shared, in, place](detail::Tensors const& arguments) {
            auto results = Of::Call::tensors(*shared, in, arguments);
            auto tensors = detail::erased(results);
            if (*place) (*place)->emplace(std::move(results));
            return tensors;
        };
        auto const outputs = detail::checkpointed(call, x);
        *place = nullptr;
        return detail::with_tensors(*std::move(first), outputs);
    }
}
/// checkpoint() as a function of the inputs.
template <class F>
    requires(!std::invocable<F&>)
auto checkpoint(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))](
               auto const&... x) { return checkpoint(f, x...); };
}

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/functional/checkpoint.ipp>
#endif
