// BackwardPass: the interface of a running backward pass to hooks: whether a Node is part of it,
// data of hooks that live as long as the pass, and callbacks for its end.
#pragma once

#include <any>
#include <vector>

#include <xgrad/base/error.hpp>
#include <xgrad/graph/node.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

namespace detail {

class BackwardPass {
public:
    inline BackwardPass() noexcept;
    BackwardPass(BackwardPass const&) = delete;
    BackwardPass& operator=(BackwardPass const&) = delete;
    inline virtual ~BackwardPass();

    /// True for a Node that this pass runs, or of which it captures a gradient.
    virtual bool reaches(Node const& node) const = 0;

    /// Runs the callbacks in the order of queueing. A callback may queue others.
    void run_callbacks() {
        for (std::size_t i = 0; i < callbacks_.size(); ++i) std::exchange(callbacks_[i], nullptr)();
    }
    void queue(std::function<void()> f) { callbacks_.push_back(std::move(f)); }
    std::any& hook_data(Identity of) {
        for (auto& [key, hook_data] : hook_data_)
            if (key == of) return hook_data;
        return hook_data_.emplace_back(of, std::any()).second;
    }

private:
    BackwardPass* outer_;
    std::vector<std::function<void()>> callbacks_;
    std::vector<std::pair<Identity, std::any>> hook_data_;
};

/// The innermost pass that the calling thread runs.
inline constinit thread_local BackwardPass* current_pass = nullptr;

inline BackwardPass::BackwardPass() noexcept : outer_(current_pass) { current_pass = this; }
inline BackwardPass::~BackwardPass() { current_pass = outer_; }

} // namespace detail

/// Calls f at the end of the running backward pass, after all gradients are accumulated, in the
/// order of queueing. Throws outside a pass: call it from a hook or a Node.
inline void queue_callback(std::function<void()> f) {
    if (!detail::current_pass)
        detail::fail<GraphError>("Final callbacks can only be installed during backward pass.");
    detail::current_pass->queue(std::move(f));
}

} // namespace xgrad
