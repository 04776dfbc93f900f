// Function: a differentiable operation that a user defines on whole arrays, like PyTorch's
// torch.autograd.Function. Mistakes are reported at compile time: function_check.hpp.
//
// Shapes: any; the gradient of an argument has its shape, or one to which that broadcasts and is
// then summed.
// Gradients: what `backward` returns; complex ones as PyTorch's, dL/dRe + i dL/dIm. Second order
// works where backward is written with operations on tensors and F is not once_differentiable.
// Forward mode calls `jvp`, or else differentiates backward.
// Errors: mistakes of types stop at compile time (function_check.hpp). ShapeError for a gradient or
// tangent of another shape; GraphError for wrong numbers of gradients, for marks that are wrong,
// for a second derivative of once_differentiable, and for forward mode without a jvp of such a
// function.
#pragma once

#include <xgrad/tensor/context.hpp>

namespace xgrad {

namespace detail {

template <class F, class Arguments, class Outputs> class FunctionNode;

/// The Node of Function F, with argument types V... and result types Y...
template <class F, class... V, class... Y>
class FunctionNode<F, Types<V...>, Types<Y...>> final : public AnyFunctionNode {
public:
    using AnyFunctionNode::AnyFunctionNode;

    Context<F> context{*this};

    /// Connects the results of forward to the graph.
    template <class Output> void finish(Output& output) {
        Tensors results;
        std::size_t next = 0;
        each_element(output, [&](auto& y) {
            each_tensor_in(y, [&](AnyTensor const& t) { results.push_back(t); });
            begins_[++next] = static_cast<std::uint32_t>(results.size());
        });
        finish_forward(results);
        next = 0;
        each_element(output, [&](auto& y) {
            each_tensor_in(y, [&]<class T>(T& t) { t = T(results[next++].handle()); });
        });
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        fill_undefined(gradients);
        bool const recorded = grad_mode;
        PassMode const mode(recorded && !F::once_differentiable);
        call_backward(gradients, results, std::index_sequence_for<Y...>{});
        if (recorded)
            forbid_unrecorded("backward", F::once_differentiable, gradients, results,
                [](AnyFunctionNode& node, auto incoming, auto outgoing) {
                    static_cast<FunctionNode&>(node).call_backward(
                        incoming, outgoing, std::index_sequence_for<Y...>{});
                });
    }

    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        if constexpr (has_jvp<F, gradient_of<V>...>) {
            call_jvp(tangents, results, std::index_sequence_for<V...>{});
            if (grad_mode)
                forbid_unrecorded("jvp", F::once_differentiable, tangents, results,
                    [](AnyFunctionNode& node, auto incoming, auto outgoing) {
                        static_cast<FunctionNode&>(node).call_jvp(
                            incoming, outgoing, std::index_sequence_for<V...>{});
                    });
        } else if constexpr (F::once_differentiable)
            fail<GraphError>(function(), ": forward mode needs a jvp, since a backward that is "
                                         "once_differentiable cannot stand in for it");
        else push_by_transposing(*this, zero_outputs(), tangents, results);
    }
    ForwardRule forward_rule() const noexcept override {
        if constexpr (!has_jvp<F, gradient_of<V>...>) return ForwardRule::reverse;
        else return ForwardRule::one_tangent;
    }
    Dependence dependence() const noexcept override {
        constexpr bool is_local = F::is_elementwise && has_jvp<F, gradient_of<V>...>;
        return is_local ? Dependence::elements : Dependence::unknown;
    }

private:
    template <std::size_t... I>
    void call_jvp(std::span<AnyTensor const> tangents, std::span<AnyTensor> results,
        std::index_sequence<I...>) {
        auto given = std::tuple<gradient_of<V>...>(
            incoming<gradient_of<V>>(std::span<AnyTensor const>(with_zeros<V>(I, tangents)))...);
        auto returned = F::jvp(context, std::get<I>(given)...);
        [&]<std::size_t... J>(std::index_sequence<J...>) {
            (take_tangent<gradient_of<Y>>(element<J>(returned), J, results), ...);
        }(std::index_sequence_for<Y...>{});
    }
    /// The tangents of the tensors in argument I; zeros for an undefined tangent.
    template <class X>
    Tensors with_zeros(std::size_t argument, std::span<AnyTensor const> tangents) const {
        Tensors mine;
        for (std::size_t k = 0; k < count_of(argument); ++k) {
            mine.push_back(tangents[first_of(argument) + k]);
            if constexpr (!std::same_as<gradient_of<X>, std::nullopt_t>)
                if (materialize_grads && !mine.back().defined())
                    mine.back() =
                        type_info<scalar_of<X>>.filled(shape_of(first_of(argument) + k), 0);
        }
        return mine;
    }
    /// Stores what jvp returned for result J, whose tangent has type G.
    template <class G, class R>
    void take_tangent(R& returned, std::size_t j, std::span<AnyTensor> results) const {
        if constexpr (std::same_as<R, std::nullopt_t>) return;
        else if constexpr (std::same_as<R, std::optional<G>>) {
            if (returned) take_tangent<G>(*returned, j, results);
        } else if constexpr (is_vector_of_tensors<G>) {
            for (std::size_t k = 0; k < returned.size(); ++k)
                give_tangent(returned[k], begins_[j] + k, begins_[j + 1], results);
        } else give_tangent(G(materialize(returned)), begins_[j], begins_[j + 1], results);
    }

    template <std::size_t... J>
    void call_backward(std::span<AnyTensor const> gradients, std::span<AnyTensor> results,
        std::index_sequence<J...>) {
        auto given = std::tuple<gradient_of<Y>...>(incoming<gradient_of<Y>>(
            gradients.subspan(begins_[J], begins_[J + 1] - begins_[J]))...);
        auto returned = F::backward(context, std::get<J>(given)...);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (take<I, gradient_of<V>>(element<I>(returned), results), ...);
        }(std::index_sequence_for<V...>{});
    }

    /// Converts the gradient of a result to the type that backward takes.
    template <class G> static G incoming(std::span<AnyTensor const> gradients) {
        if constexpr (std::same_as<G, std::nullopt_t>) return std::nullopt;
        else if constexpr (is_vector_of_tensors<G>) {
            G all;
            for (auto const& g : gradients) all.emplace_back(g.handle());
            return all;
        } else return gradients.empty() ? G() : G(gradients[0].handle());
    }

    /// Stores what backward returned for argument I, whose gradient has type G.
    template <std::size_t I, class G, class R>
    void take(R& returned, std::span<AnyTensor> results) const {
        if constexpr (std::same_as<R, std::nullopt_t>) return;
        else if constexpr (std::same_as<R, std::optional<G>>) {
            if (returned) take<I, G>(*returned, results);
        } else if constexpr (is_vector_of_tensors<G>) {
            check_number_of_gradients(returned.size(), I);
            for (std::size_t k = 0; k < returned.size(); ++k) give(returned[k], I, k, results);
        } else give(G(materialize(returned)), I, 0, results);
    }

    std::uint32_t begins_[sizeof...(Y) + 1] = {}; // which of the gradients belong to each result
};

/// Converts an argument to the type that forward takes.
template <class V, class X> V as_argument(X&& x) {
    if constexpr (std::is_convertible_v<X, V>) return static_cast<V>(std::forward<X>(x));
    else return materialize(x);
}

/// Runs and records a Function that passed the checks.
template <class F, class Call, class Output, class... V, class... X>
Output call_function(Types<V...>, X&&... x) {
    std::tuple<V...> arguments(as_argument<V>(std::forward<X>(x))...);
    std::vector<AnyTensor> inputs;
    std::vector<std::uint32_t> first{0};
    each_element(arguments, [&](auto& v) {
        each_tensor_in(v, [&](AnyTensor const& t) { inputs.push_back(t); });
        first.push_back(static_cast<std::uint32_t>(inputs.size()));
    });
    auto edges = AnyFunctionNode::edges_to(inputs);
    using Made = FunctionNode<F, typename Call::arguments, elements_of<Output>>;
    auto* const made =
        new Made(type_name<F>, std::move(inputs), std::move(first), std::move(edges));
    Ref<Node> const node(made);

    NoGradGuard const off;
    Output output = std::apply(
        [&](V&... v) -> Output {
            if constexpr (Call::takes_context) return F::forward(made->context, v...);
            else return F::forward(v...);
        },
        arguments);
    if constexpr (!Call::takes_context)
        F::setup_context(made->context, std::as_const(arguments), std::as_const(output));
    made->finish(output);
    return output;
}

} // namespace detail

/// Base of a Function F, which has
///  - `static R forward(Context& ctx, A...)`; R is a tensor, a vector of tensors, any other type,
///  or
///    a tuple of these. It runs unrecorded. Alternatively: `forward(A...)` with
///    `setup_context(Context& ctx, std::tuple<A...> const&, R const&)`.
///  - `static G backward(Context& ctx, gradients...)`; it takes a gradient for each result and
///    returns one for each argument, as a tuple if there are several: std::nullopt for an argument
///    that is no tensor; an undefined tensor stands for zero. Written in operations on tensors it
///    is differentiable itself.
///  - optionally `static T jvp(Context& ctx, tangents...)`, forward mode; it takes a tangent for
///    each argument and returns one for each result. Without it forward mode differentiates
///    backward.
///  - optionally `using Saved = std::tuple<tensors...>` and `struct Data`: see Context.
///  - optionally `static constexpr bool once_differentiable = true`: backward is not
///    differentiable; with a jvp `is_elementwise`: results depend on arguments at the same place
///    only, which broadcast (sparse derivatives ask for it).
template <class F> struct Function {
    using Context = xgrad::Context<F>; // the type of the first argument of forward and backward
    /// once_differentiable, is_elementwise: what F may be, see above.
    static constexpr bool once_differentiable = false, is_elementwise = false;

    /// Calls forward with tensors (or expressions), numbers, strings, ..., and records one Node
    /// where a tensor requires a gradient. An argument that forward returns unchanged is returned
    /// as a view.
    template <class... X> static auto apply(X&&... x) {
        using Check = detail::FunctionCheck<F, X...>;
        using Diagnostic = decltype(Check::all());
        static_cast<void>(detail::ReportDiagnostic<typename Diagnostic::type>());
        if constexpr (detail::is_ok<Diagnostic>)
            return detail::call_function<F, typename Check::Call, typename Check::Output>(
                typename Check::Call::given{}, std::forward<X>(x)...);
        else if constexpr (!std::is_void_v<typename Check::Output>) return typename Check::Output();
        else if constexpr ((Operand<X> || ...)) return detail::stand_in<F>(x...);
    }
};

} // namespace xgrad
