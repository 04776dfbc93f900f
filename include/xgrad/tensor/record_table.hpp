// RecordTable: table of everything that is compiled for one flattened expression: its kernels and
// what recording needs. Functions that are no templates take it as an argument.
#pragma once

#include <cstring>

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

class FusedNode;
struct OperandPlan;
struct SumOver;

/// Functions of one vertex type, for evaluation operation by operation (traced.hpp). Its tensors
/// have the element kind of the vertex in the precision of the expression.
struct TracedTable {
    std::size_t operands = 0;
    bool is_operand = false;
    /// Computes the value from the values of the operands (of an operand: from its tensor).
    AnyTensor (*value)(void const* object, AnyTensor const* x) = nullptr;
    /// What the gradient of an operand reads, and that gradient. A tensor that it does not read may
    /// be undefined. Null where there is none.
    struct Gradient {
        Uses (*uses)(void const* operation) = nullptr;
        AnyTensor (*pull)(void const* operation, AnyTensor const& g, AnyTensor const& y,
            AnyTensor const* x) = nullptr;
    };
    Gradient const* gradients = nullptr; // of each operand
    /// Converts the gradient of an operand to its shape and element type.
    AnyTensor (*arrive)(AnyTensor const& g, Shape const& shape) = nullptr;

    bool takes_gradients() const noexcept { return gradients || arrive; }
};
struct TracedVertex {
    TracedTable const* table;
    void const* object; // an operation or a scalar constant
    // Set by measure().
    std::size_t end = 0; // index behind the vertices below it
    std::size_t first_operand = 0;
    OperandMask operand_mask = 0; // operands at or below it
};

/// What recording needs to know of a flattened expression.
struct RecordTable {
    KernelTable const& kernels;
    ElementType const& result; // as the forward kernel writes it
    TypeInfo const& result_type;
    TypeInfo const* const* operand_types;
    std::size_t expression_bytes;
    // Null where they are trivial.
    void (*copy)(void* to, void const* from) = nullptr;
    void (*destroy)(void* expression) noexcept = nullptr;
    // The members below are null where no gradient exists.
    std::atomic<OperandPlan const*>* plans = nullptr;
    // Gradients as recorded operations, for derivatives of third and higher order; see traced.hpp.
    void (*traced)(FusedNode const& node, AnyTensor const* operands, AnyTensor const& result,
        AnyTensor const& gradient, std::span<AnyTensor> results) = nullptr;
    void (*list_vertices)(void const* expression, std::vector<TracedVertex>& vertices) = nullptr;
    AnyTensor (*traced_grad_output)(
        AnyTensor const& gradient, SumOver const* sum, Shape const& space) = nullptr;
    AnyTensor (*traced_result)(AnyTensor const& result) = nullptr;

    void copy_expression(void* to, void const* from) const {
        if (copy) [[unlikely]]
            copy(to, from);
        else std::memcpy(to, from, expression_bytes);
    }
};

/// Appends a vertex: compiled once, since each type of expression calls it.
[[gnu::cold]] void append_vertex(
    std::vector<TracedVertex>& vertices, TracedTable const* table, void const* object);
/// Computes `end`, `first_operand` and `operands` of a vertex and of those below it.
[[gnu::cold]] void measure(
    std::vector<TracedVertex>& vertices, std::size_t at, std::size_t& operand);
/// The vertices of an expression in prefix order: each before its operands.
[[gnu::cold]] std::vector<TracedVertex> traced_vertices(
    RecordTable const& table, void const* expression);

/// A fused sum over axes, times a factor.
struct SumOver {
    std::string_view name;
    Axes axes; // empty where there is a kernel
    double scale = 1;
    bool keeps_dims = false;
    SumKernel kernel = nullptr; // of a full sum that is computed together with its gradients

    /// The shape of the sum of an array of shape `space`.
    Shape reduced(Shape const& space, bool keep) const;

    /// The gradient of each summand: a view of the gradient of the sum, broadcast to `space`.
    AnyArray spread(AnyTensor const& gradient, Shape const& space) const;
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/record_table.ipp>
#endif
