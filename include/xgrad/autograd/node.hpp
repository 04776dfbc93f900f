// Node and Edge: the recorded graph.
// A Node is one recorded step. Its type is erased: the engine sees only apply() and the edges.
// Invariant: among the Nodes of a thread, an edge leads to a smaller sequence number, or to a leaf.
// Nodes are reference-counted. Releasing the last reference to a chain frees it without recursion
// (destroy_later), so a long chain cannot overflow the stack.
//
// Shapes: a gradient has the shape of the output of the Node that it belongs to.
// Gradients: apply() computes those of the inputs from those of the outputs, an undefined one
// stands for 0; pushforward() computes tangents of the outputs, in forward mode. Both are recorded
// in grad mode.
// Errors: saved() throws IndexError for a name that is not there. GraphError for a Node without
// forward mode, for a hook that returns another number of gradients, or one for an undefined
// gradient; a gradient of another shape is a ShapeError, one of another scalar type a TypeError. A
// hook with other parameters or results does not compile.
//
// Read next: any_tensor.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xgrad/autograd/hook.hpp>
#include <xgrad/core/dependence.hpp>
#include <xgrad/core/error.hpp>
#include <xgrad/core/memory.hpp>
#include <xgrad/core/ref.hpp>

namespace xgrad {

class AnyTensor;
class Node;
class SavedTensor;

namespace detail {
class GraphTask;
class NodeLock;
struct NodeHooks;
struct Origin;
struct TensorImpl;

/// What a backward pass knows of a Node.
struct PassState {
    std::uint32_t slot;        // index of its first gradient among those that arrived
    std::uint32_t pending = 1; // gradients that did not arrive yet
    bool captured = false;     // a gradient of its outputs is a capture
    bool needed = true;        // it runs: it leads to a captured gradient

    bool is_used() const noexcept { return needed || captured; }
};

inline constexpr std::uint64_t leaf_sequence =
    ~std::uint64_t{0}; // leaves run as soon as they are ready
inline constinit thread_local std::uint64_t next_sequence = 0;

/// How forward mode passes a Node: one tangent after the other, or a batch of them, with a leading
/// axis that the results also have; batches of a FusedNode and of a FusedGradientNode; or, without
/// choice, a backward pass, as forward mode would differentiate a backward that the user wrote, or
/// a checkpointed function at each Node.
enum class ForwardRule : std::uint8_t { one_tangent, batch, fused, fused_gradient, reverse };
} // namespace detail

/// Destination of a gradient: output `input_nr` of a Node.
struct Edge {
    detail::Ref<Node> function; // the Node; null where no gradient is wanted
    std::uint32_t input_nr = 0; // index of the output of that Node

    explicit operator bool() const noexcept { return static_cast<bool>(function); }
};

/// A saved tensor of a Node under its name in Node::formula(): "a", "b", ... for operands, "result"
/// for the result.
struct NamedSavedTensor {
    std::string name;    // such as "a" or "result"
    SavedTensor* tensor; // owned by the Node
};

/// Reads a saved tensor, or sets its pack and unpack hooks. It keeps the Node alive. See
/// saved_tensor.hpp.
class SavedTensorHandle;

/// A recorded operation. It computes the gradients of its inputs from the gradients of its outputs.
/// PyTorch has the same class as torch.autograd.graph.Node.
class Node : public detail::Cached {
public:
    Node(Node const&) = delete;
    Node& operator=(Node const&) = delete;
    inline virtual ~Node();

    /// Computes the gradients of the inputs (one for each edge) from the gradients of the outputs.
    /// An undefined tensor stands for zero.
    virtual void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) = 0;
    /// Forward mode: computes the tangents of the outputs from the tangents of the inputs (one for
    /// each edge). An undefined tensor stands for zero.
    XGRAD_FUNCTION virtual void pushforward(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);
    /// What pushforward() takes, and whether jacobian() may choose forward mode.
    virtual detail::ForwardRule forward_rule() const noexcept {
        return detail::ForwardRule::one_tangent;
    }
    /// On which elements of the inputs the outputs depend.
    virtual Dependence dependence() const noexcept { return Dependence::unknown; }
    /// The kept axes, of this edge, where input and output have these ranks: see kept_beside().
    virtual Axes kept_axes(std::size_t, std::size_t, std::size_t rank) const {
        return Axes(rank, -1);
    }
    /// "MulBackward": the outermost operation and what this Node is for.
    virtual std::string name() const = 0;
    /// The recorded expression, for instance "Add(Mul(Sin(a), b), Exp(c))". Each operand that is a
    /// tensor has a name of its own: a, b, ...
    virtual std::string formula() const { return name(); }
    /// Releases the saved tensors.
    virtual void release_saved() noexcept {}
    /// The saved tensors, also after they were released.
    virtual std::vector<NamedSavedTensor> saved_tensors() { return {}; }
    /// The saved tensor called `name`; throws IndexError where there is none.
    SavedTensorHandle saved(std::string const& name);

    /// Registers f to be called before this Node runs, after the tensor hooks. f takes the
    /// gradients of the outputs, a std::vector<AnyTensor> const&, and returns their replacement (an
    /// undefined tensor stands for zero), or nothing.
    template <class F> HookHandle register_prehook(F f);
    /// Registers f to be called after this Node has run. f takes the gradients of the inputs and of
    /// the outputs, two std::vector<AnyTensor> const&, and returns the replacement for the
    /// gradients of the inputs, or nothing.
    template <class F> HookHandle register_hook(F f);
    /// libtorch's name for register_prehook().
    template <class F> HookHandle add_pre_hook(F f) { return register_prehook(std::move(f)); }
    /// libtorch's name for register_hook().
    template <class F> HookHandle add_post_hook(F f) { return register_hook(std::move(f)); }

    /// Edges to the Nodes of the inputs. An input that requires no gradient has an empty edge in
    /// Nodes whose inputs are a list (cat(), stack(), custom Functions), and no edge in other
    /// Nodes.
    std::span<Edge const> next_edges() const noexcept { return {edges_, edge_count_}; }
    std::uint32_t num_outputs() const noexcept { return outputs_; }
    /// Increases with each Node that a thread records. An AccumulateGrad Node has the largest
    /// possible number.
    std::uint64_t sequence_nr() const noexcept { return sequence_; }

    detail::RefCount refs; // the number of references to this Node
    /// Ends a Node to which no reference is left.
    static void destroy(Node* node) noexcept { node->end(); }

protected:
    explicit Node(std::uint64_t sequence);
    Node() : Node(++detail::next_sequence) {}
    /// Called when the last reference is released.
    virtual void end() noexcept { destroy_later(this); }
    /// Destroys the Node and frees its memory.
    virtual void dispose() noexcept { delete this; }
    /// The derived class stores its edges and passes their address here.
    void set_edges(Edge* edges, std::size_t count) noexcept {
        edges_ = edges;
        edge_count_ = static_cast<std::uint32_t>(count);
    }
    void set_num_outputs(std::uint32_t n) noexcept { outputs_ = n; }
    /// apply() adds to results that are defined: contiguous sums, referenced only there, padded so.
    void set_accumulates(std::uint8_t padded_to) noexcept { accumulates_ = padded_to; }

private:
    friend class detail::GraphTask;
    friend struct detail::NodeHooks;
    friend class detail::NodeLock;
    friend struct detail::TensorImpl; // destroys the Node of a leaf

    static void destroy_later(Node* node) noexcept;

    std::uint32_t edge_count_ = 0;
    Edge* edges_ = nullptr;
    std::uint64_t sequence_;
    std::atomic<detail::NodeHooks*> hooks_{nullptr};
    std::atomic<detail::GraphTask*> task_{nullptr}; // the backward pass that state_ belongs to
    std::atomic<void const*> owner_{nullptr};       // owner of the NodeLock
    std::uint32_t outputs_ = 1;
    mutable detail::PassState state_{};
    static constexpr std::uint8_t never = 255;
    std::uint8_t accumulates_ = never;
};

namespace detail {

using Gradients = std::vector<AnyTensor>;

/// "Sin" becomes "SinBackward".
[[gnu::cold]] std::string backward_name(std::string_view operation);

/// Data that few Nodes have: hooks, and the source location where the Node was recorded. A tensor's
/// hooks stay with the Node that computed the value on which they were registered. Threads may
/// register hooks while others run the Node: all lists are lock-free or have a mutex. What the
/// engine asks of it is virtual, so that only programs that make a NodeHooks contain that code.
struct NodeHooks {
    class OutputHooks {
    public:
        using RetainGrad = std::function<void(AnyTensor const&)>;

        explicit OutputHooks(std::uint32_t nr) noexcept : output_nr(nr) {}

        std::uint32_t const output_nr;
        HookList<AnyTensor(AnyTensor const&)> tensor_hooks;
        std::atomic<OutputHooks*> next{nullptr};

        XGRAD_LAZY RetainGrad retain_grad() const;
        XGRAD_LAZY RetainGrad exchange_retain_grad(RetainGrad f) noexcept;

    private:
        mutable std::mutex mutex_;
        RetainGrad retain_grad_;
    };
    std::atomic<OutputHooks*> outputs{nullptr};
    HookList<Gradients(Gradients const& grad_outputs)> prehooks;
    HookList<Gradients(Gradients const& grad_inputs, Gradients const& grad_outputs)> posthooks;
    HookList<void(AnyTensor const& leaf)> post_accumulate;
    std::shared_ptr<Origin const> origin;

    virtual ~NodeHooks() = default;

    /// Calls the tensor hooks in order, and then stores the gradients for retain_grad().
    virtual void run_tensor_hooks(Node& node, std::span<AnyTensor> gradients) = 0;
    /// run_observed_node() for the Node that has these hooks.
    virtual void run(Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results,
        bool keep_saved) = 0;
    /// Text for messages: see origin_text().
    virtual std::string origin_text() const = 0;
    /// Throws VersionError with the message and where the Node was recorded.
    [[noreturn]] virtual void fail_changed(std::string const& message) const = 0;
    /// Moves what retain_grad() has set for an output to an output of another Node.
    virtual void move_retain_grad(std::uint32_t output_nr, Node& to, std::uint32_t to_nr) = 0;

    static NodeHooks* of(Node const& node) noexcept {
        return node.hooks_.load(std::memory_order_acquire);
    }
    XGRAD_LAZY static NodeHooks& made(Node& node);
    [[gnu::cold]] static void destroy(NodeHooks* hooks) noexcept;
    XGRAD_LAZY static OutputHooks& at(Node& node, std::uint32_t output_nr);
};

/// Identifies the owner of this thread's NodeLocks: the thread itself, or the thread for which it
/// continues a pass (run_on_fresh_stack() in engine.hpp).
inline constinit thread_local char const own_lock_identity = 0;
inline constinit thread_local void const* lock_identity = nullptr;

/// Lock of a Node: one thread at a time runs or releases it. Recursive: the owner may lock again.
/// Without a second thread it costs no atomic operation.
class NodeLock {
public:
    explicit NodeLock(Node& node) noexcept;
    NodeLock(NodeLock const&) = delete;
    NodeLock& operator=(NodeLock const&) = delete;
    ~NodeLock();

private:
    Node* held_ = nullptr;
};

} // namespace detail

inline Node::~Node() {
    if (auto* const hooks = hooks_.load(std::memory_order_relaxed)) [[unlikely]]
        detail::NodeHooks::destroy(hooks);
}

} // namespace xgrad
