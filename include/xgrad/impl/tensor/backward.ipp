// Bodies of backward.hpp.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/tensor/backward.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void check_implicit_gradient(
    TypeInfo const& type, Shape const& shape, std::size_t index) {
    if (numel(shape) != 1)
        fail<GraphError>("grad can be implicitly created only for scalar outputs, but output ",
            index, " has shape ", shape,
            xgrad::is_complex(type.dtype)
                ? "; pass a gradient, or take sum() of real() or abs2() first"
                : "; pass a gradient, or take sum() or mean() first");
    if (xgrad::is_complex(type.dtype))
        fail<GraphError>("grad can be implicitly created only for real scalar outputs but got ",
            name(type.dtype), "; pass a gradient, or take real() or abs2() first");
}

XGRAD_LAZY_BODY Root root_at(
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

XGRAD_LAZY_BODY void check_count(std::size_t outputs, std::vector<AnyTensor> const& gradients) {
    if (!gradients.empty() && gradients.size() != outputs)
        fail<GraphError>("got ", outputs, " tensors and ", gradients.size(), " gradients");
}

XGRAD_LAZY_BODY CachedVector<Root> roots_of(std::string_view operation,
    TensorsOrEdges const& outputs, std::vector<AnyTensor> const& gradients) {
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

XGRAD_LAZY_BODY Capture capture_at(Edge edge, bool also_run) {
    if (!edge) fail<GraphError>("One of the differentiated Tensors does not require grad");
    return {std::move(edge), also_run};
}

XGRAD_LAZY_BODY CachedVector<Capture> captures_of(
    std::string_view operation, TensorsOrEdges const& inputs, bool also_run) {
    CachedVector<Capture> captures;
    captures.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!inputs[i].defined()) fail_undefined(operation, "input", i);
        else captures.push_back(capture_at(inputs[i].edge(), also_run));
    return captures;
}

XGRAD_LAZY_BODY AnyTensor delivered(
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

XGRAD_LAZY_BODY void forbid_differentiation(
    CachedVector<Edge> const& outputs, AnyTensor& gradient) {
    set_error(
        "grad: this gradient was computed without a graph inside of a function, or of a pass, "
        "that is differentiated itself. Give .create_graph = true to differentiate it as "
        "well, or .create_graph = false to take it for a constant",
        outputs, {}, {&gradient, 1});
}

XGRAD_LAZY_BODY void run_to_inputs(
    std::span<Root> roots, std::span<Capture> captures, bool keep_graph, bool create_graph) {
    allow_nested_passes();
    run_backward(roots, {captures, &discover_needed}, keep_graph, create_graph);
    for (auto& capture : captures)
        if (auto& g = capture.gradient; g.defined() && !g.impl().array.contiguous) [[unlikely]] {
            AutoGradMode const mode(create_graph);
            g = g.impl().type->copy(g);
        }
}

XGRAD_LAZY_BODY void run_grad(
    std::span<Root> roots, std::span<Capture> captures, GradOptions const& options) {
    bool const forbids =
        forbids_differentiation(options); // keeps the graph: tangents pass it before the ErrorNode
    run_to_inputs(roots, captures, options.retain_graph.value_or(options.create_graph || forbids),
        options.create_graph);
    if (!forbids) [[likely]]
        return;
    CachedVector<Edge> edges;
    for (auto const& root : roots) edges.push_back(root.edge);
    for (auto& capture : captures) forbid_differentiation(edges, capture.gradient);
}

XGRAD_LAZY_BODY std::size_t batch_size(
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

XGRAD_LAZY_BODY std::vector<AnyTensor> batched_grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions options) {
    auto batched = std::exchange(options.gradients, {});
    std::size_t const rows = batch_size(outputs, batched);
    bool const keep_graph = options.retain_graph.value_or(options.create_graph);
    CachedVector<Edge> edges;
    if (forbids_differentiation(options))
        for (auto const& output : outputs) edges.push_back(output.edge());
    PassMode const mode(options.create_graph);
    GradOptions one{.create_graph = options.create_graph, .allow_unused = true};
    std::vector<std::optional<RowStack>> stacks(inputs.size());
    for (std::size_t row = 0; row < rows; ++row) {
        one.gradients.clear();
        for (auto const& g : batched)
            one.gradients.push_back(slice_of("Select", g, {0, row, 1, false}));
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
        results.push_back(delivered(stacks[i] ? stacks[i]->finish()
                                    : rows    ? AnyTensor()
                                              : inputs[i].type()->filled(shape, 0),
            inputs[i].type(), shape, options));
        forbid_differentiation(edges, results[i]);
    }
    return results;
}

XGRAD_LAZY_BODY void grad_into(AnyTensor* gradients, AnyTensor const& output,
    std::span<AnyTensor const* const> inputs, GradOptions const& options) {
    if (inputs.empty() || options.is_grads_batched) {
        std::vector<AnyTensor> all;
        for (auto const* x : inputs) all.push_back(*x);
        auto found = grad(TensorsOrEdges{output}, TensorsOrEdges(all), options);
        std::move(found.begin(), found.end(), gradients);
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

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY void backward(TensorsOrEdges const& outputs,
    std::vector<AnyTensor> const& gradients, BackwardOptions const& options) {
    auto roots = detail::roots_of("backward", outputs, gradients);
    if (options.inputs.empty() && options.inputs.given())
        detail::fail<GraphError>("'inputs' argument to backward() cannot be empty.");
    auto captures = detail::captures_of("backward", options.inputs, true);
    if (options.create_graph)
        detail::warn("Using backward() with create_graph=True will create a reference cycle "
                     "between the parameter and its gradient which can cause a memory leak. Use "
                     "xgrad::grad() when creating the graph to avoid this, or let the .grad fields "
                     "go after use.");
    detail::run_backward(roots, {captures, &detail::discover_needed},
        options.retain_graph.value_or(options.create_graph), options.create_graph);
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

XGRAD_LAZY_BODY std::vector<AnyTensor> grad(
    TensorsOrEdges const& outputs, TensorsOrEdges const& inputs, GradOptions const& options) {
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

} // namespace xgrad
