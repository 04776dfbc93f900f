// FusedNode: one recorded pass over an elementwise formula. It is compiled once for all formulas; what differs stands in a
// table of function pointers, and the formula, its operands and its edges lie behind the Node in the same block.
#pragma once

#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/tensor/record_table.hpp>
#include <xgrad/tensor/waiting_gradients.hpp>

namespace xgrad::detail {

class FusedNode final : public Node {
public:
    static Ref<Node> make(RecordTable const& table, void const* formula, AnyTensor const* const* operands, Gathered const& in, std::unique_ptr<SumOver> sum,
                          AnyTensor const& result)
    {
        auto const bytes = block_bytes(table);
        void* const block = allocate(bytes);
        try {
            return Ref<Node>(::new (block) FusedNode(table, formula, operands, in, std::move(sum), result));
        } catch (...) {
            deallocate(block, bytes);
            throw;
        }
    }

    /// True where a full sum and its gradients are best computed in one pass: all operands want a gradient and lie in order,
    /// and a backward pass is likely to come.
    static bool sums_at_once(RecordTable const& table, Gathered const& in)
    {
        if (default_packing || (in.requires_grad & in.reached) != in.reached || table.use->load(std::memory_order_relaxed) < 0) return false;
        for (std::size_t k = 0; k < table.kernels.leaves; ++k)
            if (!is_direct(*in.arrays[k], *table.kernels.leaf[k], in.space)) return false;
        return WaitingGradients::has_room(in.arrays[0]->numel * table.kernels.leaves * table.kernels.leaf[0]->element);
    }
    /// The sum, times `factor`; keeps the gradients until a backward pass asks for them.
    double sum_at_once(SumKernel kernel, AnyArray const* const* arrays, Shape const& space, double factor)
    {
        std::size_t const n = table_.kernels.leaves, first_gradient = n + 2;
        LocalArray<std::byte*, 14> at(first_gradient + n);
        std::size_t bytes = 0;
        for (std::size_t k = 0; k < n; ++k) {
            at[k] = arrays[k]->data;
            if (!makes_gradient(k)) continue;
            leaf(k).ready = AnyTensor(Ref<TensorImpl>(new TensorImpl(*table_.leaf_types[k], space)));
            at[first_gradient + k] = leaf(k).ready.impl().array.data;
            bytes += leaf(k).ready.impl().array.storage->bytes();
        }
        WaitingGradients::add(static_cast<std::ptrdiff_t>(bytes));
        waiting_ = bytes;
        return factor * kernel(formula_object(), plan(), reinterpret_cast<void* const*>(at.data()), factor, numel(space));
    }

    bool apply_to_one(std::span<AnyTensor> results) override
    {
        if (!has_gradients_ready()) return false;
        Opened const opened(*this);
        hand_over(results);
        return true;
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override
    {
        if (recording() && gradients[0].defined() && would_record(gradients[0])) table_.traced(*this, gradients[0], results);
        else apply_fused(gradients[0], results);
    }
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
        for (auto& leaf : leaves()) leaf.saved.release(), leaf.ready = {};
        result_.release();
        no_longer_waiting();
    }
    [[gnu::cold]] std::vector<NamedSavedTensor> saved_tensors() override
    {
        std::vector<NamedSavedTensor> all;
        for (std::size_t k = 0; k < table_.kernels.leaves; ++k)
            if (kept_ >> k & 1) all.push_back({tensor_letter(k), &leaf(k).saved});
        if (saves_result_) all.push_back({"result", &result_});
        return all;
    }

    // What the traced pass asks.
    void const* formula_object() const noexcept { return block() + formula_at(table_.kernels.leaves); }
    SumOver const* sum() const noexcept { return sum_.get(); }
    Shape const& space(AnyTensor const& gradient) const { return sum_ ? sum_->space : gradient.shape(); }
    Shape const& leaf_shape(std::size_t k, Shape const& space) const { return broadcast_ >> k & 1 ? shapes_[leaf(k).first] : space; }
    bool is_needed(std::size_t k) const { return needed_ >> k & 1; }
    std::size_t first_of(std::size_t k) const { return leaf(k).first; }
    AnyTensor unpack_leaf(std::size_t k) { return leaf(k).saved.unpack(*this); }
    bool saves_result() const noexcept { return saves_result_; }
    AnyTensor unpack_result() { return result_.unpack(*this); }
    LeafMask wanted() const noexcept { return wanted_; }
    std::size_t edge_of(std::size_t k) const { return leaf(leaf(k).target).edge; }

private:
    /// Operands as the Node keeps them; one tensor at several places of the formula is kept, and gets its gradient, once.
    struct Leaf {
        SavedTensor saved;
        AnyTensor ready;          // the gradient, where it was computed together with the sum
        std::uint8_t first = 0;   // the first leaf that is the same tensor
        std::uint8_t target = 0;  // the first of those that gets a gradient
        std::uint8_t edge = 0;
    };

    // The block: the Node, its leaves, its edges, its formula.
    static constexpr std::size_t leaves_at() { return (sizeof(FusedNode) + alignof(Leaf) - 1) / alignof(Leaf) * alignof(Leaf); }
    static constexpr std::size_t edges_at(std::size_t n) { return leaves_at() + n * sizeof(Leaf); }
    static constexpr std::size_t formula_at(std::size_t n) { return (edges_at(n) + n * sizeof(Edge) + 15) / 16 * 16; }
    static std::size_t block_bytes(RecordTable const& table) { return formula_at(table.kernels.leaves) + table.formula_bytes; }
    std::byte* block() noexcept { return reinterpret_cast<std::byte*>(this); }
    std::byte const* block() const noexcept { return reinterpret_cast<std::byte const*>(this); }
    std::span<Leaf> leaves() noexcept { return {reinterpret_cast<Leaf*>(block() + leaves_at()), table_.kernels.leaves}; }
    Leaf& leaf(std::size_t k) noexcept { return leaves()[k]; }
    Leaf const& leaf(std::size_t k) const noexcept { return reinterpret_cast<Leaf const*>(block() + leaves_at())[k]; }
    Edge* edges() noexcept { return reinterpret_cast<Edge*>(block() + edges_at(table_.kernels.leaves)); }

    FusedNode(RecordTable const& table, void const* formula, AnyTensor const* const* operands, Gathered const& in, std::unique_ptr<SumOver> sum, AnyTensor const& result)
        : table_(table), sum_(std::move(sum))
    {
        std::size_t const n = table.kernels.leaves;
        table.copy(block() + formula_at(n), formula);
        std::uninitialized_value_construct_n(leaves().data(), n);
        std::uninitialized_value_construct_n(edges(), n);
        try {
            connect(operands, table.needs(formula, !sum_), in, result);
        } catch (...) {
            destroy_block();
            throw;
        }
    }
    ~FusedNode() override { destroy_block(); }
    void destroy_block() noexcept
    {
        if (waiting_ && table_.use->load(std::memory_order_relaxed) >= 0) table_.use->fetch_sub(1, std::memory_order_relaxed);
        no_longer_waiting();
        std::size_t const n = table_.kernels.leaves;
        std::destroy_n(edges(), n);
        std::destroy_n(leaves().data(), n);
        table_.destroy(block() + formula_at(n));
    }
    void dispose() noexcept override
    {
        auto const bytes = block_bytes(table_);
        this->~FusedNode();
        deallocate(this, bytes);
    }

    /// Connects the Node to its operands, and saves what the gradients of those that want one will look at.
    void connect(AnyTensor const* const* operands, NeedsView needs, Gathered const& in, AnyTensor const& result)
    {
        std::size_t const n = table_.kernels.leaves;
        std::size_t edge_count = 0;
        LeafMask const collecting = in.requires_grad & needs.reached;
        for (std::size_t k = 0; k < n; ++k) {
            AnyTensor const& t = *operands[k];
            std::size_t same = 0;
            while (!operands[same]->is_same(t)) ++same;
            leaf(k).first = leaf(k).target = static_cast<std::uint8_t>(same);
            LeafMask const bit = LeafMask{1} << k;
            if (collecting & bit) {
                std::size_t target = same;
                while (target < k && !(wanted_ >> target & 1 && operands[target]->is_same(t))) ++target;
                leaf(k).target = static_cast<std::uint8_t>(target);
                wanted_ |= bit;
                needed_ |= needs.of[k];
                if (target != k) add_ |= bit;
                else {
                    leaf(k).edge = static_cast<std::uint8_t>(edge_count);
                    edges()[edge_count++] = gradient_edge(t);
                }
            }
            if (in.same_shape) continue;
            if (same != k) broadcast_ |= (broadcast_ >> same & 1) << k;
            else if (t.shape() != in.space) {
                if (!shapes_) shapes_ = std::make_unique<Shape[]>(n);
                shapes_[k] = t.shape();
                broadcast_ |= bit;
            }
        }
        for (std::size_t k = 0; k < n; ++k) {
            auto const first = leaf(k).first;
            if (!(needed_ >> k & 1) || kept_ >> first & 1) continue;
            leaf(first).saved = SavedTensor::operand(*operands[k]);
            kept_ |= LeafMask{1} << first;
        }
        saves_result_ = needs.result;
        if (saves_result_) result_ = SavedTensor::result(result);
        set_edges(edges(), edge_count);
    }

    bool would_record(AnyTensor const& gradient)
    {
        bool any = gradient.requires_grad() || saves_result_;
        for (auto const& leaf : leaves()) any |= leaf.saved.requires_grad();
        return any;
    }

    bool makes_gradient(std::size_t k) const { return (wanted_ & ~add_) >> k & 1; }

    /// Saved tensors made ready for a pass, and let go at its end.
    class Opened {
    public:
        explicit Opened(FusedNode& n) : Opened(&n)
        {
            // a constructed object already: what was opened is closed again where the next one cannot be
            for (std::size_t k = 0; k < n.table_.kernels.leaves; ++k)
                if (n.kept_ >> k & 1 && n.leaf(k).saved.open(n)) leaves_ |= LeafMask{1} << k;
            result_ = n.saves_result_ && n.result_.open(n);
        }
        Opened(Opened const&) = delete;
        Opened& operator=(Opened const&) = delete;
        ~Opened()
        {
            for (std::size_t k = 0; leaves_ >> k; ++k)
                if (leaves_ >> k & 1) node_.leaf(k).saved.close();
            if (result_) node_.result_.close();
        }

    private:
        explicit Opened(FusedNode* n) noexcept : node_(*n) {}

        FusedNode& node_;
        LeafMask leaves_ = 0;
        bool result_ = false;
    };

    void apply_fused(AnyTensor const& gradient, std::span<AnyTensor> results)
    {
        if (!gradient.defined()) return;
        Opened const opened(*this);
        if (has_gradients_ready() && !gradient.requires_grad())
            if (double const factor = real_number(gradient); std::abs(factor) >= least_factor && std::abs(factor) <= 1 / least_factor) return hand_over_scaled(factor, results);
        if (sum_ && table_.use->load(std::memory_order_relaxed) < 0) table_.use->fetch_add(1, std::memory_order_relaxed);
        Shape const& space = this->space(gradient);
        AnyArray spread_seeds;
        if (sum_) spread_seeds = sum_->spread(gradient);
        AnyArray const& seeds = sum_ ? spread_seeds : gradient.impl().array;
        if (broadcast_ == 0 && is_simple(seeds, space)) apply_direct(plan(), seeds, space, results);
        else apply_tiled(plan(), seeds, space, results);
    }

    BackwardPlan plan() const
    {
        BackwardPlan plan;
        plan.wanted = wanted_;
        plan.add = add_;
        plan.saved_result = saves_result_;
        for (std::size_t k = 0; k < table_.kernels.leaves; ++k) plan.target[k] = leaf(k).target;
        return plan;
    }

    /// True where gradients are ready to be handed over: not once hooks decide what was saved.
    bool has_gradients_ready() noexcept
    {
        return waiting_ && std::ranges::none_of(leaves(), [](Leaf const& l) { return l.saved.is_packed(); });
    }
    /// The gradients that are ready, once; another pass computes them anew.
    void hand_over(std::span<AnyTensor> results)
    {
        for (std::size_t k = 0; k < table_.kernels.leaves; ++k)
            if (makes_gradient(k)) {
                leaf(k).ready.impl().inference = inference_mode;  // as if made now
                results[leaf(k).edge] = std::move(leaf(k).ready);
            }
        no_longer_waiting();
        if (table_.use->load(std::memory_order_relaxed) < most_uses) table_.use->fetch_add(1, std::memory_order_relaxed);
    }
    void no_longer_waiting() noexcept
    {
        if (waiting_) WaitingGradients::add(-static_cast<std::ptrdiff_t>(std::exchange(waiting_, 0)));
    }
    void hand_over_scaled(double factor, std::span<AnyTensor> results)
    {
        hand_over(results);
        for (auto const& g : results)
            if (g.defined()) g.impl().type->multiply_in_place(g, factor);
    }
    static double real_number(AnyTensor const& t)
    {
        auto const& a = t.impl().array;
        return t.dtype() == DType::float32 ? static_cast<double>(*as<float>(a).begin()) : *as<double>(a).begin();
    }

    /// True where all that is read lies in order; the gradient of a sum may be one number.
    bool is_simple(AnyArray const& seeds, Shape const& space) const
    {
        bool simple = is_direct(seeds, *table_.kernels.result, space) || (seeds.numel == 1 && sum_);
        if (saves_result_) simple &= is_direct(result_.array(), *table_.kernels.result, space);
        for (std::size_t k = 0; k < table_.kernels.leaves; ++k) {
            simple &= table_.kernels.leaf[k]->in_place;
            if (kept_ >> k & 1) simple &= is_direct(leaf(k).saved.array(), *table_.kernels.leaf[k], space);
        }
        return simple;
    }

    void apply_direct(BackwardPlan const& plan, AnyArray const& seeds, Shape const& space, std::span<AnyTensor> results)
    {
        std::size_t const n = table_.kernels.leaves, count = numel(space), seed = n, result = n + 1, first_gradient = n + 2;
        LocalArray<std::byte*, 14> at(first_gradient + n);
        std::size_t const repeats_seed = !is_direct(seeds, *table_.kernels.result, space);
        bool tiled = repeats_seed;
        TileRoom splat;
        for (std::size_t k = 0; k < n; ++k) {
            if (auto const& saved = leaf(leaf(k).first).saved; is_needed(k)) at[k] = saved.array().data;
            else at[k] = zero_tile.elements, tiled = true;
            if (!makes_gradient(k)) continue;
            AnyTensor& gradient = results[leaf(k).edge] = AnyTensor(Ref<TensorImpl>(new TensorImpl(*table_.leaf_types[k], space)));
            at[first_gradient + k] = gradient.impl().array.data;
        }
        at[seed] = seeds.data;
        if (repeats_seed) {
            at[seed] = splat.elements;
            table_.kernels.result->stage(splat.elements, seeds.data, 0, std::min(count, tile_size));
        }
        if (saves_result_) at[result] = result_.array().data;
        std::size_t const chunk = tiled ? tile_size : count;
        for (std::size_t i = 0; i < count; i += chunk) {
            std::size_t const elements = std::min(chunk, count - i);
            table_.kernels.backward(formula_object(), plan, reinterpret_cast<void* const*>(at.data()), elements);
            for (std::size_t k = 0; k < n; ++k) {
                auto const bytes = elements * table_.kernels.leaf[k]->element;
                if (is_needed(k)) at[k] += bytes;
                if (makes_gradient(k)) at[first_gradient + k] += bytes;
            }
            if (!repeats_seed) at[seed] += elements * table_.kernels.result->element;
            if (saves_result_) at[result] += elements * table_.kernels.result->element;
        }
    }

    void apply_tiled(BackwardPlan const& plan, AnyArray const& seeds, Shape const& space, std::span<AnyTensor> results)
    {
        std::size_t const n = table_.kernels.leaves, seed = n, result = n + 1, first_gradient = n + 2;
        LocalArray<TileOperand, 14> operands(first_gradient + n);
        LocalArray<AnyArray, 6> gradients(n);
        for (std::size_t k = 0; k < n; ++k) {
            auto const& info = *table_.kernels.leaf[k];
            operands[k] = is_needed(k) ? input_operand(leaf(leaf(k).first).saved.array(), info, space) : absent_input(info.tile_element);
            operands[first_gradient + k] = absent_output();
            if (!makes_gradient(k)) continue;
            bool const sums = broadcast_ >> k & 1;
            gradients[k] = sums ? zeroed(leaf_shape(k, space), info.wide_element) : AnyArray(space, info.element);
            operands[first_gradient + k] = sums ? sum_operand(gradients[k], info) : output_operand(gradients[k], info);
        }
        operands[seed] = input_operand(seeds, *table_.kernels.result, space);
        operands[result] = saves_result_ ? input_operand(result_.array(), *table_.kernels.result, space) : absent_output();

        auto body = [&](void* const* at, std::size_t count) { table_.kernels.backward(formula_object(), plan, at, count); };
        TileLoop(space, operands.data(), first_gradient + n).run(tile_body(body));
        for (std::size_t k = 0; k < n; ++k) {
            if (!makes_gradient(k)) continue;
            if (broadcast_ >> k & 1) table_.kernels.leaf[k]->narrow(gradients[k]);
            results[leaf(k).edge] = AnyTensor(Ref<TensorImpl>(new TensorImpl(*table_.leaf_types[k], std::move(gradients[k]))));
        }
    }

    static constexpr signed char most_uses = 2;
    static constexpr double least_factor = 1e-6;  // gradients are scaled afterwards only where that can hardly overflow or underflow

    RecordTable const& table_;
    LeafMask needed_ = 0, kept_ = 0, broadcast_ = 0, wanted_ = 0, add_ = 0;
    bool saves_result_ = false;
    std::size_t waiting_ = 0;  // bytes of gradients that are ready
    SavedTensor result_;
    std::unique_ptr<SumOver> sum_;
    std::unique_ptr<Shape[]> shapes_;  // of the leaves that were broadcast
};

}  // namespace xgrad::detail
