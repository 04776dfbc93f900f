// The engine: runs each Node after all its gradients have arrived, the newest Node first,
// accumulates gradients that meet, and returns captured gradients. Its state belongs to one pass,
// so a pass may start inside another one, and an exception leaves nothing to clean up.
//
// Gradients: complete when a callback of queue_callback() runs.
// Errors: queue_callback() throws GraphError outside of a backward pass. What a callback throws
// leaves backward() or grad().
//
// Read next: impl/autograd/graph_task.ipp.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/autograd/gradient_edge.hpp>
#include <xgrad/autograd/run_node.hpp>

namespace xgrad {

namespace detail {

/// Where a pass starts: an output and its grad_output. An undefined gradient stands for 1. The
/// shape must outlive the Root.
struct Root {
    Edge edge;
    AnyTensor gradient;
    TypeInfo const& type;
    Shape const& shape;

    void define();
};

/// A gradient that the pass returns: that of output `input_nr` of `function`. With `also_run` the
/// Node runs as well.
struct Capture {
    Edge edge;
    bool also_run = false;
    AnyTensor gradient = {};
};

class GraphTask;
/// Captures, and discover_needed(): a pointer, so that only programs with captures contain it.
struct Captures {
    std::span<Capture> all = {};
    void (*discover)(GraphTask& task, std::span<Root const> roots) = nullptr;
};

/// Runs one backward pass. With captures, only Nodes on a path to a captured gradient run. Without
/// keep_graph, Nodes release their saved tensors. With create_graph the pass is recorded. A pass
/// may start inside another one: every 64 levels the next one continues on a new stack. The pass
/// stops at Nodes with a sequence number below `oldest`: the caller knows that they lead to no
/// capture.
void run_backward(std::span<Root> roots, Captures captures, bool keep_graph, bool create_graph,
    std::uint64_t oldest = 0);
/// Runs a pass on the stack of a new thread with the thread-local variables of this one. Rethrows
/// what it throws.
XGRAD_LAZY [[gnu::cold]] void run_on_fresh_stack(std::span<Root> roots, Captures captures,
    bool keep_graph, bool create_graph, std::uint64_t oldest);
/// run_on_fresh_stack(), in programs that call allow_nested_passes(): only these contain it.
inline constinit std::atomic<decltype(&run_backward)> on_fresh_stack{nullptr};
XGRAD_LAZY void allow_nested_passes() noexcept;
void discover_needed(GraphTask& task, std::span<Root const> roots);

/// The innermost pass that the calling thread runs.
inline constinit thread_local GraphTask* current_pass = nullptr;

/// True for a Node that the running pass runs, or of which it captures a gradient.
bool pass_reaches(Node const& node);
/// What hooks and checkpoints leave with a pass, and that of the innermost forward pass.
using PassData = std::vector<std::pair<Identity, std::shared_ptr<void>>>;
inline constinit thread_local PassData* forward_data = nullptr;
/// Data of a hook, which live as long as the running pass; null at first.
XGRAD_LAZY std::shared_ptr<void>& pass_data(Identity of);
/// Calls f where an exception ends the running pass, as the handler of that exception:
/// std::current_exception() is it. f must not throw.
XGRAD_LAZY void on_pass_failure(std::function<void()> f);

} // namespace detail

/// Calls f at the end of the running backward pass, after all gradients are accumulated, in the
/// order of queueing. Throws outside a pass: call it from a hook or a Node.
XGRAD_LAZY void queue_callback(std::function<void()> f);

} // namespace xgrad
