// Bodies of node.hpp.
#pragma once

#include <xgrad/autograd/node.hpp>

namespace xgrad {

XGRAD_FUNCTION void Node::pushforward(std::span<AnyTensor const>, std::span<AnyTensor>) {
    detail::fail<GraphError>(name(), ": there is no forward mode for this Node");
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> Node::saved_tensors() { return {}; }

namespace detail {

XGRAD_FUNCTION std::string backward_name(std::string_view operation) {
    std::string name(operation);
    name += "Backward";
    return name;
}

XGRAD_FUNCTION auto NodeHooks::OutputHooks::retain_grad() const -> RetainGrad {
    std::lock_guard const lock(mutex_);
    return retain_grad_;
}

XGRAD_FUNCTION auto NodeHooks::OutputHooks::exchange_retain_grad(RetainGrad f) noexcept
    -> RetainGrad {
    std::lock_guard const lock(mutex_);
    retain_grad_.swap(f);
    return f;
}

XGRAD_FUNCTION NodeHooks::~NodeHooks() {
    for (auto* o = outputs.load(std::memory_order_relaxed); o;)
        delete std::exchange(o, o->next.load(std::memory_order_relaxed));
}

XGRAD_FUNCTION void NodeHooks::destroy(NodeHooks* hooks) noexcept { delete hooks; }

XGRAD_FUNCTION NodeHooks& NodeHooks::made(Node& node) {
    auto* hooks = of(node);
    if (!hooks) {
        auto fresh = std::make_unique<NodeHooks>();
        if (node.hooks_.compare_exchange_strong(hooks, fresh.get(), std::memory_order_acq_rel))
            hooks = fresh.release();
    }
    return *hooks;
}

XGRAD_FUNCTION auto NodeHooks::at(Node& node, std::uint32_t output_nr) -> OutputHooks& {
    std::unique_ptr<OutputHooks> fresh;
    for (auto* link = &made(node).outputs;;) {
        auto* found = link->load(std::memory_order_acquire);
        if (!found) {
            if (!fresh) fresh = std::make_unique<OutputHooks>(output_nr);
            if (link->compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
                return *fresh.release();
        }
        if (found->output_nr == output_nr) return *found;
        link = &found->next;
    }
}

XGRAD_FUNCTION void NodeHooks::move_retain_grad(
    std::uint32_t output_nr, Node& to, std::uint32_t to_nr) {
    for (auto* o = outputs.load(std::memory_order_acquire); o;
         o = o->next.load(std::memory_order_acquire))
        if (o->output_nr == output_nr)
            at(to, to_nr).exchange_retain_grad(o->exchange_retain_grad(nullptr));
}

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
