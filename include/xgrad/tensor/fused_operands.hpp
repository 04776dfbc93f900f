// FusedOperands: storage of a FusedNode. Compiled once for all expressions: a table of function
// pointers (RecordTable) and the OperandPlan describe the expression.
// One memory block: the object, saved values (SavedValue), edges, flattened expression, and, under
// a fused sum, a SumOver and a gradient for each edge. The plan has the offsets.
//
// Invariant: a saved value is a SavedValue until something needs a SavedTensor (hooks, error texts,
// a recorded pass, an operand that is not contiguous). From then on all are SavedTensors in
// saved_tensors_, and the SavedValues are empty.
//
// Read next: fused_sum.hpp, fused_node.hpp.
#pragma once

#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/tensor/bound_operands.hpp>

namespace xgrad::detail {

class alignas(16) FusedOperands : public Node {
public:
    [[gnu::cold]] XGRAD_FUNCTION std::string name() const override;
    [[gnu::cold]] XGRAD_FUNCTION std::string formula() const override;
    XGRAD_FUNCTION void release_saved() noexcept override;
    [[gnu::cold]] XGRAD_FUNCTION std::vector<NamedSavedTensor> saved_tensors() override;

    // Read by second derivatives.
    RecordTable const& table() const noexcept { return plan_.table; }
    void const* expression_object() const noexcept { return behind() + plan_.expression_at; }
    SumOver const* sum() const noexcept { return sum_; }
    /// The broadcast shape of all operands.
    Shape const& space() const noexcept { return space_; }
    std::size_t operand_count() const noexcept { return table().kernels.operand_count; }
    Shape const& operand_shape(std::size_t k) const;
    GradientTargets const& gradients() const noexcept { return plan_.gradients; }
    OperandMask wanted() const noexcept { return gradients().wanted; }
    bool makes_gradient(std::size_t k) const { return plan_.makes_gradient(k); }
    bool is_read(std::size_t k) const { return plan_.read >> k & 1; }
    bool is_broadcast(std::size_t k) const { return broadcast_ >> k & 1; }
    bool saves_result() const noexcept { return plan_.gradients.saved_result; }
    std::size_t first_of(std::size_t k) const { return plan_.pattern.first[k]; }
    std::size_t target_of(std::size_t k) const { return plan_.gradients.target[k]; }
    std::size_t edge_of(std::size_t k) const { return plan_.edge[target_of(k)]; }
    AnyTensor unpack_operand(std::size_t k);
    AnyTensor unpack_result() {
        make_saved_tensors();
        return saved_tensors_[operand_count()].unpack(*this);
    }

protected:
    // The parts of the block.
    std::byte* behind() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    std::byte const* behind() const noexcept {
        return reinterpret_cast<std::byte const*>(this + 1);
    }
    SavedValue const& saved_value(std::size_t i) const noexcept {
        return reinterpret_cast<SavedValue const*>(behind())[i];
    }
    std::span<SavedValue> saved_values() noexcept;
    std::span<Edge> edges() noexcept;
    std::span<AnyTensor> ready() noexcept;
    static std::size_t block_bytes(OperandPlan const& plan, bool sums) {
        return sizeof(FusedOperands) + (sums ? plan.bytes_with_sum : plan.bytes);
    }

    XGRAD_INLINE FusedOperands(OperandPlan const& plan, void const* expression,
        AnyTensor const* const* operands, BoundOperands const& in, SumOver const* over,
        AnyTensor const& result)
        : plan_(plan), contiguous_(in.contiguous && plan.table.result.in_place),
          space_(in.space()) {
        plan.table.copy_expression(behind() + plan.expression_at, expression);
        bool const plain = save_values(operands, in, result);
        std::size_t connected = 0;
        try {
            connect(operands, connected);
            if (over) {
                sum_ = ::new (behind() + plan.sum_at) SumOver(*over);
                std::uninitialized_value_construct_n(ready().data(), plan.edges);
            }
            if (!in.same_shape) save_shapes(in);
            if (!plain) save_tensors(operands, result);
        } catch (...) {
            std::uninitialized_value_construct_n(
                edges().data() + connected, plan.edges - connected);
            destroy_block();
            throw;
        }
    }
    ~FusedOperands() override { destroy_block(); }
    XGRAD_INLINE void destroy_block() noexcept {
        if (sum_) destroy_sum();
        std::ranges::destroy(edges());
        std::ranges::destroy(saved_values());
        if (auto const destroy = table().destroy) destroy(behind() + plan_.expression_at);
    }
    void destroy_sum() noexcept;

    /// Prepares the saved values for a pass (checks versions, unpacks), and drops what was unpacked
    /// at its end.
    class UnpackGuard {
    public:
        explicit UnpackGuard(FusedOperands& n) : UnpackGuard(&n) {
            if (!n.is_intact())
                open(); // this constructor delegates: the destructor closes also where open()
                        // throws
        }
        UnpackGuard(UnpackGuard const&) = delete;
        UnpackGuard& operator=(UnpackGuard const&) = delete;
        ~UnpackGuard() {
            if (unpacked_) [[unlikely]]
                close();
        }

    private:
        explicit UnpackGuard(FusedOperands* n) noexcept : node_(*n) {}
        [[gnu::cold]] void open();
        [[gnu::cold]] void close() noexcept;

        FusedOperands& node_;
        OperandMask unpacked_ = 0;
    };
    /// True where all SavedValues are there and unchanged, and there are no SavedTensors.
    bool is_intact() const noexcept;
    /// The values of operand k, and those of the result, during the life of a guard.
    AnyArray saved_array(std::size_t k) const { return slot_array(plan_.slot[k]); }
    AnyArray saved_result() const;
    /// The values of slot i.
    AnyArray slot_array(std::size_t i) const;
    /// Address of the values of operand k, which are contiguous.
    std::byte* saved_data(std::size_t k) const;
    std::byte* saved_result_data() const;
    static AnyArray contiguous_array(SavedValue const& value, Shape const& shape);

    void release_ready() noexcept;

private:
    /// Saves what the gradients read. Returns false where SavedTensors must be used instead.
    XGRAD_INLINE bool save_values(AnyTensor const* const* operands, BoundOperands const& in,
        AnyTensor const& result) noexcept {
        auto const& plan = plan_;
        auto* const value = saved_values().data();
        bool plain = !default_packing & !plan.saves_unconnected;
        for (std::size_t i = 0; i < plan.slots; ++i) {
            std::size_t const k = plan.slot_operand[i];
            plain &= in.arrays[k]->contiguous & !operands[k]->handle()->inference;
            ::new (value + i) SavedValue(*in.arrays[k]);
        }
        if (plan.gradients.saved_result)
            ::new (value + plan.slots) SavedValue(result.handle()->array);
        return plain;
    }
    /// Makes the edges; `i` counts those that are made, for the destructor.
    XGRAD_INLINE void connect(AnyTensor const* const* operands, std::size_t& i) {
        auto const& plan = plan_;
        auto* const edges = this->edges().data();
        for (; i < plan.edges; ++i)
            ::new (edges + i) Edge(gradient_edge(*operands[plan.target[i]]));
        set_edges(edges, i);
    }
    void save_shapes(BoundOperands const& in);
    [[gnu::cold]] void save_tensors(AnyTensor const* const* operands, AnyTensor const& result);

    /// Converts SavedValues to SavedTensors.
    [[gnu::cold]] void make_saved_tensors();
    [[gnu::cold]] void release_saved_tensors() noexcept;

protected:
    OperandPlan const& plan_;
    bool contiguous_;       // all operands were contiguous when they were saved
    bool is_ready_ = false; // the gradients of a fused sum are computed already
    OperandMask broadcast_ = 0;
    SumOver* sum_ = nullptr;
    Shape space_;
    std::unique_ptr<SavedTensor[]>
        saved_tensors_; // of the operands and the result; null while SavedValues are used
    std::unique_ptr<Shape[]> shapes_; // of broadcast operands; null where these have no dimensions
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/fused_operands.ipp>
#endif
