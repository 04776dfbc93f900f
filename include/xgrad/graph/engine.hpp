// The engine: runs Nodes from the newest to the oldest, each when all its gradients have arrived; adds what meets; hands
// captured gradients back. It holds no state between passes, so a pass may start inside another, and an exception leaves
// nothing behind. Read graph_task.hpp for how.
#pragma once

#include <xgrad/graph/graph_task.hpp>

namespace xgrad::detail {

/// True for a Node whose inputs are all different leaves: a whole graph of one Node.
inline bool leads_to_distinct_leaves(Node const& node)
{
    auto const edges = node.next_edges();
    if (edges.size() > 4) return false;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!edges[i]) continue;
        if (edges[i].function->sequence_nr() != leaf_sequence) return false;
        for (std::size_t j = 0; j < i; ++j)
            if (edges[j].function == edges[i].function) return false;
    }
    return true;
}

/// The pass over such a graph, which needs no notes.
inline void run_single_node(Root& root, bool keep_graph)
{
    Node& node = *root.edge.function;
    std::span const gradients(&root.gradient, 1);
    run_tensor_hooks(node, gradients);
    auto const edges = node.next_edges();
    LocalArray<AnyTensor, 4> results(edges.size());
    node.apply(gradients, results.span());
    if (!keep_graph) node.release_saved();
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!edges[i]) continue;
        std::span const result(&results[i], 1);
        run_tensor_hooks(*edges[i].function, result);
        edges[i].function->apply(result, {});
    }
}

/// One backward pass. With captures only what leads to them runs. What the Nodes saved is freed unless keep_graph; with
/// create_graph the pass itself is recorded.
inline void run_backward(std::span<Root> roots, std::span<Capture> captures, bool keep_graph, bool create_graph)
{
    AutoGradMode const mode(create_graph);
    if (roots.size() == 1 && captures.empty() && roots[0].edge.function->num_outputs() == 1 && leads_to_distinct_leaves(*roots[0].edge.function))
        return run_single_node(roots[0], keep_graph);
    GraphTask(captures, keep_graph).run(roots);
}

}  // namespace xgrad::detail
