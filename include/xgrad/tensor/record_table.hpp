// RecordTable: table of everything that is compiled for one flattened expression: its kernels and
// what recording needs. Functions that are no templates take it as an argument.
#pragma once

#include <cstring>

#include <xgrad/autograd/any_tensor.hpp>
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

} // namespace xgrad::detail
