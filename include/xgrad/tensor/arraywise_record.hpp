// ArraywiseRecord: the Node of an operation on whole arrays, without its types: edges, and the
// values that gradients read.
#pragma once

#include <xgrad/graph/local_graph.hpp>
#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/graph/view.hpp>
#include <xgrad/ops/flat_expression.hpp>

XGRAD_COMPILED_ONCE

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
    };

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        AnyTensor const y = uses_ & uses_result ? result_.unpack(*this) : AnyTensor();
        LocalArray<AnyTensor, 6> made(table_.count);
        LocalArray<AnyTensor const*, 6> x(table_.count);
        for (std::size_t i = 0; i < table_.count; ++i)
            if (uses_ & uses_argument(i)) x[i] = &operands_[i].saved.unpacked_into(made[i], *this);
            else if (table_.all_uses & uses_argument(i))
                x[i] = &(made[i] = shape_only(*table_.operands[i], operands_[i].shape));
        pull(wanted_, gradients[0], y.defined() ? y : gradients[0], x.data(),
            results.data()); // a gradient has the result's shape
    }
    [[gnu::cold]] void pushforward(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        if (!table_.is_linear)
            return push_by_transposing(*this, {table_.result.filled(shape_, 0)}, tangents, results);
        for (std::size_t i = 0; i < table_.count; ++i) {
            if (!(wanted_ >> i & 1) || !tangents[operands_[i].edge].defined()) continue;
            std::vector<AnyTensor> x(table_.count);
            for (std::size_t j = 0; j < x.size(); ++j)
                x[j] = j == i ? tangents[operands_[i].edge] : operands_[j].saved.unpack(*this);
            add_to(results[0], value(x.data()));
        }
    }
    [[gnu::cold]] std::string name() const override { return backward_name(table_.name); }
    [[gnu::cold]] std::string formula() const override {
        std::string s(table_.name);
        for (std::size_t i = 0; i < table_.count; ++i) s += (i ? ", " : "(") + tensor_name(i);
        return s + ")";
    }
    void release_saved() noexcept override {
        for (std::size_t i = 0; i < table_.count; ++i) operands_[i].saved.release();
        result_.release();
    }
    [[gnu::cold]] std::vector<NamedSavedTensor> saved_tensors() override {
        std::vector<NamedSavedTensor> all;
        for (std::size_t i = 0; i < table_.count; ++i)
            if (uses_ & uses_argument(i)) all.push_back({tensor_name(i), &operands_[i].saved});
        if (uses_ & uses_result) all.push_back({"result", &result_});
        return all;
    }

protected:
    struct Operand {
        Shape shape; // of an operand that is not saved
        SavedTensor saved;
        std::uint8_t edge = 0;
    };

    explicit ArraywiseRecord(Table const& table) : table_(table) {}

    void connect(
        AnyTensor const& result, AnyTensor const* const* x, Operand* operands, Edge* edges) {
        std::size_t used_edges = 0;
        operands_ = operands;
        if (!table_.is_linear) shape_ = result.shape();
        for (std::size_t i = 0; i < table_.count; ++i) {
            if (!is_differentiable(x[i]->dtype()) || !x[i]->requires_grad()) continue;
            operands_[i].edge = static_cast<std::uint8_t>(used_edges);
            edges[used_edges++] = gradient_edge(*x[i]);
            wanted_ |= LeafMask{1} << i;
            uses_ |= table_.uses[i];
        }
        for (std::size_t i = 0; i < table_.count; ++i)
            if (uses_ & uses_argument(i)) operands_[i].saved = SavedTensor::operand(*x[i]);
            else operands_[i].shape = x[i]->shape();
        if (uses_ & uses_result) result_ = SavedTensor::result(result);
        set_edges(edges, used_edges);
    }

    /// Shape of an operand that was not saved.
    Shape const& shape_of(std::size_t i) const noexcept { return operands_[i].shape; }

private:
    /// Computes the gradients of the operands in `wanted`. Operands that no gradient reads are
    /// undefined.
    virtual void pull(LeafMask wanted, AnyTensor const& gradient, AnyTensor const& result,
        AnyTensor const* const* operands, AnyTensor* to) const = 0;
    /// Evaluates (and records) the operation; called where it is linear.
    virtual AnyTensor value(AnyTensor const* x) const = 0;

    Table const& table_;
    Operand* operands_ = nullptr;
    Shape shape_; // of the result, where the operation is not linear
    SavedTensor result_;
    LeafMask wanted_ = 0;
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
inline bool wants_record(std::span<AnyTensor const* const> operands) {
    return recording() && std::ranges::any_of(operands, [](AnyTensor const* t) {
        return is_differentiable(t->dtype()) && t->requires_grad();
    });
}

} // namespace xgrad::detail
