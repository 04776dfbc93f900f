// The engine: runs Nodes from the newest to the oldest, each when all its gradients have arrived; adds what meets; hands
// captured gradients back. It holds no state between passes, so a pass may start inside another, and an exception leaves
// nothing behind. Read graph_task.hpp for how.
#pragma once

#include <xgrad/graph/graph_task.hpp>

namespace xgrad::detail {

/// One backward pass. With captures only what leads to them runs. What the Nodes saved is freed unless keep_graph; with
/// create_graph the pass itself is recorded.
inline void run_backward(std::span<Root> roots, std::span<Capture> captures, bool keep_graph, bool create_graph)
{
    AutoGradMode const mode(create_graph);
    GraphTask(roots, captures, keep_graph).run(roots);
}

}  // namespace xgrad::detail
