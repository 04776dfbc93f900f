// BoundOperands: the bound operands of a flattened expression, after one loop over them: defined or
// not, same tensor or not, contiguous or not, requires a gradient or not.
#pragma once

#include <xgrad/tensor/operand_plan.hpp>

namespace xgrad::detail {

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
    BoundOperands(RecordTable const& table, void const* expression,
        AnyTensor const* const* operands, bool result_exists, std::string_view as = {});
    /// The broadcast shape of all operands.
    Shape const& space() const noexcept { return same_shape ? arrays[0]->shape : broadcasted_; }
    /// Number of elements of space().
    std::size_t count() const { return same_shape ? arrays[0]->numel : numel(broadcasted_); }

private:
    void widen_all(RecordTable const& table, AnyTensor const* const* operands, std::string_view as);

    std::uint8_t first_[64]; // of each operand, the first one that is the same tensor
    Shape broadcasted_;
};

} // namespace xgrad::detail
