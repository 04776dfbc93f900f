// What a fused Node holds: the formula, its operands, its edges and what is saved of them, behind the Node in the same block.
// It is compiled once for all formulas; what differs stands in a table of function pointers.
#pragma once

#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/tensor/record_table.hpp>
#include <xgrad/tensor/waiting_gradients.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

class FusedOperands : public Node {
public:
    [[gnu::cold]] std::string name() const override
    {
        auto const root = table_.kernels.vertices->name;
        return backward_name(sum_ ? sum_->name : root.empty() ? "Alias" : root);
    }
    [[gnu::cold]] std::string formula() const override
    {
        auto const* first = table_.kernels.vertices;
        std::size_t tensors = 0;
        auto const inner = formula_text(first, tensors);
        return sum_ ? std::string(sum_->name) + "(" + inner + ")" : inner;
    }
    void release_saved() noexcept override
    {
        for (auto& leaf : leaves()) leaf.storage = nullptr;
        result_.storage = nullptr;
        if (watched_) release_watched();
        drop_ready();
    }
    [[gnu::cold]] std::vector<NamedSavedTensor> saved_tensors() override
    {
        watch();
        std::vector<NamedSavedTensor> all;
        for (std::size_t k = 0; k < table_.kernels.leaves; ++k)
            if (kept_ >> k & 1) all.push_back({tensor_letter(k), &watched_[k]});
        if (saves_result_) all.push_back({"result", &watched_[table_.kernels.leaves]});
        return all;
    }

    // What second derivatives ask.
    RecordTable const& table() const noexcept { return table_; }
    void const* formula_object() const noexcept { return block() + formula_at(table_.kernels.leaves); }
    SumOver const* sum() const noexcept { return sum_; }
    /// The formula's index space.
    Shape const& space() const noexcept { return space_; }
    Shape const& leaf_shape(std::size_t k) const { return is_broadcast(k) ? shapes_[leaf(k).first] : space_; }
    LeafMask wanted() const noexcept { return wanted_; }
    LeafMask added() const noexcept { return add_; }
    bool is_needed(std::size_t k) const { return needed_ >> k & 1; }
    bool is_broadcast(std::size_t k) const { return broadcast_ >> k & 1; }
    bool saves_result() const noexcept { return saves_result_; }
    std::size_t first_of(std::size_t k) const { return leaf(k).first; }
    std::size_t target_of(std::size_t k) const { return leaf(k).target; }
    std::size_t edge_of(std::size_t k) const { return leaf(leaf(k).target).edge; }
    AnyTensor unpack_leaf(std::size_t k)
    {
        watch();
        return watched_[leaf(k).first].unpack(*this);
    }
    AnyTensor unpack_result()
    {
        watch();
        return watched_[table_.kernels.leaves].unpack(*this);
    }

protected:
    /// A saved value whose elements lie in order. What more a SavedTensor can do is added by watch() when it is needed.
    struct Kept {
        Ref<Storage> storage;
        std::byte* data = nullptr;
        std::uint32_t version = 0;

        void keep(AnyArray const& a) noexcept
        {
            storage = a.storage;
            data = a.data;
            version = storage->version();
        }
        bool is_intact() const noexcept { return storage && storage->version() == version; }
    };
    /// Operands as the Node keeps them; one tensor at several places of the formula is kept, and gets its gradient, once.
    struct Leaf : Kept {
        std::uint8_t first = 0;   // the first leaf that is the same tensor
        std::uint8_t target = 0;  // the first of those that gets a gradient
        std::uint8_t edge = 0;
    };

    // The block: the Node, its leaves, its edges, its formula, and under a sum that and the gradients that are ready.
    static constexpr std::size_t aligned(std::size_t at) { return (at + 15) / 16 * 16; }
    static constexpr std::size_t leaves_at() { return (sizeof(FusedOperands) + alignof(Leaf) - 1) / alignof(Leaf) * alignof(Leaf); }
    static constexpr std::size_t edges_at(std::size_t n) { return leaves_at() + n * sizeof(Leaf); }
    static constexpr std::size_t formula_at(std::size_t n) { return aligned(edges_at(n) + n * sizeof(Edge)); }
    static std::size_t sum_at(RecordTable const& table) { return aligned(formula_at(table.kernels.leaves) + table.formula_bytes); }
    static std::size_t block_bytes(RecordTable const& table, bool sums)
    {
        return sums ? sum_at(table) + sizeof(SumOver) + table.kernels.leaves * sizeof(Ref<TensorImpl>) : formula_at(table.kernels.leaves) + table.formula_bytes;
    }
    std::byte* block() noexcept { return reinterpret_cast<std::byte*>(this); }
    std::byte const* block() const noexcept { return reinterpret_cast<std::byte const*>(this); }
    std::span<Leaf> leaves() noexcept { return {reinterpret_cast<Leaf*>(block() + leaves_at()), table_.kernels.leaves}; }
    Leaf& leaf(std::size_t k) noexcept { return reinterpret_cast<Leaf*>(block() + leaves_at())[k]; }
    Leaf const& leaf(std::size_t k) const noexcept { return reinterpret_cast<Leaf const*>(block() + leaves_at())[k]; }
    Edge* edges() noexcept { return reinterpret_cast<Edge*>(block() + edges_at(table_.kernels.leaves)); }
    Ref<TensorImpl>* ready() noexcept { return reinterpret_cast<Ref<TensorImpl>*>(block() + sum_at(table_) + sizeof(SumOver)); }

    FusedOperands(RecordTable const& table, void const* formula, AnyTensor const* const* operands, Gathered const& in, SumOver const* over, AnyTensor const& result)
        : table_(table), space_(in.space())
    {
        std::size_t const n = table.kernels.leaves;
        table.copy(block() + formula_at(n), formula);
        std::uninitialized_value_construct_n(leaves().data(), n);
        try {
            if (over) {
                sum_ = ::new (block() + sum_at(table)) SumOver(*over);
                std::uninitialized_value_construct_n(ready(), n);
            }
            connect(operands, in, result);
        } catch (...) {
            destroy_block();
            throw;
        }
    }
    ~FusedOperands() override { destroy_block(); }
    void destroy_block() noexcept
    {
        std::size_t const n = table_.kernels.leaves;
        if (sum_) {
            if (waiting_ && table_.use->load(std::memory_order_relaxed) >= 0) table_.use->fetch_sub(1, std::memory_order_relaxed);
            drop_ready();
            std::destroy_n(ready(), n);
            std::destroy_at(sum_);
        }
        std::destroy_n(edges(), edge_count_);
        std::destroy_n(leaves().data(), n);
        table_.destroy(block() + formula_at(n));
    }
    void dispose() noexcept override
    {
        auto const bytes = block_bytes(table_, sum_);
        this->~FusedOperands();
        deallocate(this, bytes);
    }

    bool makes_gradient(std::size_t k) const { return (wanted_ & ~add_) >> k & 1; }

    /// Saved values made ready for a pass, and let go at its end.
    class Opened {
    public:
        explicit Opened(FusedOperands& n) : Opened(&n)
        {
            if (!n.is_intact()) open();  // a constructed object already: what was opened is closed again where the next one cannot be
        }
        Opened(Opened const&) = delete;
        Opened& operator=(Opened const&) = delete;
        ~Opened()
        {
            if (opened_) [[unlikely]]
                close();
        }

    private:
        explicit Opened(FusedOperands* n) noexcept : node_(*n) {}
        [[gnu::cold]] void open()
        {
            node_.watch();
            std::size_t const n = node_.table_.kernels.leaves;
            for (std::size_t k = 0; k < n; ++k)
                if (node_.kept_ >> k & 1 && node_.watched_[k].open(node_)) opened_ |= LeafMask{1} << k;
            if (node_.saves_result_ && node_.watched_[n].open(node_)) opened_ |= LeafMask{1} << n;
        }
        [[gnu::cold]] void close() noexcept
        {
            for (std::size_t k = 0; opened_ >> k; ++k)
                if (opened_ >> k & 1) node_.watched_[k].close();
        }

        FusedOperands& node_;
        LeafMask opened_ = 0;
    };
    /// True where what was saved is here and unchanged, and nobody watches it.
    bool is_intact() const noexcept
    {
        if (watched_) return false;
        bool intact = !saves_result_ || result_.is_intact();
        for (std::size_t k = 0; kept_ >> k; ++k)
            if (kept_ >> k & 1) intact &= leaf(k).is_intact();
        return intact;
    }
    /// The values of leaf k, and those of the result, while they are opened.
    AnyArray saved_array(std::size_t k) const
    {
        if (watched_) return watched_[leaf(k).first].array();
        return in_order(leaf(leaf(k).first), leaf_shape(k));
    }
    AnyArray saved_result() const { return watched_ ? watched_[table_.kernels.leaves].array() : in_order(result_, space_); }
    static AnyArray in_order(Kept const& kept, Shape const& shape)
    {
        AnyArray a(shape);
        a.storage = kept.storage;
        a.data = kept.data;
        return a;
    }

    void no_longer_waiting() noexcept
    {
        if (waiting_) WaitingGradients::add(-static_cast<std::ptrdiff_t>(std::exchange(waiting_, 0)));
    }
    void drop_ready() noexcept
    {
        if (!waiting_) return;
        for (std::size_t k = 0; k < table_.kernels.leaves; ++k) ready()[k] = nullptr;
        no_longer_waiting();
    }

private:
    /// Connects the Node to its operands, and saves what the gradients of those that want one will look at.
    void connect(AnyTensor const* const* operands, Gathered const& in, AnyTensor const& result)
    {
        std::size_t const n = in.leaves;
        Leaf* const leaf = leaves().data();
        Edge* const edge = edges();
        LeafMask const wanted = in.requires_grad & in.needs.reached;
        LeafMask needed = 0, kept = 0, broadcast = 0, add = 0;  // members only at the end: bytes that are written could be any member
        LeafMask connected = 0;                                 // the first leaves of tensors to which an edge leads
        for (std::size_t k = 0; k < n; ++k) {
            LeafMask const bit = LeafMask{1} << k;
            auto const first = in.first[k];
            auto target = first;
            if (wanted & bit) {
                needed |= in.needs.of[k];
                if (connected >> first & 1) {
                    target = leaf[first].target;
                    add |= bit;
                } else {
                    connected |= LeafMask{1} << first;
                    leaf[first].target = target = static_cast<std::uint8_t>(k);
                    leaf[k].edge = edge_count_;
                    ::new (edge + edge_count_) Edge(gradient_edge(*operands[k]));
                    ++edge_count_;
                }
            }
            leaf[k].first = first;
            leaf[k].target = target;
            if (in.same_shape) continue;
            if (first != k) broadcast |= (broadcast >> first & 1) << k;
            else if (in.arrays[k]->shape != space_) {
                if (!shapes_) shapes_ = std::make_unique<Shape[]>(n);
                shapes_[k] = in.arrays[k]->shape;
                broadcast |= bit;
            }
        }
        set_edges(edge, edge_count_);
        bool plain = !default_packing;
        for (LeafMask left = needed; left; left &= left - 1) {
            std::size_t const first = leaf[std::countr_zero(left)].first;
            if (kept >> first & 1) continue;
            auto const& a = *in.arrays[first];
            kept |= LeafMask{1} << first;
            plain &= a.contiguous & !operands[first]->is_inference() & !(in.requires_grad >> first & ~(connected >> first) & 1);
            leaf[first].keep(a);
        }
        wanted_ = wanted;
        needed_ = needed;
        kept_ = kept;
        broadcast_ = broadcast;
        add_ = add;
        saves_result_ = in.needs.result;
        in_order_ = in.in_order && table_.result.in_place;
        if (!plain) return save_watched(operands, result);
        if (saves_result_) result_.keep(result.impl().array);
    }
    [[gnu::cold]] void save_watched(AnyTensor const* const* operands, AnyTensor const& result)
    {
        std::size_t const n = table_.kernels.leaves;
        watched_ = std::make_unique<SavedTensor[]>(n + 1);
        for (std::size_t k = 0; k < n; ++k) {
            leaf(k).storage = nullptr;
            if (kept_ >> k & 1) watched_[k] = SavedTensor::operand(*operands[k]);
        }
        if (saves_result_) watched_[n] = SavedTensor::result(result);
    }

    /// Keeps what was saved as SavedTensors from now on: for hooks, for messages, and to be differentiated again.
    [[gnu::cold]] void watch()
    {
        NodeLock const lock(*this);
        if (watched_) return;
        std::size_t const n = table_.kernels.leaves;
        auto saved = std::make_unique<SavedTensor[]>(n + 1);
        auto const restore = [](Kept const& kept, Edge const& history, TypeInfo const& type, Shape const& shape) {
            return SavedTensor::restored(type, in_order(kept, shape), kept.version, history);
        };
        for (std::size_t k = 0; k < n; ++k) {
            if (!leaf(k).storage) continue;
            std::size_t at = k;
            while (at < n && !(leaf(at).first == k && makes_gradient(at))) ++at;
            saved[k] = restore(leaf(k), at < n ? edges()[leaf(at).edge] : Edge(), *table_.leaf_types[k], leaf_shape(k));
        }
        if (result_.storage) saved[n] = SavedTensor::restored_result(restore(result_, Edge(), table_.result_type, space_));
        watched_ = std::move(saved);
        for (auto& leaf : leaves()) leaf.storage = nullptr;
        result_.storage = nullptr;
    }
    [[gnu::cold]] void release_watched() noexcept
    {
        for (std::size_t k = 0; k <= table_.kernels.leaves; ++k) watched_[k].release();
    }

protected:
    RecordTable const& table_;
    LeafMask needed_ = 0, kept_ = 0, broadcast_ = 0, wanted_ = 0, add_ = 0;
    bool saves_result_ = false;
    std::uint8_t edge_count_ = 0;
    bool in_order_ = false;  // all operands were in order when they were saved
    Kept result_;
    SumOver* sum_ = nullptr;
    Shape space_;
    std::size_t waiting_ = 0;                 // bytes of gradients that are ready
    std::unique_ptr<SavedTensor[]> watched_;  // of the leaves and the result; then their own places are empty
    std::unique_ptr<Shape[]> shapes_;         // of the leaves that were broadcast
};

}  // namespace xgrad::detail
