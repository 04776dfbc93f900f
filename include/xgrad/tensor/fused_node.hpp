// FusedNode: the Node of one elementwise expression. It computes all gradients in one pass over the
// elements. Compiled once for all expressions: a table of function pointers (RecordTable) and the
// OperandPlan describe the expression.
//
// One memory block: the object, saved tensors, edges, flattened expression, and, under a fused sum,
// a SumOver and a gradient for each edge. The plan has the offsets.
//
// A full sum computes its gradients in the same pass as its value, for a grad_output of 1
// (benchmark: rational, rows "hand, 1 pass" and "hand, 2 passes"): apply() scales them, or runs the
// pass again. The rule has no state: every full sum of a real expression does it.
//
// Read next: fused_gradient_node.hpp, for a recorded pass and for forward mode.
#pragma once

#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/autograd/second_order.hpp>
#include <xgrad/fuse/kernel_call.hpp>
#include <xgrad/tensor/operand_plan.hpp>

namespace xgrad::detail {

class LocalJacobian;

/// Opens saved tensors for a pass of their Node: those for which is_saved(index). Closes at its end
/// what it had to unpack.
class UnpackGuard {
public:
    template <class F>
    UnpackGuard(std::span<SavedTensor> saved, Node const& owner, F is_saved) : UnpackGuard() {
        for (std::size_t i = 0; i < saved.size(); ++i)
            if (is_saved(i)) {
                opened_.push_back(&saved[i]);
                if (!saved[i].open(owner)) opened_.pop_back();
            }
    }
    UnpackGuard(UnpackGuard const&) = delete;
    UnpackGuard& operator=(UnpackGuard const&) = delete;
    ~UnpackGuard() {
        for (auto* const saved : opened_) saved->close();
    }

private:
    UnpackGuard() noexcept = default;

    CachedVector<SavedTensor*> opened_;
};

class alignas(16) FusedNode final : public Node {
public:
    /// `over` is null without a fused sum; then `result` has the values of the expression.
    static Ref<Node> make(void const* expression, AnyTensor const* const* operands,
        BoundOperands const& in, SumOver const* over, AnyTensor const& result);

    /// True where a full sum that is recorded computes its gradients too.
    static bool sums_at_once(BoundOperands const& in) {
        return in.count() != 0 && !default_packing;
    }
    /// Computes the scaled sum; stores its gradients until backward().
    double sum_at_once(BoundOperands const& in);

    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    /// Computes the gradients without recording. A result may be moved from the gradient.
    void apply_unrecorded(AnyTensor& gradient, std::span<AnyTensor> results);
    /// One pass over dual numbers. For a batch of tangents one pass of the backward kernel, and a
    /// product for each operand and direction (LocalJacobian).
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        ForwardMode::of(*this).push(*this, tangents, results);
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::fused; }
    /// With respect to these operands.
    XGRAD_LAZY [[gnu::cold]] LocalJacobian local_jacobian(
        OperandMask operands, AnyArray const* into = nullptr);

    [[gnu::cold]] XGRAD_FUNCTION std::string name() const override;
    [[gnu::cold]] XGRAD_FUNCTION std::string formula() const override;
    XGRAD_FUNCTION void release_saved() noexcept override;
    [[gnu::cold]] XGRAD_FUNCTION std::vector<NamedSavedTensor> saved_tensors() override;

    // Read by second derivatives.
    RecordTable const& table() const noexcept { return plan_.table; }
    void const* expression_object() const noexcept { return part<std::byte>(plan_.expression_at); }
    SumOver const* sum() const noexcept { return sum_; }
    /// The broadcast shape of all operands.
    Shape const& space() const noexcept { return space_; }
    /// The number of elements of space().
    std::size_t count() const noexcept { return count_; }
    std::size_t operand_count() const noexcept { return table().kernels.operand_count; }
    Shape const& operand_shape(std::size_t k) const;
    GradientTargets const& gradients() const noexcept { return plan_.gradients; }
    OperandMask wanted() const noexcept { return gradients().wanted; }
    bool makes_gradient(std::size_t k) const { return plan_.makes_gradient(k); }
    bool is_read(std::size_t k) const { return plan_.read >> k & 1; }
    bool is_broadcast(std::size_t k) const { return broadcast_ >> k & 1; }
    bool saves_result() const noexcept { return plan_.reads.result; }
    std::size_t first_of(std::size_t k) const { return plan_.pattern.first[k]; }
    std::size_t target_of(std::size_t k) const { return plan_.gradients.target[k]; }
    std::size_t edge_of(std::size_t k) const { return plan_.edge[target_of(k)]; }
    /// The values of operands that the gradients read, and of a saved result, during the life of a
    /// guard. `zeros` stand for the other operands, in their shapes.
    void bind_saved(KernelCall& call, std::byte* zeros = nullptr) const;
    /// The tangents of operands, from those of the edges. `aligned` has what belongs to a batch.
    XGRAD_LAZY void bind_tangents(KernelCall& call, std::span<AnyTensor const> tangents,
        CachedVector<AnyArray>& aligned) const;
    /// Runs a pass over dual numbers, and returns the tangent of the result.
    XGRAD_LAZY AnyTensor run_for_tangent(KernelCall& call) const;
    AnyTensor unpack_operand(std::size_t k) { return completed()[plan_.slot[k]].unpack(*this); }
    AnyTensor unpack_result() { return completed()[plan_.slots].unpack(*this); }

private:
    XGRAD_LAZY_BODY friend void link_second_order() noexcept;
    XGRAD_LAZY_BODY friend void link_forward_mode() noexcept;

    /// Makes all parts of the block but the edges. `bare`: tensors may be saved bare; it
    /// becomes false where not all are saved.
    FusedNode(void const* expression, AnyTensor const* const* operands, BoundOperands const& in,
        SumOver const* over, AnyTensor const& result, bool& bare);
    /// Delegates to the other: where it throws, the destructor ends what there is.
    FusedNode(void const* expression, AnyTensor const* const* operands, BoundOperands const& in,
        SumOver const* over, AnyTensor const& result, bool&& bare);
    ~FusedNode() override { end_parts(); }
    void end_parts() noexcept;
    XGRAD_FUNCTION void dispose() noexcept override;

    /// A part of the block, so many bytes from the end of the object.
    template <class T> T* part(std::size_t at) const noexcept {
        return reinterpret_cast<T*>(
            reinterpret_cast<std::byte*>(const_cast<FusedNode*>(this) + 1) + at);
    }
    SavedTensor* saved() const noexcept { return part<SavedTensor>(0); }
    Edge* edges() const noexcept { return part<Edge>(plan_.edges_at); }
    AnyTensor* early() const noexcept { return part<AnyTensor>(plan_.sum_at + sizeof(SumOver)); }
    static std::size_t block_bytes(OperandPlan const& plan, bool sums) {
        return sizeof(FusedNode) + (sums ? plan.bytes_with_sum : plan.bytes);
    }

    void save_shapes(BoundOperands const& in);
    /// The saved tensors, with all that unpack() and messages tell of them.
    [[gnu::cold]] SavedTensor* completed();
    /// Prepares the saved tensors for a pass. Where all are intact, nothing is to be done.
    UnpackGuard open_saved() {
        return {
            is_intact() ? std::span<SavedTensor>() : std::span(completed(), plan_.saved_tensors()),
            *this, [](std::size_t) { return true; }};
    }
    bool would_record(AnyTensor const& gradient);
    /// Computes the gradients in a recorded pass: their grad_fn is a FusedGradientNode.
    XGRAD_LAZY void apply_recorded(AnyTensor const& gradient, std::span<AnyTensor> results);
    XGRAD_LAZY void push_tangents(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    void apply_unpacked(AnyTensor& gradient, std::span<AnyTensor> results);
    bool is_intact() const noexcept {
        bool intact = true;
        for (auto const& s : std::span(saved(), plan_.saved_tensors())) intact &= s.is_intact();
        return intact;
    }
    /// Scales the early gradients by grad_output, or broadcasts it.
    void apply_sum(AnyTensor const& gradient, std::span<AnyTensor> results);

    /// One pass over the elements: the gradients for grad_output, or without one those of the sum,
    /// which it returns. It reads these operands, or else the saved ones, makes the gradients that
    /// are not defined, and adds to the others. A gradient may take the place of `buffer`, which is
    /// grad_output.
    double run(AnyArray const* const* operands, AnyArray const* grad_output,
        std::span<AnyTensor> gradients, AnyTensor* buffer = nullptr, std::byte* zeros = nullptr);

    static constexpr double min_factor =
        1e-6; // limits of scaling computed gradients, against overflow and underflow

    bool const is_plain_;    // all operands are plain: see KernelCall
    bool has_early_ = false; // the gradients of a full sum are there
    OperandPlan const& plan_;
    OperandMask broadcast_ = 0;
    SumOver* sum_ = nullptr;
    Shape space_;
    std::size_t count_;
    std::unique_ptr<Shape[]> shapes_; // of broadcast operands; null where these have no dimensions
};

} // namespace xgrad::detail
