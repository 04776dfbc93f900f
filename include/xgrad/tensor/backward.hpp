// backward() and grad(): run a pass from outputs to all leaves, or to given inputs.
#pragma once

#include <concepts>
#include <optional>

#include <xgrad/graph/engine.hpp>
#include <xgrad/graph/gradient_edge.hpp>
#include <xgrad/graph/local_graph.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>
#include <xgrad/tensor/hooks.hpp>
#include <xgrad/tensor/rows.hpp>

XGRAD_COMPILED_ONCE

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
        if (create) detail::FusedNode::link_second_order();
    }
    constexpr operator bool() const noexcept { return create_; }
    /// True where a bool was given, and false for the default.
    constexpr bool is_given() const noexcept { return is_given_; }

private:
    bool create_ = false, is_given_ = false;
};

struct BackwardOptions {
    std::optional<bool> retain_graph =
        {}; // keep saved tensors for another pass; default: create_graph
    CreateGraph create_graph =
        {}; // record the pass, so that gradients can be differentiated; default: false
    TensorsOrEdges inputs = {}; // accumulate into these only; default: into all leaves
};

struct GradOptions {
    std::vector<AnyTensor> gradients = {}; // grad_outputs; default: 1 for a real scalar
    std::optional<bool> retain_graph = {};
    CreateGraph create_graph = {};
    bool allow_unused =
        false; // an unused input gets an undefined gradient; otherwise it is an error
    bool materialize_grads = false; // an unused input gets zeros, which require a gradient
    bool is_grads_batched =
        false; // gradients and results have a leading batch axis: one pass for each index
};

namespace detail {

[[noreturn, gnu::cold]] inline void fail_without_grad_fn(std::size_t index) {
    fail<GraphError>(
        "element ", index, " of tensors does not require grad and does not have a grad_fn");
}

/// Without a gradient a pass starts from 1: allowed for a real scalar only.
inline void check_implicit_gradient(TypeInfo const& type, Shape const& shape, std::size_t index) {
    if (numel(shape) != 1)
        fail<GraphError>("grad can be implicitly created only for scalar outputs, but output ",
            index, " has shape ", shape);
    if (xgrad::is_complex(type.dtype))
        fail<GraphError>("grad can be implicitly created only for real scalar outputs but got ",
            name(type.dtype), "; pass a gradient, or take real() or abs2() first");
}

/// The Root of an output of this type and shape; the shape must outlive it.
inline Root root_at(
    Edge edge, TypeInfo const* type, Shape const& shape, AnyTensor gradient, std::size_t index) {
    if (!edge) fail_without_grad_fn(index);
    if (!type)
        fail<GraphError>("output ", index,
            " is a GradientEdge that was made from a Node, which does not know its shape: make it "
            "from the tensor");
    if (!gradient.defined()) check_implicit_gradient(*type, shape, index);
    else if (gradient.shape() != shape)
        fail<ShapeError>("Mismatch in shape: grad_output[", index, "] has a shape of ",
            gradient.shape(), " and output[", index, "] has a shape of ", shape, ".");
    else if (gradient.dtype() != type->dtype)
        fail<TypeError>("Mismatch in dtype: grad_output[", index, "] has a dtype of ",
            name(gradient.dtype()), " and output[", index, "] has a dtype of ", name(type->dtype),
            ".");
    return {std::move(edge), std::move(gradient), *type, shape};
}

inline void check_count(std::size_t outputs, std::vector<AnyTensor> const& gradients) {
    if (!gradients.empty() && gradients.size() != outputs)
        fail<GraphError>("got ", outputs, " tensors and ", gradients.size(), " gradients");
}
inline CachedVector<Root> roots_of(std::string_view operation, TensorsOrEdges const& outputs,
    std::vector<AnyTensor> const& gradients) {
    check_count(outputs.size(), gradients);
    CachedVector<Root> roots;
    roots.reserve(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (!outputs[i].defined()) fail_undefined(operation, "output", i);
        else
            roots.push_back(root_at(outputs[i].edge(), outputs[i].type(), outputs[i].shape(),
                gradients.empty() ? AnyTensor() : gradients[i], i));
    return roots;
}

inline Capture capture_at(Edge edge, bool also_run = false) {
    if (!edge) fail<GraphError>("One of the differentiated Tensors does not require grad");
    return {std::move(edge), also_run};
}
inline CachedVector<Capture> captures_of(
    std::string_view operation, TensorsOrEdges const& inputs, bool also_run) {
    CachedVector<Capture> captures;
    captures.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!inputs[i].defined()) fail_undefined(operation, "input", i);
        else captures.push_back(capture_at(inputs[i].edge(), also_run));
    return captures;
}

/// Converts a gradient to what grad() returns for an input of this type and shape.
inline AnyTensor delivered(
    AnyTensor gradient, TypeInfo const* type, Shape const& shape, GradOptions const& options) {
    if (!gradient.defined() && options.materialize_grads && type) {
        gradient = type->filled(shape, 0);
        gradient.impl().requires_grad = true;
    }
    if (!gradient.defined() && !options.allow_unused)
        fail<GraphError>("One of the differentiated Tensors appears to not have been used in the "
                         "graph. Set .allow_unused = true if this is the desired behavior.");
    return gradient;
}

/// True where grad() is called in code that is differentiated, without create_graph:
/// its gradients are unrecorded and no constants, so that differentiating them must throw.
inline bool forbids_differentiation(GradOptions const& options) noexcept {
    return differentiated && recording() && !options.create_graph.is_given();
}
[[gnu::cold]] inline Ref<Node> unrecorded_error(std::vector<Edge> outputs) {
    return Ref<Node>(new ErrorNode(
        "grad: this gradient was computed without a graph inside of a function, or of a pass, that "
        "is differentiated itself. Give .create_graph = true to "
        "differentiate it as well, or .create_graph = false to take it for a constant",
        std::move(outputs)));
}
/// Runs the pass of grad().
inline void run_grad(
    std::span<Root> roots, std::span<Capture> captures, GradOptions const& options) {
    bool const forbids =
        forbids_differentiation(options); // keeps the graph: tangents pass it before the ErrorNode
    run_backward(roots, captures, options.retain_graph.value_or(options.create_graph || forbids),
        options.create_graph);
    if (!forbids) [[likely]]
        return;
    std::vector<Edge> edges;
    for (auto const& root : roots) edges.push_back(root.edge);
    auto const error = unrecorded_error(std::move(edges));
    for (auto& capture : captures)
        if (capture.gradient.defined()) capture.gradient = with_error(capture.gradient, error);
}

inline std::vector<AnyTensor> batched_grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions options);

} // namespace detail

/// Computes the gradients of the outputs with respect to all leaves (or options.inputs) and adds
/// them to .grad. For an input that is a GradientEdge its Node runs too; the Node of a leaf adds to
/// .grad.
inline void backward(TensorsOrEdges const& outputs, std::vector<AnyTensor> const& gradients = {},
    BackwardOptions const& options = {}) {
    auto roots = detail::roots_of("backward", outputs, gradients);
    if (options.inputs.empty() && options.inputs.given())
        detail::fail<GraphError>("'inputs' argument to backward() cannot be empty.");
    auto captures = detail::captures_of("backward", options.inputs, true);
    if (options.create_graph)
        detail::warn("Using backward() with create_graph=True will create a reference cycle "
                     "between the parameter and its gradient which can cause a memory leak. Use "
                     "xgrad::grad() when creating the graph to avoid this, or let the .grad fields "
                     "go after use.");
    detail::run_backward(
        roots, captures, options.retain_graph.value_or(options.create_graph), options.create_graph);
    AutoGradMode const mode(options.create_graph);
    for (std::size_t i = 0; i < captures.size(); ++i) {
        AnyTensor const& input = options.inputs[i].tensor();
        if (!input.defined()) continue;
        bool const done = input.is_leaf() || input.retains_grad() ||
                          std::any_of(options.inputs.begin(),
                              options.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                              [&](auto const& t) { return t.tensor().is_same(input); });
        if (done || !captures[i].gradient.defined()) continue;
        detail::NodeLock const lock(*captures[i].edge.function);
        detail::keep_gradient(input, std::move(captures[i].gradient));
    }
}

/// Returns the gradients of the outputs with respect to the inputs; undefined for an unused input
/// if that is allowed. Does not change .grad. With is_grads_batched the result is as if grad() was
/// called for each index of the leading axis of all gradients, hooks included.
inline std::vector<AnyTensor> grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions const& options = {}) {
    if (inputs.empty()) detail::fail<GraphError>("grad requires non-empty inputs.");
    if (options.is_grads_batched) return detail::batched_grad(outputs, inputs, options);
    auto captures = detail::captures_of("grad", inputs, false);
    auto roots = detail::roots_of("grad", outputs, options.gradients);
    detail::run_grad(roots, captures, options);
    std::vector<AnyTensor> gradients;
    gradients.reserve(captures.size());
    for (std::size_t i = 0; i < captures.size(); ++i)
        gradients.push_back(detail::delivered(
            std::move(captures[i].gradient), inputs[i].type(), inputs[i].shape(), options));
    return gradients;
}

namespace detail {

/// Number of rows of the batched gradients; throws where a gradient does not fit its output.
[[gnu::cold]] inline std::size_t batch_size(
    TensorsOrEdges const& outputs, std::vector<AnyTensor> const& gradients) {
    if (gradients.empty() || gradients.size() != outputs.size())
        fail<GraphError>("got ", outputs.size(), " tensors and ", gradients.size(), " gradients");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (!gradients[i].defined())
            fail<GraphError>("is_grads_batched: gradient ", i, " is undefined");
        auto const& shape = gradients[i].shape();
        if (shape.empty() || Shape(shape.begin() + 1, shape.end()) != outputs[i].shape())
            fail<ShapeError>(
                "If is_grads_batched=True, we interpret the first dimension of each grad_output as "
                "the batch dimension. The sizes of the remaining dimensions are expected to match "
                "the shape of corresponding output, but a mismatch was detected: grad_output[",
                i, "] has a shape of ", shape, " and output[", i, "] has a shape of ",
                outputs[i].shape(), ".");
        if (shape[0] != gradients[0].shape()[0])
            fail<ShapeError>("is_grads_batched: gradients of shapes ", gradients[0].shape(),
                " and ", shape, " differ in their first extent");
    }
    return gradients[0].shape()[0];
}

[[gnu::cold]] inline std::vector<AnyTensor> batched_grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions options) {
    auto batched = std::exchange(options.gradients, {});
    std::size_t const rows = batch_size(outputs, batched);
    bool const keep_graph = options.retain_graph.value_or(options.create_graph);
    Ref<Node> error;
    if (forbids_differentiation(options)) {
        std::vector<Edge> edges;
        for (auto const& output : outputs) edges.push_back(output.edge());
        error = unrecorded_error(std::move(edges));
    }
    PassMode const mode(options.create_graph);
    for (auto& g : batched) g = in_row_major(g);
    GradOptions one{.create_graph = options.create_graph, .allow_unused = true};
    std::vector<std::optional<RowStack>> stacks(inputs.size());
    for (std::size_t row = 0; row < rows; ++row) {
        one.gradients.clear();
        for (auto const& g : batched) one.gradients.push_back(row_of(g, row));
        one.retain_graph = keep_graph || row + 1 < rows;
        auto const gradients = grad(outputs, inputs, one);
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (!gradients[i].defined()) continue;
            if (!stacks[i])
                stacks[i].emplace(*gradients[i].impl().type, Shape{rows}, gradients[i].shape());
            stacks[i]->put(row, gradients[i]);
        }
    }
    std::vector<AnyTensor> results;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Shape shape = inputs[i].shape();
        shape.insert(0, rows);
        results.push_back(delivered(
            stacks[i] ? stacks[i]->finish() : AnyTensor(), inputs[i].type(), shape, options));
        if (error && results[i].defined()) results[i] = with_error(results[i], error);
    }
    return results;
}

} // namespace detail

namespace detail {

/// grad() of one output: writes the gradient of input i to gradients[i].
inline void grad_into(AnyTensor* gradients, AnyTensor const& output,
    std::span<AnyTensor const* const> inputs, GradOptions const& options) {
    if (inputs.empty() || options.is_grads_batched) {
        std::vector<AnyTensor> all;
        for (auto const* x : inputs) all.push_back(*x);
        std::ranges::move(grad(TensorsOrEdges{output}, TensorsOrEdges(all), options), gradients);
        return;
    }
    LocalArray<Capture, 4> captures(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!inputs[i]->defined()) fail_undefined("grad", "input", i);
        else captures[i] = capture_at(gradient_edge(*inputs[i]));
    check_count(1, options.gradients);
    if (!output.defined()) fail_undefined("grad", "output", 0);
    Root root = root_at(gradient_edge(output), output.impl().type, output.shape(),
        options.gradients.empty() ? AnyTensor() : options.gradients[0], 0);
    run_grad({&root, 1}, captures.span(), options);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        gradients[i] = delivered(
            std::move(captures[i].gradient), inputs[i]->impl().type, inputs[i]->shape(), options);
}

} // namespace detail

/// The inputs of grad(), each with its static type.
template <Scalar... T> std::tuple<Tensor<T>...> inputs(Tensor<T> const&... x) { return {x...}; }

/// Gradients of an output with respect to several inputs, as a tuple: `auto [gx, gz] = grad(loss,
/// inputs(x, z));`
template <Scalar Y, Scalar... T>
std::tuple<Tensor<T>...> grad(Tensor<Y> const& output, std::tuple<Tensor<T>...> const& inputs,
    GradOptions const& options = {}) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        std::array<AnyTensor const*, sizeof...(T)> const wanted{&std::get<I>(inputs)...};
        std::array<AnyTensor, sizeof...(T)> gradients;
        detail::grad_into(gradients.data(), output, wanted, options);
        return std::tuple<Tensor<T>...>{Tensor<T>(std::move(gradients[I]).handle())...};
    }(std::index_sequence_for<T...>{});
}
/// The gradient of an output with respect to one input.
template <Scalar Y, Scalar T>
Tensor<T> grad(Tensor<Y> const& output, Tensor<T> const& input, GradOptions const& options = {}) {
    AnyTensor const* const x = &input;
    AnyTensor gradient;
    detail::grad_into(&gradient, output, {&x, 1}, options);
    return Tensor<T>(std::move(gradient).handle());
}
/// Gradients of an output with respect to a list of inputs, which may have different types:
/// `grad(loss, {x, z})`.
template <Scalar Y>
std::vector<AnyTensor> grad(Tensor<Y> const& output, std::initializer_list<TensorOrEdge> inputs,
    GradOptions const& options = {}) {
    return grad(TensorsOrEdges{output}, TensorsOrEdges(inputs), options);
}
template <Scalar Y>
std::vector<AnyTensor> grad(Tensor<Y> const& output, std::vector<AnyTensor> const& inputs,
    GradOptions const& options = {}) {
    return grad(TensorsOrEdges{output}, TensorsOrEdges(inputs), options);
}
/// Gradients of an output with respect to inputs of one type.
template <Scalar Y, Scalar T>
std::vector<Tensor<T>> grad(Tensor<Y> const& output, std::vector<Tensor<T>> const& inputs,
    GradOptions const& options = {}) {
    std::vector<Tensor<T>> typed;
    typed.reserve(inputs.size());
    for (auto const& g : grad(TensorsOrEdges{output}, TensorsOrEdges(inputs), options))
        typed.push_back(g.defined() ? g.template as<T>() : Tensor<T>());
    return typed;
}
template <Scalar Y, Scalar T>
std::vector<Tensor<T>> grad(Tensor<Y> const& output, std::initializer_list<Tensor<T>> inputs,
    GradOptions const& options = {}) {
    return grad(output, std::vector<Tensor<T>>(inputs), options);
}
/// The gradient of an output with respect to a GradientEdge.
template <Scalar Y>
AnyTensor grad(
    Tensor<Y> const& output, GradientEdge const& input, GradOptions const& options = {}) {
    return grad(TensorsOrEdges{output}, TensorsOrEdges{input}, options)[0];
}

template <Scalar T> void Tensor<T>::backward() const {
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
