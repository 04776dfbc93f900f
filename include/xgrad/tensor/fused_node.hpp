// FusedNode: the Node of one elementwise expression. It computes all gradients in one pass over the
// elements. apply_fused() chooses the route, from fast to general:
//
// - gradients that a full sum computed already (fused_sum.hpp);
// - apply_if_simple(): all operands are contiguous and have one shape, and are not many elements;
// - apply_in_loop(): any strides, shapes and element types (nd_loop.hpp; benchmark: broadcast).
//
// Read next: fused_gradient_node.hpp, for a recorded pass and for forward mode.
#pragma once

#include <xgrad/autograd/second_order.hpp>
#include <xgrad/tensor/fused_sum.hpp>

namespace xgrad::detail {

class LocalJacobian;

class FusedNode final : public FusedSum {
public:
    /// `over` is null without a fused sum; then `result` has the values of the expression.
    static Ref<Node> make(void const* expression, AnyTensor const* const* operands,
        BoundOperands const& in, SumOver const* over, AnyTensor const& result);

    XGRAD_FUNCTION std::span<AnyTensor> ready_gradients() override;

    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;

    XGRAD_FUNCTION bool apply_onto(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;

    /// Computes the gradients without recording.
    void apply_to(AnyTensor const& gradient, std::span<AnyTensor> results) {
        apply_fused(gradient, results);
    }
    /// One pass over dual numbers. For a batch of tangents one pass of the backward kernel, and a
    /// product for each operand and direction (local_jacobian.hpp).
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        ForwardMode::of(*this).push(*this, tangents, results);
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    /// With respect to these operands.
    [[gnu::cold]] LocalJacobian local_jacobian(OperandMask operands);

private:
    XGRAD_LAZY_BODY friend void link_second_order() noexcept;
    XGRAD_LAZY_BODY friend void link_forward_mode() noexcept;

    using FusedSum::FusedSum;

    XGRAD_FUNCTION void dispose() noexcept override;

    bool would_record(AnyTensor const& gradient) const;

    /// Computes the gradients in a recorded pass: their grad_fn is a FusedGradientNode.
    void apply_recorded(AnyTensor const& gradient, std::span<AnyTensor> results);
    class SavedArrays;
    void push_tangents(std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    /// True for a gradient without other references, so that a result may overwrite it.
    XGRAD_INLINE static bool is_free(AnyTensor const& gradient) {
        if (!gradient.defined() || !is_exclusive(gradient)) return false;
        auto const& t = *gradient.handle();
        return !t.view && !t.requires_grad && !t.grad_fn && !t.weak &&
               t.inference == inference_mode;
    }

    /// `buffer`: the gradient itself where is_free(): a result of its type overwrites it.
    void apply_fused(
        AnyTensor const& gradient, std::span<AnyTensor> results, AnyTensor* buffer = nullptr);
    void apply_spread(AnyTensor const& gradient, std::span<AnyTensor> results);
    void apply_shortest(
        AnyArray const& grad_outputs, std::span<AnyTensor> results, AnyTensor* buffer = nullptr);

    /// True where the gradients are computed already and no unpack hook could change a saved value.
    bool has_gradients_ready() const noexcept;
    /// Returns the gradients that are computed already. A further pass computes them again.
    std::span<AnyTensor> take_ready_gradients() noexcept;
    static void scale(std::span<AnyTensor> results, double factor);

    /// True for a contiguous grad_output. That of a fused sum may be one element.
    bool is_plain(AnyArray const& grad_outputs) const;
    /// True where all arrays that a kernel reads are contiguous and of the same shape.
    XGRAD_INLINE bool is_simple(AnyArray const& grad_outputs) const {
        if (contiguous_ && !saved_tensors_) [[likely]]
            return is_plain(grad_outputs);
        return is_simple_again(grad_outputs);
    }
    bool is_simple_again(AnyArray const& grad_outputs) const;

    /// Computes gradients of contiguous operands; adds to results that are defined. Returns false,
    /// without effect, for other operands.
    bool apply_if_simple(
        AnyArray const& grad_outputs, std::span<AnyTensor> results, AnyTensor* buffer = nullptr);

    /// Gradient of a sum of a plain tensor: grad_output, broadcast.
    void repeat(AnyArray const& grad_outputs, std::span<AnyTensor> results) const;

    /// grad_output is one element, repeated.
    void apply_scalar(std::byte** at, std::size_t count, OperandMask added_to) const;
    void apply_in_loop(
        AnyArray const& grad_outputs, std::span<AnyTensor> results, OperandMask added_to = 0) const;

    static constexpr std::size_t max_added_to =
        31; // operands: LoopFacts tells the first 64 of 2 n + 2 apart
    static constexpr double min_factor =
        1e-6; // limits of scaling computed gradients, against overflow and underflow
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/fused_node.ipp>
#endif
