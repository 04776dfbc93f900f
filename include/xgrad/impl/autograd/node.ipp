// Bodies of node.hpp and accumulate_grad.hpp.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/anomaly.hpp>
#include <xgrad/autograd/node.hpp>

namespace xgrad::detail {

XGRAD_NOINLINE XGRAD_FUNCTION void fail_two_libraries() {
    fail<GraphError>("xgrad is there twice: this tensor is of another program or library, whose "
                     "grad mode and passes this one does not see; link xgrad::compiled as a "
                     "shared library (docs/libraries.md)");
}

XGRAD_FUNCTION void accumulate(AnyTensor& grad, AnyTensor gradient) {
    if (auto& view = gradient.impl().view; view && !grad_mode && view->base->refs.load() == 1)
        view.reset();
    if (grad.defined()) {
        if (grad.is_inference() && !inference_mode)
            fail<GraphError>(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can "
                "make a clone to get a normal tensor before doing inplace "
                "update. The tensor is a .grad that backward() made in InferenceMode.");
        if (grad_mode || overlaps_itself(grad.impl().array))
            grad = grad.impl().type->add(grad, gradient);
        else grad.impl().type->add_in_place(grad, gradient);
    } else if (can_be_taken(gradient)) grad = std::move(gradient);
    else grad = gradient.impl().type->copy(gradient);
}

XGRAD_FUNCTION void add_to(AnyTensor& sum, AnyTensor const& more) {
    sum = sum.defined() ? sum.impl().type->add(sum, more) : more;
}

XGRAD_FUNCTION void AccumulateGrad::accumulate_gradient(AnyTensor& gradient) {
    if (!gradient.defined() || !accumulates_gradient()) return;
    if (!leaf_->grad && can_be_taken(gradient)) leaf_->grad = std::move(gradient).handle();
    else add(std::move(gradient));
}

XGRAD_FUNCTION AccumulateGrad* AccumulateGrad::made(TensorImpl& leaf) {
    AccumulateGrad* node = nullptr;
    auto* const fresh = new AccumulateGrad(leaf);
    if (leaf.accumulator.compare_exchange_strong(node, fresh, std::memory_order_acq_rel))
        return fresh;
    delete fresh;
    return node;
}

XGRAD_NOINLINE XGRAD_FUNCTION void AccumulateGrad::add(AnyTensor gradient) {
    AnyTensor grad(std::move(leaf_->grad));
    try {
        accumulate(grad, std::move(gradient));
    } catch (...) {
        leaf_->grad = std::move(grad).handle();
        throw;
    }
    leaf_->grad = std::move(grad).handle();
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION Node::Node(std::uint64_t sequence) : sequence_(sequence) {
    if (detail::anomaly.functions) [[unlikely]]
        detail::anomaly.functions->record_origin(*this);
}

XGRAD_FUNCTION void Node::pushforward(std::span<AnyTensor const>, std::span<AnyTensor>) {
    detail::fail<GraphError>(name(), ": there is no forward mode for this Node");
}

XGRAD_FUNCTION Axes Node::kept_axes(std::size_t, std::size_t, std::size_t rank) const {
    return Axes(rank, -1);
}

namespace detail {

XGRAD_FUNCTION std::string backward_name(std::string_view operation) {
    return std::string(operation) += "Backward";
}

XGRAD_FUNCTION void NodeHooks::destroy(NodeHooks* hooks) noexcept { delete hooks; }

XGRAD_FUNCTION NodeLock::NodeLock(Node& node) noexcept {
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

XGRAD_FUNCTION NodeLock::~NodeLock() {
    if (!held_) return;
    held_->owner_.store(nullptr, std::memory_order_release);
    held_->owner_.notify_one();
}

} // namespace detail

/// Destroying a Node releases the Nodes that only it refers to. They are queued here, so that
/// destruction is a loop and not a recursion.
XGRAD_FUNCTION void Node::destroy_later(Node* node) noexcept {
    struct Queue {
        Node* first = nullptr;
        bool running = false;
    };
    static constinit thread_local Queue queue;
    // nobody refers to the Node any more: edges_ becomes the link of the queue
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
