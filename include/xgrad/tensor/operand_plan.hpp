// RecordTable: what is compiled for a flattened expression: its kernels, and what recording needs.
// OperandPlan: what is known of a flattened expression once it is known which of its operands are
// the same tensor and which require a gradient (the OperandPattern): which gradients are computed,
// which values are saved, and the layout of the Node.
// A plan is computed once for each pattern, kept in a list of the expression, and never freed.
// BoundOperands: the operands themselves, and what one loop over them finds.
// Read next: fused_node.hpp.
#pragma once

#include <array>
#include <cstring>

#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/expr/reads.hpp>
#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

class FusedNode;
struct OperandPlan;
struct SumOver;
struct TracedExpression;

/// What recording needs to know of a flattened expression.
struct RecordTable {
    KernelTable const& kernels;
    TypeInfo const& result_type;
    TypeInfo const* const* operand_types;
    std::size_t expression_bytes;
    // Null where they are trivial.
    void (*copy)(void* to, void const* from) = nullptr;
    void (*destroy)(void* expression) noexcept = nullptr;
    // The members below are null where no gradient exists.
    std::atomic<OperandPlan const*>* plans = nullptr;
    Reads (*reads)(void const* expression, bool result_exists) = nullptr;
    // Gradients as recorded operations, for derivatives of third and higher order; see traced.hpp.
    // Null without XGRAD_HIGHER_ORDER.
    TracedExpression const* traced = nullptr;

    void copy_expression(void* to, void const* from) const {
        if (copy) [[unlikely]]
            copy(to, from);
        else std::memcpy(to, from, expression_bytes);
    }
};

/// A fused sum over axes, times a factor.
struct SumOver {
    std::string_view name;
    Axes axes; // empty where there is a kernel
    double scale = 1;
    bool keeps_dims = false;
    Kernel kernel = nullptr; // of a full sum that is computed together with its gradients

    /// The shape of the sum of an array of shape `space`.
    Shape reduced(Shape const& space, bool keep) const;

    /// The gradient of each summand: a view of the gradient of the sum, broadcast to `space`.
    AnyArray spread(AnyTensor const& gradient, Shape const& space) const;
};

/// Which operands are the same tensor, and which require a gradient.
struct OperandPattern {
    std::array<std::uint8_t, 64> first{}; // of each operand, the first one that is the same tensor
    OperandMask requires_grad = 0;
    bool result_exists = true; // false where a fused reduction consumes the values
};

struct OperandPlan {
    OperandPattern pattern;
    RecordTable const& table;
    GradientTargets gradients; // of operands that are the same tensor the first one gets the sum
    Reads reads;               // of each gradient, and whether the result is saved
    OperandMask read = 0;      // operands that the gradients read
    OperandMask saved = 0;     // the first one of each tensor among them
    bool saves_unconnected = false; // a saved value requires a gradient but has no edge here
    std::uint8_t edges = 0, slots = 0;
    std::array<std::uint8_t, 64> edge{};   // of each operand with a gradient, its edge
    std::array<std::uint8_t, 64> target{}; // of each edge, the operand that gets the gradient
    std::array<std::uint8_t, 64>
        slot{}; // of each operand that is read, its slot; a saved result has the last one
    std::array<std::uint8_t, 64>
        slot_operand{}; // of each slot, the first operand that is saved there
    /// Offsets of the parts of a Node from the end of the object: saved tensors, edges, flattened
    /// expression, and, under a fused sum, a SumOver and the gradients that are computed already.
    std::size_t edges_at, expression_at, sum_at, bytes, bytes_with_sum;
    OperandPlan const* next = nullptr;

    /// True where an operand that can have a gradient requires one.
    bool records() const noexcept { return gradients.wanted != 0; }
    std::size_t saved_tensors() const noexcept { return std::size_t{slots} + reads.result; }
    bool makes_gradient(std::size_t k) const noexcept { return gradients.makes_gradient(k); }

    /// The plan of a pattern; made at its first use.
    static OperandPlan const& of(RecordTable const& table, void const* expression,
        std::uint8_t const* first, OperandMask requires_grad, bool result_exists);

private:
    OperandPlan(RecordTable const& t, void const* expression, OperandPattern const& p);
};

/// Computes the shape of a vertex. An error names the operation whose operands cannot be broadcast,
/// or `as` for the outermost one.
[[gnu::cold]] Shape vertex_shape(
    Vertex const*& v, AnyTensor const* const*& operand, std::string_view as = {});

/// Throws where the undefined operand `wanted` is an operand of this vertex or of one below it. The
/// error names the operation, or `as` for the outermost one, and the argument.
[[gnu::cold]] void check_vertex(
    Vertex const*& v, std::size_t& operand, std::size_t wanted, std::string_view as = {});
[[noreturn, gnu::cold]] void fail_undefined_operand(
    Vertex const* root, std::size_t k, std::string_view as);

/// The operands as a kernel takes them.
struct BoundOperands {
    AnyArray const* arrays[64];
    OperandPlan const* plan = nullptr; // set where a Node must be recorded
    bool same_shape = true;
    bool are_plain = true; // all of them: see KernelCall

    /// `result_exists` is false where a fused reduction consumes the values. Errors call the
    /// outermost operation `as`, if given.
    XGRAD_INLINE BoundOperands(RecordTable const& table, void const* expression,
        AnyTensor const* const* operands, bool result_exists, std::string_view as = {}) {
        bind(table, expression, operands, result_exists, as);
    }
    /// The broadcast shape of all operands.
    Shape const& space() const noexcept { return same_shape ? arrays[0]->shape : broadcasted_; }
    /// Number of elements of space().
    std::size_t count() const { return same_shape ? arrays[0]->numel : numel(broadcasted_); }

private:
    void bind(RecordTable const& table, void const* expression, AnyTensor const* const* operands,
        bool result_exists, std::string_view as);
    void widen_all(RecordTable const& table, AnyTensor const* const* operands, std::string_view as);

    std::uint8_t first_[64]; // of each operand, the first one that is the same tensor
    Shape broadcasted_;
};

} // namespace xgrad::detail
