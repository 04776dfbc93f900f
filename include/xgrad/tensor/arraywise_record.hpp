// ArraywiseRecord: the Node of an operation on whole arrays, without its types: edges, and the
// values that gradients read.
#pragma once

#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/autograd/second_order.hpp>
#include <xgrad/autograd/view.hpp>
#include <xgrad/expr/flat_expression.hpp>

namespace xgrad::detail {

class ArraywiseRecord : public Node {
public:
    /// An operation and its types, as the compiler knows them.
    struct Table {
        std::string_view name;
        bool is_linear; // in each argument
        std::size_t count;
        TypeInfo const& result;
        TypeInfo const* const* operands;
        Uses const* uses; // what the gradient of each operand reads
        Uses all_uses;    // union of these
        Dependence dependence;
        Axes (*kept_axes)(ArraywiseRecord const& node, std::size_t operand,
            std::size_t rank_of_operand, std::size_t rank); // or null
    };

    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        ForwardMode::of(*this).push_arraywise(*this, tangents, results);
    }
    ForwardRule forward_rule() const noexcept override {
        return table_.is_linear ? ForwardRule::one_tangent : ForwardRule::batch;
    }
    Dependence dependence() const noexcept override { return table_.dependence; }
    [[gnu::cold]] XGRAD_FUNCTION Axes kept_axes(
        std::size_t edge, std::size_t rank_of_input, std::size_t rank) const override;
    [[gnu::cold]] std::string name() const override { return backward_name(table_.name); }
    [[gnu::cold]] XGRAD_FUNCTION std::string formula() const override;
    XGRAD_FUNCTION void release_saved() noexcept override;
    [[gnu::cold]] XGRAD_FUNCTION std::vector<NamedSavedTensor> saved_tensors() override;

protected:
    struct Operand {
        Shape shape; // of an operand that is not saved
        SavedTensor saved;
        std::uint8_t edge = 0;
    };

    explicit ArraywiseRecord(Table const& table) : table_(table) {}

    void connect(
        AnyTensor const& result, AnyTensor const* const* x, Operand* operands, Edge* edges);

    /// Shape of an operand that was not saved.
    Shape const& shape_of(std::size_t i) const noexcept { return operands_[i].shape; }

private:
    XGRAD_LAZY_BODY friend void link_forward_mode() noexcept;

    [[gnu::cold]] void push_tangents(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);
    /// Computes the gradients of the operands in `wanted`. Operands that no gradient reads are
    /// undefined.
    virtual void pull(OperandMask wanted, AnyTensor const& gradient, AnyTensor const& result,
        AnyTensor const* const* operands, AnyTensor* to) const = 0;
    /// Evaluates (and records) the operation; called where it is linear.
    virtual AnyTensor value(AnyTensor const* x) const = 0;

    Table const& table_;
    Operand* operands_ = nullptr;
    Shape shape_; // of the result, where the operation is not linear
    SavedTensor result_;
    OperandMask wanted_ = 0;
    Uses uses_ = 0;
};

/// With storage for `count` operands.
template <std::size_t count> class ArraywiseRecordOf : public ArraywiseRecord {
protected:
    using ArraywiseRecord::ArraywiseRecord;
    void connect(AnyTensor const& result, AnyTensor const* const* x) {
        ArraywiseRecord::connect(result, x, places_.data(), edges_.data());
    }

private:
    std::array<Operand, count> places_;
    std::array<Edge, count> edges_;
};

/// True where an operation on these tensors must be recorded.
bool wants_record(std::span<AnyTensor const* const> operands);

} // namespace xgrad::detail
