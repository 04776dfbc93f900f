// Bodies of node.hpp.
#pragma once

#include <xgrad/autograd/anomaly.hpp>
#include <xgrad/autograd/node.hpp>

namespace xgrad {

XGRAD_FUNCTION Node::Node(std::uint64_t sequence) : sequence_(sequence) {
    if (detail::anomaly.functions) [[unlikely]]
        detail::anomaly.functions->record_origin(*this);
}

XGRAD_FUNCTION void Node::pushforward(std::span<AnyTensor const>, std::span<AnyTensor>) {
    detail::fail<GraphError>(name(), ": there is no forward mode for this Node");
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
