// AccumulateGrad: the Node of a leaf. It adds the gradient that arrives to .grad.
// The leaf owns the Node. References to the Node count as one reference to the leaf, so that an
// edge keeps the leaf alive without a cycle. The leaf's destructor ends the Node.
// Read next: saved_tensor.hpp.
#pragma once

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/autograd/mode.hpp>

namespace xgrad::detail {

/// True for a contiguous gradient without other references: it can become .grad or a sum without a
/// copy.
XGRAD_INLINE bool can_be_taken(AnyTensor const& gradient) noexcept {
    return is_exclusive(gradient) && gradient.handle()->array.contiguous;
}

/// Adds a gradient to `grad`: in place without grad mode, unless elements of `grad` overlap, and
/// out of place otherwise. A first gradient is moved into `grad` where can_be_taken(), and copied
/// otherwise. A gradient that is a view of a base without other references stops being a view.
void accumulate(AnyTensor& grad, AnyTensor gradient);

/// Adds to a sum that may be undefined; recorded in grad mode.
void add_to(AnyTensor& sum, AnyTensor const& more);

class AccumulateGrad final : public Node {
public:
    explicit AccumulateGrad(TensorImpl& leaf) : Node(leaf_sequence), leaf_(&leaf) {}

    /// The caller has the NodeLock, so that threads accumulate into a leaf one after the other.
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor>) override {
        accumulate_gradient(gradients[0]);
    }
    void accumulate_gradient(AnyTensor& gradient);
    std::string name() const override { return "AccumulateGrad"; }

    /// False where requires_grad was set to false after this Node was recorded.
    bool accumulates_gradient() const noexcept { return leaf_->requires_grad; }
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
    [[gnu::cold]] static AccumulateGrad* made(TensorImpl& leaf);
    void add(AnyTensor gradient);
    void end() noexcept override {
        if (leaf_->refs.decrement()) TensorImpl::destroy(leaf_);
    }

    TensorImpl* leaf_;
};

/// True for an AccumulateGrad.
inline bool is_leaf(Node const& node) noexcept { return node.sequence_nr() == leaf_sequence; }

/// A hook of a leaf may have the last reference to another leaf, whose hook to the next one.
XGRAD_INLINE TensorImpl::~TensorImpl() {
    if (auto* const node = accumulator.load(std::memory_order_relaxed)) Node::destroy_later(node);
}

[[noreturn, gnu::cold]] void fail_two_libraries();

/// The edge along which the gradient of a tensor is sent: to its grad_fn, to the AccumulateGrad of
/// a leaf, or an empty edge.
[[gnu::always_inline]] inline Edge gradient_edge(AnyTensor const& t) {
    auto& impl = current(t.impl());
    if (!impl.grad_fn && !impl.requires_grad) return {};
    if (impl.type->library != &library_identity<XGRAD_VERSION>) [[unlikely]]
        fail_two_libraries();
    if (impl.grad_fn) return {impl.grad_fn, impl.output_nr};
    return AccumulateGrad::edge(impl);
}

/// A second tensor of the same memory with the current grad_fn of t. A later in-place change gives
/// t, but not the snapshot, another grad_fn. For a leaf the grad_fn is its AccumulateGrad.
AnyTensor snapshot(AnyTensor const& t);

} // namespace xgrad::detail
