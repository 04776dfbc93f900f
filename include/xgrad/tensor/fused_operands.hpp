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

#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/tensor/bound_operands.hpp>
#include <xgrad/tensor/waiting_gradients.hpp>

namespace xgrad::detail {

class alignas(16) FusedOperands : public Node {
public:
    [[gnu::cold]] std::string name() const override {
        auto const root = table().kernels.vertices->name;
        return backward_name(sum_ ? sum_->name : root.empty() ? "Alias" : root);
    }
    [[gnu::cold]] std::string formula() const override {
        auto const* first = table().kernels.vertices;
        std::size_t tensors = 0;
        auto const inner = expression_text(first, tensors);
        return sum_ ? std::string(sum_->name) + "(" + inner + ")" : inner;
    }
    void release_saved() noexcept override {
        for (auto& value : saved_values()) value.storage = nullptr;
        if (saved_tensors_) release_saved_tensors();
        release_ready();
    }
    [[gnu::cold]] std::vector<NamedSavedTensor> saved_tensors() override {
        make_saved_tensors();
        std::vector<NamedSavedTensor> all;
        for (std::size_t k = 0; k < leaves(); ++k)
            if (plan_.saved >> k & 1) all.push_back({tensor_name(k), &saved_tensors_[k]});
        if (saves_result()) all.push_back({"result", &saved_tensors_[leaves()]});
        return all;
    }

    // Read by second derivatives.
    RecordTable const& table() const noexcept { return plan_.table; }
    void const* expression_object() const noexcept { return behind() + plan_.expression_at; }
    SumOver const* sum() const noexcept { return sum_; }
    /// The broadcast shape of all operands.
    Shape const& space() const noexcept { return space_; }
    std::size_t leaves() const noexcept { return table().kernels.leaves; }
    Shape const& leaf_shape(std::size_t k) const {
        static Shape const of_a_number;
        return !is_broadcast(k) ? space_ : shapes_ ? shapes_[first_of(k)] : of_a_number;
    }
    BackwardPlan const& gradients() const noexcept { return plan_.gradients; }
    LeafMask wanted() const noexcept { return gradients().wanted; }
    bool makes_gradient(std::size_t k) const { return plan_.makes_gradient(k); }
    bool is_read(std::size_t k) const { return plan_.read >> k & 1; }
    bool is_broadcast(std::size_t k) const { return broadcast_ >> k & 1; }
    bool saves_result() const noexcept { return plan_.gradients.saved_result; }
    std::size_t first_of(std::size_t k) const { return plan_.pattern.first[k]; }
    std::size_t target_of(std::size_t k) const { return plan_.gradients.target[k]; }
    std::size_t edge_of(std::size_t k) const { return plan_.edge[target_of(k)]; }
    AnyTensor unpack_leaf(std::size_t k) {
        make_saved_tensors();
        return saved_tensors_[first_of(k)].unpack(*this);
    }
    AnyTensor unpack_result() {
        make_saved_tensors();
        return saved_tensors_[leaves()].unpack(*this);
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
    std::span<SavedValue> saved_values() noexcept {
        return {reinterpret_cast<SavedValue*>(behind()), plan_.saved_values()};
    }
    std::span<Edge> edges() noexcept {
        return {reinterpret_cast<Edge*>(behind() + plan_.edges_at), plan_.edges};
    }
    std::span<AnyTensor> ready() noexcept {
        return {
            reinterpret_cast<AnyTensor*>(behind() + plan_.sum_at + sizeof(SumOver)), plan_.edges};
    }
    static std::size_t block_bytes(OperandPlan const& plan, bool sums) {
        return sizeof(FusedOperands) + (sums ? plan.bytes_with_sum : plan.bytes);
    }

    XGRAD_INLINE FusedOperands(OperandPlan const& plan, void const* expression,
        AnyTensor const* const* operands, BoundOperands const& in, SumOver const* over,
        AnyTensor const& result)
        : plan_(plan), contiguous_(in.contiguous && plan.table.result.in_place),
          space_(in.space()) {
        plan.table.copy(behind() + plan.expression_at, expression);
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
    [[gnu::noinline]] void destroy_sum() noexcept {
        if (waiting_ && table().use->load(std::memory_order_relaxed) >= 0)
            table().use->fetch_sub(1, std::memory_order_relaxed);
        release_ready();
        std::ranges::destroy(ready());
        std::destroy_at(sum_);
    }

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
        [[gnu::cold]] void open() {
            node_.make_saved_tensors();
            std::size_t const n = node_.leaves();
            for (std::size_t k = 0; k < n; ++k)
                if (node_.plan_.saved >> k & 1 && node_.saved_tensors_[k].open(node_))
                    unpacked_ |= LeafMask{1} << k;
            if (node_.saves_result() && node_.saved_tensors_[n].open(node_))
                unpacked_ |= LeafMask{1} << n;
        }
        [[gnu::cold]] void close() noexcept {
            for (std::size_t k = 0; unpacked_ >> k; ++k)
                if (unpacked_ >> k & 1) node_.saved_tensors_[k].close();
        }

        FusedOperands& node_;
        LeafMask unpacked_ = 0;
    };
    /// True where all SavedValues are there and unchanged, and there are no SavedTensors.
    bool is_intact() const noexcept {
        if (saved_tensors_) return false;
        bool intact = true;
        for (std::size_t i = 0; i < plan_.saved_values(); ++i) intact &= saved_value(i).is_intact();
        return intact;
    }
    /// The values of operand k, and those of the result, during the life of a guard.
    AnyArray saved_array(std::size_t k) const { return slot_array(plan_.slot[k]); }
    AnyArray saved_result() const {
        return saved_tensors_ ? saved_tensors_[leaves()].array()
                              : contiguous_array(saved_value(plan_.slots), space_);
    }
    /// The values of slot i.
    AnyArray slot_array(std::size_t i) const {
        std::size_t const k = plan_.slot_operand[i];
        return saved_tensors_ ? saved_tensors_[k].array()
                              : contiguous_array(saved_value(i), leaf_shape(k));
    }
    /// Address of the values of operand k, which are contiguous.
    std::byte* saved_data(std::size_t k) const {
        return saved_tensors_ ? saved_tensors_[first_of(k)].array().data
                              : saved_value(plan_.slot[k]).data;
    }
    std::byte* saved_result_data() const {
        return saved_tensors_ ? saved_tensors_[leaves()].array().data
                              : saved_value(plan_.slots).data;
    }
    static AnyArray contiguous_array(SavedValue const& value, Shape const& shape) {
        AnyArray a(shape);
        a.storage = value.storage;
        a.data = value.data;
        return a;
    }

    void stop_waiting() noexcept {
        if (waiting_) WaitingGradients::end(std::exchange(waiting_, 0));
    }
    void release_ready() noexcept {
        if (!waiting_) return;
        for (auto& gradient : ready()) gradient = {};
        stop_waiting();
    }

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
    [[gnu::noinline]] void save_shapes(BoundOperands const& in) {
        std::size_t const n = leaves();
        for (std::size_t k = 0; k < n; ++k) {
            std::size_t const first = first_of(k);
            if (first != k) broadcast_ |= (broadcast_ >> first & 1) << k;
            else if (in.arrays[k]->shape != space_) {
                auto const& array = *in.arrays[k];
                broadcast_ |= LeafMask{1} << k;
                if (array.shape.empty()) continue;
                if (!shapes_) shapes_ = std::make_unique<Shape[]>(n);
                shapes_[k] = array.shape;
            }
        }
    }
    [[gnu::cold]] void save_tensors(AnyTensor const* const* operands, AnyTensor const& result) {
        std::size_t const n = leaves();
        saved_tensors_ = std::make_unique<SavedTensor[]>(n + 1);
        for (auto& value : saved_values()) value.storage = nullptr;
        for (std::size_t k = 0; k < n; ++k)
            if (plan_.saved >> k & 1) saved_tensors_[k] = SavedTensor::operand(*operands[k]);
        if (saves_result()) saved_tensors_[n] = SavedTensor::result(result);
    }

    /// Converts SavedValues to SavedTensors.
    [[gnu::cold]] void make_saved_tensors() {
        NodeLock const lock(*this);
        if (saved_tensors_) return;
        std::size_t const n = leaves();
        auto saved = std::make_unique<SavedTensor[]>(n + 1);
        auto const restore = [](SavedValue const& value, Edge const& edge, TypeInfo const& type,
                                 Shape const& shape) {
            return SavedTensor::restored(type, contiguous_array(value, shape), value.version, edge);
        };
        for (std::size_t i = 0; i < plan_.slots; ++i) {
            std::size_t const k = plan_.slot_operand[i];
            if (!saved_value(i).storage) continue;
            std::size_t at = k;
            while (at < n && !(first_of(at) == k && makes_gradient(at))) ++at;
            saved[k] = restore(saved_value(i), at < n ? edges()[plan_.edge[at]] : Edge(),
                *table().leaf_types[k], leaf_shape(k));
        }
        if (saves_result() && saved_value(plan_.slots).storage)
            saved[n] = SavedTensor::restored_result(
                restore(saved_value(plan_.slots), Edge(), table().result_type, space_));
        saved_tensors_ = std::move(saved);
        for (auto& value : saved_values()) value.storage = nullptr;
    }
    [[gnu::cold, gnu::noinline]] void release_saved_tensors() noexcept {
        for (std::size_t k = 0; k <= leaves(); ++k) saved_tensors_[k].release();
    }

protected:
    OperandPlan const& plan_;
    bool contiguous_;          // all operands were contiguous when they were saved
    bool handed_over_ = false; // a pass has taken the gradients
    LeafMask broadcast_ = 0;
    SumOver* sum_ = nullptr;
    Shape space_;
    std::size_t waiting_ = 0; // bytes of gradients that are computed already
    std::unique_ptr<SavedTensor[]>
        saved_tensors_; // of the operands and the result; null while SavedValues are used
    std::unique_ptr<Shape[]> shapes_; // of broadcast operands; null where these have no dimensions
};

} // namespace xgrad::detail
