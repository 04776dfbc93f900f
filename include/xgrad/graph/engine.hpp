// The engine: runs each Node after all its gradients have arrived, the newest Node first,
// accumulates gradients that meet, and returns captured gradients (graph_task.hpp). Its state
// belongs to one pass, so a pass may start inside another one, and an exception leaves nothing to
// clean up.
#pragma once

#include <xgrad/graph/graph_task.hpp>

namespace xgrad::detail {

inline constinit thread_local std::size_t pass_depth = 0;
inline constexpr std::size_t passes_per_stack = 64;

/// Runs one backward pass. With captures, only Nodes on a path to a captured gradient run. Without
/// keep_graph, Nodes release their saved tensors. With create_graph the pass is recorded. A pass
/// may start inside another one: every 64 levels the next one continues on a new stack. The pass
/// stops at Nodes with a sequence number below `oldest`: the caller knows that they lead to no
/// capture.
void run_backward(std::span<Root> roots, std::span<Capture> captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest = 0);

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/graph/engine.ipp>
#endif
