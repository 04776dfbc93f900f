// backward() and grad(): run a pass from outputs to all leaves, or to given inputs.
//
// Shapes: a gradient has the shape of its output, a result that of its input; with is_grads_batched
// both have a leading batch axis.
// Gradients: dL/dx, for complex x dL/dRe + i dL/dIm, as in PyTorch. create_graph records the pass,
// so that second and higher orders work. backward() adds to .grad of leaves; grad() changes none.
// Errors: GraphError for an output or an input that requires no gradient, for an implicit gradient
// of anything but a real scalar, for freed saved values, and for an unused input of grad() without
// allow_unused; VersionError where a saved value was changed in place. Gradients of another shape
// are a ShapeError, of another type a TypeError; undefined tensors are an Error. A bool or a number
// as gradient does not compile.
#pragma once

#include <concepts>
#include <optional>

#include <xgrad/autograd/engine.hpp>
#include <xgrad/autograd/gradient_edge.hpp>
#include <xgrad/autograd/second_order.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>
#include <xgrad/tensor/hooks.hpp>
#include <xgrad/tensor/parts.hpp>

namespace xgrad {

/// Whether a pass is recorded, so that gradients can be differentiated. Constructing one from a
/// bool links the code of second derivatives; other programs do not contain it.
class CreateGraph {
public:
    constexpr CreateGraph() noexcept = default;
    template <std::same_as<bool> B>
    CreateGraph(B create) noexcept
        : create_(create), is_given_(true) // a template: other types do not convert to bool
    {
        if (create) detail::link_second_order();
    }
    constexpr operator bool() const noexcept { return create_; }
    /// True where a bool was given, and false for the default.
    constexpr bool is_given() const noexcept { return is_given_; }

private:
    bool create_ = false, is_given_ = false;
};

/// Options of backward().
struct BackwardOptions {
    std::optional<bool> retain_graph =
        {}; // keep saved tensors for another pass; default: create_graph
    CreateGraph create_graph =
        {}; // record the pass, so that gradients can be differentiated; default: false
    TensorsOrEdges inputs = {}; // accumulate into these only; default: into all leaves
};

/// Options of grad().
struct GradOptions {
    std::vector<AnyTensor> gradients = {}; // grad_outputs; default: 1 for a real scalar
    std::optional<bool> retain_graph = {}; // as in BackwardOptions
    CreateGraph create_graph = {};         // as in BackwardOptions
    bool allow_unused =
        false; // an unused input gets an undefined gradient; otherwise it is an error
    bool materialize_grads = false; // an unused input gets zeros, which require a gradient
    bool is_grads_batched =
        false; // gradients and results have a leading batch axis: one pass for each index
};

namespace detail {

[[noreturn, gnu::cold]] inline void fail_without_grad_fn(std::size_t index) {
    fail<GraphError>("element ", index,
        " of tensors does not require grad and does not have a grad_fn: no leaf "
        "with requires_grad was used for it, or it was computed in no-grad mode");
}

/// Without a gradient a pass starts from 1: allowed for a real scalar only.
XGRAD_LAZY void check_implicit_gradient(
    TypeInfo const& type, Shape const& shape, std::size_t index);

/// The Root of an output of this type and shape; the shape must outlive it.
XGRAD_LAZY Root root_at(
    Edge edge, TypeInfo const* type, Shape const& shape, AnyTensor gradient, std::size_t index);

XGRAD_LAZY void check_count(std::size_t outputs, std::vector<AnyTensor> const& gradients);
XGRAD_LAZY CachedVector<Root> roots_of(std::string_view operation, TensorsOrEdges const& outputs,
    std::vector<AnyTensor> const& gradients);

XGRAD_LAZY Capture capture_at(Edge edge, bool also_run = false);
XGRAD_LAZY CachedVector<Capture> captures_of(
    std::string_view operation, TensorsOrEdges const& inputs, bool also_run);

/// Converts a gradient to what grad() returns for an input of this type and shape.
XGRAD_LAZY AnyTensor delivered(
    AnyTensor gradient, TypeInfo const* type, Shape const& shape, GradOptions const& options);

/// True where grad() is called in code that is differentiated, without create_graph:
/// its gradients are unrecorded and no constants, so that differentiating them must throw.
inline bool forbids_differentiation(GradOptions const& options) noexcept {
    return differentiated && recording() && !options.create_graph.is_given();
}
XGRAD_LAZY [[gnu::cold]] void forbid_differentiation(
    CachedVector<Edge> const& outputs, AnyTensor& gradient);
/// run_backward() whose captured gradients are contiguous.
XGRAD_LAZY void run_to_inputs(
    std::span<Root> roots, std::span<Capture> captures, bool keep_graph, bool create_graph);
/// Runs the pass of grad().
XGRAD_LAZY void run_grad(
    std::span<Root> roots, std::span<Capture> captures, GradOptions const& options);

XGRAD_LAZY [[gnu::cold]] std::vector<AnyTensor> batched_grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions options);

} // namespace detail

/// Computes the gradients of the outputs with respect to all leaves (or options.inputs) and adds
/// them to .grad. For an input that is a GradientEdge its Node runs too; the Node of a leaf adds to
/// .grad.
XGRAD_LAZY void backward(TensorsOrEdges const& outputs,
    std::vector<AnyTensor> const& gradients = {}, BackwardOptions const& options = {});

/// Returns the gradients of the outputs with respect to the inputs; undefined for an unused input
/// if that is allowed. Does not change .grad. With is_grads_batched the result is as if grad() was
/// called for each index of the leading axis of all gradients, hooks included.
XGRAD_LAZY std::vector<AnyTensor> grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions const& options = {});

namespace detail {

/// Number of rows of the batched gradients; throws where a gradient does not fit its output.
XGRAD_LAZY [[gnu::cold]] std::size_t batch_size(
    TensorsOrEdges const& outputs, std::vector<AnyTensor> const& gradients);

/// grad() of one output: writes the gradient of input i to gradients[i].
XGRAD_LAZY void grad_into(AnyTensor* gradients, AnyTensor const& output,
    std::span<AnyTensor const* const> inputs, GradOptions const& options);

// The gradients of one output, in the structure of the inputs.
template <Scalar... T>
std::tuple<Tensor<T>...> gradients_of(
    AnyTensor const& output, std::tuple<Tensor<T>...> const& inputs, GradOptions const& options) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        std::array<AnyTensor const*, sizeof...(T)> const wanted{&std::get<I>(inputs)...};
        std::array<AnyTensor, sizeof...(T)> gradients;
        grad_into(gradients.data(), output, wanted, options);
        return std::tuple<Tensor<T>...>{Tensor<T>(std::move(gradients[I]).handle())...};
    }(std::index_sequence_for<T...>{});
}
template <Scalar T>
Tensor<T> gradients_of(
    AnyTensor const& output, Tensor<T> const& input, GradOptions const& options) {
    AnyTensor const* const x = &input;
    AnyTensor gradient;
    grad_into(&gradient, output, {&x, 1}, options);
    return Tensor<T>(std::move(gradient).handle());
}
template <Scalar T>
std::vector<Tensor<T>> gradients_of(
    AnyTensor const& output, std::vector<Tensor<T>> const& inputs, GradOptions const& options) {
    std::vector<Tensor<T>> typed;
    typed.reserve(inputs.size());
    for (auto const& g : grad(TensorsOrEdges{output}, TensorsOrEdges(inputs), options))
        typed.push_back(g.defined() ? g.template as<T>() : Tensor<T>());
    return typed;
}
template <Scalar T>
auto gradients_of(
    AnyTensor const& output, TensorParts<T> const& inputs, GradOptions const& options) {
    return gradients_of(output, std::vector<Tensor<T>>(inputs), options);
}
template <std::same_as<AnyTensor> T>
std::vector<T> gradients_of(
    AnyTensor const& output, std::vector<T> const& inputs, GradOptions const& options) {
    return grad(TensorsOrEdges{output}, TensorsOrEdges(inputs), options);
}
template <std::convertible_to<GradientEdge> E>
AnyTensor gradients_of(AnyTensor const& output, E const& input, GradOptions const& options) {
    return grad(TensorsOrEdges{output}, TensorsOrEdges{GradientEdge(input)}, options)[0];
}

/// Y is a tensor or an expression, and X inputs of a gradient.
template <class Y, class X>
concept GivesGradients = Operand<Y> && TensorLike<Y> &&
                         requires(AnyTensor const& y, X const& x) { gradients_of(y, x, {}); };

} // namespace detail

/// Gradients of an output, a tensor or an expression, with respect to an input, a std::tuple or
/// std::vector of inputs, or a GradientEdge, in the same structure: `auto [gx, gz] = grad(loss,
/// inputs(x, z));`
template <class Y, class X>
    requires detail::GivesGradients<Y, X>
auto grad(Y const& output, X const& inputs, GradOptions const& options = {}) {
    return detail::gradients_of(detail::materialize(output), inputs, options);
}
/// With respect to inputs of one type, and of different types: `grad(loss, {x, z})`.
template <Operand Y, Scalar T>
auto grad(
    Y const& output, std::initializer_list<Tensor<T>> inputs, GradOptions const& options = {}) {
    return grad(output, std::vector<Tensor<T>>(inputs), options);
}
template <Operand Y>
auto grad(
    Y const& output, std::initializer_list<TensorOrEdge> inputs, GradOptions const& options = {}) {
    return grad(TensorsOrEdges{detail::materialize(output)}, TensorsOrEdges(inputs), options);
}
/// With respect to several inputs, as a tuple: `auto [gx, gz] = grad(loss, x, z);`
template <Operand Y, Scalar First, Scalar... T>
    requires(sizeof...(T) > 0)
auto grad(Y const& output, Tensor<First> const& x, Tensor<T> const&... more) {
    return grad(output, inputs(x, more...));
}

template <Scalar T> void Tensor<T>::backward() const {
    impl(); // an error names backward
    detail::Root root{detail::gradient_edge(*this), {}, detail::type_info<T>, shape()};
    if (!root.edge) detail::fail_without_grad_fn(0);
    if (!RealScalar<T> || numel() != 1) detail::check_implicit_gradient(root.type, root.shape, 0);
    detail::run_backward({&root, 1}, {}, false, false);
}
template <Scalar T> void Tensor<T>::backward(BackwardOptions const& options) const {
    xgrad::backward({*this}, {}, options);
}
template <Scalar T>
template <detail::OperandLike G>
void Tensor<T>::backward(G const& gradient) const {
    backward(gradient, {});
}
template <Scalar T>
template <detail::OperandLike G>
void Tensor<T>::backward(G const& gradient, BackwardOptions const& options) const {
    static_assert(!std::same_as<G, bool>,
        "backward: a bool is no gradient; to keep the graph write {.retain_graph = true}");
    static_assert(!Number<G> || std::same_as<G, bool>,
        "backward: a gradient is a Tensor of this tensor's "
        "scalar type, such as Tensor<double>(2.)");
    if constexpr (!Number<G>) {
        static_assert(std::same_as<typename detail::operand_type<G>::scalar, T>,
            "backward: the gradient must have the scalar type of the tensor it belongs to");
        xgrad::backward({*this}, {detail::materialize(gradient)}, options);
    }
}

} // namespace xgrad
