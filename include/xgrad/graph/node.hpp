// Node and Edge: the recorded graph. A Node is one step, type-erased; its edges lead to the Nodes
// of its inputs, which all have smaller sequence numbers. Nodes are shared; the last owner's
// release frees a chain of any length without recursion.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xgrad/base/error.hpp>
#include <xgrad/base/memory.hpp>
#include <xgrad/base/ref.hpp>
#include <xgrad/graph/hook.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

class AnyTensor;
class Node;
class SavedTensor;

namespace detail {
class GraphTask;
class NodeLock;
struct NodeHooks;
struct Origin;

inline constexpr std::uint64_t leaf_sequence =
    ~std::uint64_t{0}; // leaves run as soon as they are ready
inline constinit thread_local std::uint64_t next_sequence = 0;
} // namespace detail

/// Where a gradient goes next: a Node, and which of that Node's outputs it is the gradient of.
struct Edge {
    detail::Ref<Node> function;
    std::uint32_t input_nr = 0;

    explicit operator bool() const noexcept { return static_cast<bool>(function); }
};

/// A saved tensor of a Node under its name in Node::formula(): "a", "b", ... for operands, "result"
/// for the result.
struct NamedSavedTensor {
    std::string name;
    SavedTensor* tensor;
};

/// Reads a saved tensor, or changes how it is kept; it keeps the Node alive. See saved_tensor.hpp.
class SavedTensorHandle;

class Node {
public:
    Node(Node const&) = delete;
    Node& operator=(Node const&) = delete;
    inline virtual ~Node();

    /// Gradients of the inputs (one for each edge) from the gradients of the outputs. An undefined
    /// tensor stands for zero.
    virtual void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) = 0;
    /// The gradients of the inputs for one real output whose gradient is 1, to be moved away, where
    /// the Node has them ready; none where it does not. They are there until the Node runs again,
    /// also once it has let go of what it saved.
    virtual std::span<AnyTensor> hand_over() { return {}; }
    /// apply() where some results are there already: sums in row-major order that nobody else
    /// holds, to which a Node adds what it would have made. False where it knows no such way, and
    /// then it has done nothing.
    virtual bool apply_onto(std::span<AnyTensor> /*gradients*/, std::span<AnyTensor> /*results*/) {
        return false;
    }
    /// Forward mode: tangents of the outputs from those of the inputs (one for each edge). An
    /// undefined tensor stands for zero.
    virtual void pushforward(
        std::span<AnyTensor const> /*tangents*/, std::span<AnyTensor> /*results*/) {
        detail::fail<GraphError>(name(), ": there is no forward mode for this Node");
    }
    /// "MulBackward": the outermost operation and what this Node is for.
    virtual std::string name() const = 0;
    /// The whole recorded formula, for instance "Add(Mul(Sin(a), b), Exp(c))": a letter for each
    /// place that holds a tensor.
    virtual std::string formula() const { return name(); }
    /// Lets go of what was saved for backward.
    virtual void release_saved() noexcept {}
    /// What was saved for backward, also once it was freed.
    virtual std::vector<NamedSavedTensor> saved_tensors() { return {}; }
    /// One of them by its name; throws IndexError where there is none.
    SavedTensorHandle saved(std::string const& name);

    /// Calls f with the gradients of this Node's outputs before it runs: f takes a
    /// std::vector<AnyTensor> const& and returns the gradients to go on with (an undefined one
    /// stands for zero), or nothing. Runs after the tensor hooks.
    template <class F> HookHandle register_prehook(F f);
    /// Calls f with the gradients of the inputs and those of the outputs after this Node has run: f
    /// takes two std::vector<AnyTensor> const& and returns the gradients of the inputs to go on
    /// with, or nothing.
    template <class F> HookHandle register_hook(F f);
    /// The same in libtorch's form.
    template <class F> HookHandle add_pre_hook(F f) { return register_prehook(std::move(f)); }
    /// The same in libtorch's form: f(gradients of the inputs, gradients of the outputs).
    template <class F> HookHandle add_post_hook(F f) { return register_hook(std::move(f)); }

    /// Edges to the Nodes of the inputs. An input that needs no gradient has none in the Node of an
    /// expression or of an operation on whole arrays, and an empty one where the inputs are a list:
    /// in the Nodes of cat() and stack(), and of custom Functions.
    std::span<Edge const> next_edges() const noexcept { return {edges_, edge_count_}; }
    std::uint32_t num_outputs() const noexcept { return outputs_; }
    /// Grows with each Node that a thread records; an AccumulateGrad Node has the largest possible.
    std::uint64_t sequence_nr() const noexcept { return sequence_; }

    detail::RefCount refs;
    static void destroy(Node* node) noexcept { node->end(); }

    static void* operator new(std::size_t bytes) { return detail::allocate(bytes); }
    static void* operator new(std::size_t, void* p) noexcept { return p; }
    static void operator delete(void* p, std::size_t bytes) noexcept {
        detail::deallocate(p, bytes);
    }
    static void operator delete(void*, void*) noexcept {}

protected:
    explicit Node(std::uint64_t sequence);
    Node() : Node(++detail::next_sequence) {}
    /// Called when nobody owns the Node any more.
    virtual void end() noexcept { destroy_later(this); }
    /// Destroys the Node and frees its memory.
    virtual void dispose() noexcept { delete this; }
    /// The derived Node holds its edges; this tells where.
    void set_edges(Edge* edges, std::size_t count) noexcept {
        edges_ = edges;
        edge_count_ = static_cast<std::uint32_t>(count);
    }
    void set_num_outputs(std::uint32_t n) noexcept { outputs_ = n; }

private:
    friend class detail::GraphTask;
    friend struct detail::NodeHooks;
    friend class detail::NodeLock;

    static void destroy_later(Node* node) noexcept;

    std::uint32_t edge_count_ = 0;
    Edge* edges_ = nullptr;
    std::uint64_t sequence_;
    std::atomic<detail::NodeHooks*> hooks_{nullptr};
    std::atomic<detail::GraphTask*> task_{
        nullptr}; // the backward pass that keeps its notes for this Node in slot_
    std::uint32_t slot_ = 0;
    std::uint32_t outputs_ = 1;
    std::atomic<void const*> owner_{nullptr}; // the thread that runs or releases this Node
};

namespace detail {

using Gradients = std::vector<AnyTensor>;

/// "SinBackward" for "Sin".
[[gnu::cold]] inline std::string backward_name(std::string_view operation) {
    std::string name(operation);
    name += "Backward";
    return name;
}

/// What only few Nodes have: hooks, and the place where they were recorded. A tensor's hooks stay
/// with the Node that made the value they were set on. Threads may set hooks while others run the
/// Node.
struct NodeHooks {
    class OutputHooks {
    public:
        using RetainGrad = std::function<void(AnyTensor const&)>;

        explicit OutputHooks(std::uint32_t nr) noexcept : output_nr(nr) {}

        std::uint32_t const output_nr;
        HookList<AnyTensor(AnyTensor const&)> tensor_hooks;
        std::atomic<OutputHooks*> next{nullptr};

        RetainGrad retain_grad() const {
            std::lock_guard const lock(mutex_);
            return retain_grad_;
        }
        RetainGrad exchange_retain_grad(RetainGrad f) noexcept {
            std::lock_guard const lock(mutex_);
            retain_grad_.swap(f);
            return f;
        }

    private:
        mutable std::mutex mutex_;
        RetainGrad retain_grad_;
    };
    std::atomic<OutputHooks*> outputs{nullptr};
    HookList<Gradients(Gradients const& grad_outputs)> prehooks;
    HookList<Gradients(Gradients const& grad_inputs, Gradients const& grad_outputs)> posthooks;
    HookList<void(AnyTensor const& leaf)> post_accumulate;
    std::shared_ptr<Origin const> origin;

    NodeHooks() noexcept = default;
    NodeHooks(NodeHooks const&) = delete;
    NodeHooks& operator=(NodeHooks const&) = delete;
    ~NodeHooks() {
        for (auto* o = outputs.load(std::memory_order_relaxed); o;)
            delete std::exchange(o, o->next.load(std::memory_order_relaxed));
    }

    static NodeHooks* of(Node const& node) noexcept {
        return node.hooks_.load(std::memory_order_acquire);
    }
    static NodeHooks& made(Node& node) {
        auto* hooks = of(node);
        if (!hooks) {
            auto fresh = std::make_unique<NodeHooks>();
            if (node.hooks_.compare_exchange_strong(hooks, fresh.get(), std::memory_order_acq_rel))
                hooks = fresh.release();
        }
        return *hooks;
    }
    static OutputHooks& at(Node& node, std::uint32_t output_nr) {
        std::unique_ptr<OutputHooks> fresh;
        for (auto* place = &made(node).outputs;;) {
            auto* found = place->load(std::memory_order_acquire);
            if (!found) {
                if (!fresh) fresh = std::make_unique<OutputHooks>(output_nr);
                if (place->compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
                    return *fresh.release();
            }
            if (found->output_nr == output_nr) return *found;
            place = &found->next;
        }
    }
};

/// Whose locks the calling thread shares: its own, or those of the thread for which it continues a
/// pass.
inline constinit thread_local char const own_lock_identity = 0;
inline constinit thread_local void const* lock_identity = nullptr;

/// While several threads run passes: one at a time runs or releases a Node. A thread may enter
/// again what it holds.
class NodeLock {
public:
    explicit NodeLock(Node& node) noexcept {
        if (single_threaded()) return;
        void const* const me = lock_identity ? lock_identity : &own_lock_identity;
        void const* before = nullptr;
        while (!node.owner_.compare_exchange_weak(before, me, std::memory_order_acquire)) {
            if (before == me) return;
            if (before) node.owner_.wait(before, std::memory_order_relaxed);
            before = nullptr;
        }
        held_ = &node;
    }
    NodeLock(NodeLock const&) = delete;
    NodeLock& operator=(NodeLock const&) = delete;
    ~NodeLock() {
        if (!held_) return;
        held_->owner_.store(nullptr, std::memory_order_release);
        held_->owner_.notify_one();
    }

private:
    Node* held_ = nullptr;
};

} // namespace detail

inline Node::~Node() { delete hooks_.load(std::memory_order_relaxed); }

/// A Node's end ends the Nodes that only it kept; they queue here instead of nesting.
inline void Node::destroy_later(Node* node) noexcept {
    struct Queue {
        Node* first = nullptr;
        bool running = false;
    };
    static constinit thread_local Queue queue;
    // the Node's own members are free for reuse: nobody else can see it
    node->edge_count_ = 0;
    node->edges_ = reinterpret_cast<Edge*>(queue.first);
    queue.first = node;
    if (queue.running) return;
    queue.running = true;
    while (Node* const next = queue.first) {
        queue.first = reinterpret_cast<Node*>(next->edges_);
        next->dispose();
    }
    queue.running = false;
}

} // namespace xgrad
