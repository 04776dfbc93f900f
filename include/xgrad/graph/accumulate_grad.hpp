// AccumulateGrad: the Node at a leaf, which adds what arrives into .grad. It lives inside its leaf:
// while an edge leads to it, it keeps the leaf alive, and it is freed with the leaf.
#pragma once

#include <xgrad/graph/any_tensor.hpp>
#include <xgrad/graph/mode.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// True for a gradient that nobody else holds, so that it can become a .grad itself.
XGRAD_INLINE bool can_be_taken(AnyTensor const& gradient) noexcept {
    return is_exclusive(gradient) && gradient.handle()->array.contiguous;
}

/// Adds a gradient into `grad`. Without grad mode the sum is made in place, unless elements share a
/// place; a first gradient that nobody else holds is taken over, any other is copied. A view of
/// what nobody else holds is no view any more.
inline void accumulate(AnyTensor& grad, AnyTensor gradient) {
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

/// Adds to a sum that may not have begun; recorded in grad mode.
inline void add_to(AnyTensor& sum, AnyTensor const& more) {
    sum = sum.defined() ? sum.impl().type->add(sum, more) : more;
}

class AccumulateGrad final : public Node {
public:
    explicit AccumulateGrad(TensorImpl& leaf) : Node(leaf_sequence), leaf_(&leaf) {}

    /// Called with the NodeLock, so that threads which share a leaf add one after the other.
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor>) override {
        collect(gradients[0]);
    }
    void collect(AnyTensor& gradient) {
        if (!gradient.defined() || !collects()) return;
        if (!leaf_->grad && can_be_taken(gradient)) leaf_->grad = std::move(gradient).handle();
        else add(std::move(gradient));
    }
    std::string name() const override { return "AccumulateGrad"; }

    /// False where requires_grad was turned off since this Node was recorded.
    bool collects() const noexcept { return leaf_->requires_grad; }
    /// The leaf whose .grad this Node fills.
    AnyTensor variable() const { return AnyTensor(Ref<TensorImpl>(leaf_)); }

    /// The edge to a leaf's AccumulateGrad.
    [[gnu::always_inline]] static Edge edge(TensorImpl& leaf) {
        auto* node = leaf.accumulator.load(std::memory_order_acquire);
        if (!node) [[unlikely]]
            node = made(leaf);
        if (node->refs.increment() == 0) leaf.refs.increment();
        return {Ref<Node>::adopt(node), 0};
    }

private:
    [[gnu::cold]] static AccumulateGrad* made(TensorImpl& leaf) {
        AccumulateGrad* node = nullptr;
        auto* const fresh = new AccumulateGrad(leaf);
        if (leaf.accumulator.compare_exchange_strong(node, fresh, std::memory_order_acq_rel))
            return fresh;
        delete fresh;
        return node;
    }
    [[gnu::noinline]] void add(AnyTensor gradient) {
        AnyTensor grad(std::move(leaf_->grad));
        try {
            accumulate(grad, std::move(gradient));
        } catch (...) {
            leaf_->grad = std::move(grad).handle();
            throw;
        }
        leaf_->grad = std::move(grad).handle();
    }
    void end() noexcept override {
        if (leaf_->refs.decrement()) TensorImpl::destroy(leaf_);
    }

    TensorImpl* leaf_;
};

/// True for an AccumulateGrad.
inline bool is_leaf(Node const& node) noexcept { return node.sequence_nr() == leaf_sequence; }

inline TensorImpl::~TensorImpl() { delete accumulator.load(std::memory_order_relaxed); }

/// Where the gradient of a tensor goes: to the Node that made it, to the leaf's AccumulateGrad, or
/// nowhere.
[[gnu::always_inline]] inline Edge gradient_edge(AnyTensor const& t) {
    auto& impl = current(t.impl());
    if (impl.grad_fn) return {impl.grad_fn, impl.output_nr};
    if (impl.requires_grad) return AccumulateGrad::edge(impl);
    return {};
}

/// Another tensor of the same memory with the history that this one has now, which a view may not
/// keep; a leaf's is where its gradient is collected.
inline AnyTensor snapshot(AnyTensor const& t) {
    AnyTensor a = alias(t);
    auto history = gradient_edge(t);
    a.impl().grad_fn = std::move(history.function);
    a.impl().output_nr = history.input_nr;
    return a;
}

} // namespace xgrad::detail
