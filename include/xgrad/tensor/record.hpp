// Recording: where an elementwise Expression becomes a Tensor, and, if a gradient will be wanted, one Node. The only place
// that knows both operations and the graph. sum() of an expression goes the same way: the tiles of the expression are summed
// as they are made, and backward starts from the broadcast gradient of the sum.
#pragma once

#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/ops/move.hpp>
#include <xgrad/tensor/tensor.hpp>

namespace xgrad::detail {

/// Visits the tensors of an expression from left to right: f(index, tensor).
template <std::size_t At, class X, class F> void each_tensor(X const& x, F&& f)
{
    if constexpr (is_expression<X>)
        []<class Op, class... Y>(Expression<Op, Y...> const& e, F& g) {
            constexpr auto first = first_leaves<Y...>();
            [&]<std::size_t... I>(std::index_sequence<I...>) { (each_tensor<At + first[I]>(get<I>(e.x), g), ...); }(std::index_sequence_for<Y...>{});
        }(x, f);
    else if constexpr (X::leaves == 1) f(At, x);
}

/// A sum over axes, times a factor, of a formula's values.
struct SumOver : Cached {
    Axes axes;
    double scale = 1;
    Shape space;  // the formula's index space

    SumOver(Axes a, double s, Shape of) : axes(std::move(a)), scale(s), space(std::move(of)) {}
};

/// One recorded pass over an elementwise formula: all of it that does not depend on the formula's type.
class FusedNode : public Node {
public:
    /// Operands as their Node keeps them; one tensor at several places of the formula is kept, and gets its gradient, once.
    struct Leaf {
        SavedTensor saved;
        std::uint8_t target = 0;  // the first leaf that is the same tensor
        std::uint8_t edge = 0;
    };

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override
    {
        if (grad_mode && would_record(gradients[0])) apply_traced(gradients[0], results);
        else apply_fused(gradients[0], results);
    }
    std::string name() const override
    {
        auto const root = table_.vertices->name;
        return std::string(sum_ ? sum_name() : root.empty() ? "Alias" : root) + "Backward";
    }
    std::string formula() const override
    {
        auto const* first = table_.vertices;
        std::size_t tensors = 0;
        auto const inner = formula_text(first, tensors);
        return sum_ ? std::string(sum_name()) + "(" + inner + ")" : inner;
    }
    void release_saved() noexcept override
    {
        for (std::size_t k = 0; k < table_.leaves; ++k) leaves_[k].saved.release();
        result_.release();
    }

protected:
    FusedNode(FormulaTable const& table, TypeInfo const* const* types) : table_(table), types_(types) {}

    /// Connects the Node to its operands, and saves what the gradients of those that want one will look at.
    /// The derived Node holds `leaves` and `edges`, one for each leaf.
    void connect(Leaf* leaves, Edge* edge, AnyTensor const* const* operands, LeafMask const* needs, bool save_result, Shape const& space, AnyTensor const& result)
    {
        leaves_ = leaves;
        LeafMask needed = 0;
        std::size_t edges = 0;
        for (std::size_t k = 0; k < table_.leaves; ++k) {
            AnyTensor const& t = *operands[k];
            std::size_t same = 0;
            while (!operands[same]->is_same(t)) ++same;
            leaves_[k].target = static_cast<std::uint8_t>(same);
            LeafMask const bit = LeafMask{1} << k;
            if (table_.leaf[k]->differentiable && t.requires_grad()) {
                wanted_ |= bit;
                needed |= needs[k];
                if (same != k) add_ |= bit;
                else {
                    leaves_[k].edge = static_cast<std::uint8_t>(edges);
                    edge[edges++] = gradient_edge(t);
                }
            }
            if (same != k) {
                broadcast_ |= (broadcast_ >> same & 1) << k;
            } else if (t.shape() != space) {
                if (!shapes_) shapes_ = std::make_unique<Shape[]>(table_.leaves);
                shapes_[k] = t.shape();
                broadcast_ |= bit;
            }
        }
        needed_ = needed;
        for (std::size_t k = 0; k < table_.leaves; ++k)
            if (needed >> k & 1 && !(kept_ >> leaves_[k].target & 1)) {
                leaves_[leaves_[k].target].saved = SavedTensor::operand(*operands[k]);
                kept_ |= LeafMask{1} << leaves_[k].target;
            }
        if (save_result) result_ = SavedTensor::result(result);
        saves_result_ = save_result;
        set_edges(edge, edges);
    }
    Shape const& space(AnyTensor const& gradient) const { return sum_ ? sum_->space : gradient.shape(); }
    Shape const& leaf_shape(std::size_t k, Shape const& space) const { return broadcast_ >> k & 1 ? shapes_[leaves_[k].target] : space; }
    bool is_needed(std::size_t k) const { return needed_ >> k & 1; }

    virtual void const* formula_object() const noexcept = 0;
    /// The same gradients out of recorded operations, so that they can be differentiated; see traced.hpp.
    virtual void apply_traced(AnyTensor const& gradient, std::span<AnyTensor> results) = 0;

    FormulaTable const& table_;
    TypeInfo const* const* types_;  // of the leaves
    Leaf* leaves_ = nullptr;
    LeafMask needed_ = 0, kept_ = 0, broadcast_ = 0, wanted_ = 0, add_ = 0;
    bool saves_result_ = false;
    SavedTensor result_;
    std::unique_ptr<SumOver> sum_;

private:
    std::string_view sum_name() const { return sum_->scale == 1 ? "Sum" : "Mean"; }
    bool would_record(AnyTensor const& gradient) const
    {
        bool any = gradient.requires_grad() || saves_result_;
        for (std::size_t k = 0; k < table_.leaves; ++k) any |= leaves_[k].saved.requires_grad();
        return any;
    }

    bool makes_gradient(std::size_t k) const { return (wanted_ & ~add_) >> k & 1; }

    void apply_fused(AnyTensor const& gradient, std::span<AnyTensor> results)
    {
        Shape const& space = this->space(gradient);
        AnyArray spread_seeds;
        if (sum_) spread_seeds = spread(gradient, space);
        AnyArray const& seeds = sum_ ? spread_seeds : gradient.impl().array;
        BackwardPlan plan{wanted_, add_, saves_result_, {}};
        for (std::size_t k = 0; k < table_.leaves; ++k) plan.target[k] = leaves_[k].target;
        if (broadcast_ == 0 && is_simple(seeds, space)) apply_direct(plan, seeds, space, results);
        else apply_tiled(plan, seeds, space, results);
    }

    /// True where all that is read lies in order; the gradient of a sum may be one number.
    bool is_simple(AnyArray const& seeds, Shape const& space) const
    {
        bool simple = is_direct(seeds, *table_.result, space) || (seeds.numel == 1 && sum_);
        if (saves_result_) simple &= is_direct(result_.array(*this), *table_.result, space);
        for (std::size_t k = 0; k < table_.leaves; ++k) {
            simple &= table_.leaf[k]->in_place;
            if (kept_ >> k & 1) simple &= is_direct(leaves_[k].saved.array(*this), *table_.leaf[k], space);
        }
        return simple;
    }

    void apply_direct(BackwardPlan const& plan, AnyArray const& seeds, Shape const& space, std::span<AnyTensor> results)
    {
        std::size_t const n = table_.leaves, count = numel(space), seed = n, result = n + 1, first_gradient = n + 2;
        LocalArray<std::byte*, 14> at(first_gradient + n);
        std::size_t const repeats_seed = !is_direct(seeds, *table_.result, space);
        bool tiled = repeats_seed;
        TileRoom splat;
        for (std::size_t k = 0; k < n; ++k) {
            if (auto const& saved = leaves_[leaves_[k].target].saved; is_needed(k)) at[k] = saved.checked_array().data;
            else at[k] = zero_tile.elements, tiled = true;
            if (!makes_gradient(k)) continue;
            AnyTensor& gradient = results[leaves_[k].edge] = AnyTensor(Ref<TensorImpl>(new TensorImpl(*types_[k], space)));
            at[first_gradient + k] = gradient.impl().array.data;
        }
        at[seed] = seeds.data;
        if (repeats_seed) {
            at[seed] = splat.elements;
            table_.result->stage(splat.elements, seeds.data, 0, std::min(count, tile_size));
        }
        if (saves_result_) at[result] = result_.array(*this).data;
        std::size_t const chunk = tiled ? tile_size : count;
        for (std::size_t i = 0; i < count; i += chunk) {
            std::size_t const elements = std::min(chunk, count - i);
            table_.backward(formula_object(), plan, reinterpret_cast<void* const*>(at.data()), elements);
            for (std::size_t k = 0; k < n; ++k) {
                auto const bytes = elements * table_.leaf[k]->element;
                if (is_needed(k)) at[k] += bytes;
                if (makes_gradient(k)) at[first_gradient + k] += bytes;
            }
            if (!repeats_seed) at[seed] += elements * table_.result->element;
            if (saves_result_) at[result] += elements * table_.result->element;
        }
    }

    void apply_tiled(BackwardPlan const& plan, AnyArray const& seeds, Shape const& space, std::span<AnyTensor> results)
    {
        std::size_t const n = table_.leaves, seed = n, result = n + 1, first_gradient = n + 2;
        LocalArray<TileOperand, 14> operands(first_gradient + n);
        LocalArray<AnyArray, 6> gradients(n);
        for (std::size_t k = 0; k < n; ++k) {
            auto const& info = *table_.leaf[k];
            operands[k] = is_needed(k) ? input_operand(leaves_[leaves_[k].target].saved.array(*this), info, space) : absent_input(info.tile_element);
            operands[first_gradient + k] = absent_output();
            if (!makes_gradient(k)) continue;
            bool const sums = broadcast_ >> k & 1;
            gradients[k] = sums ? zeroed(shapes_[k], info.wide_element) : AnyArray(space, info.element);
            operands[first_gradient + k] = sums ? sum_operand(gradients[k], info) : output_operand(gradients[k], info);
        }
        operands[seed] = input_operand(seeds, *table_.result, space);
        operands[result] = saves_result_ ? input_operand(result_.array(*this), *table_.result, space) : absent_output();

        auto body = [&](void* const* at, std::size_t count) { table_.backward(formula_object(), plan, at, count); };
        TileLoop(space, operands.data(), first_gradient + n).run(tile_body(body));
        for (std::size_t k = 0; k < n; ++k) {
            if (!makes_gradient(k)) continue;
            if (broadcast_ >> k & 1) table_.leaf[k]->narrow(gradients[k]);
            results[leaves_[k].edge] = AnyTensor(Ref<TensorImpl>(new TensorImpl(*types_[k], std::move(gradients[k]))));
        }
    }

    /// The gradient of a sum as that of each summand: a window that repeats it.
    AnyArray spread(AnyTensor const& gradient, Shape const& space) const
    {
        AnyArray g = sum_->scale == 1 ? gradient.impl().array : gradient.impl().type->scaled(gradient, sum_->scale).impl().array;
        if (g.numel == 1) {
            g.shape = {};
            g.strides = {};
            return g;
        }
        auto const kept = reduced_shape(space, sum_->axes, true);
        Strides strides(space.size(), 0);
        bool const keepdims = g.shape.size() == space.size();
        for (std::size_t d = 0, at = 0, axis = 0; d < space.size(); ++d) {
            bool const summed = axis < sum_->axes.size() && static_cast<std::size_t>(sum_->axes[axis]) == d;
            axis += summed;
            if (!summed && space[d] != 1) strides[d] = g.strides[at];
            at += !summed || keepdims;
        }
        g.shape = space;
        g.strides = std::move(strides);
        g.numel = numel(space);
        g.contiguous = is_row_major(g.shape, g.strides);
        return g;
    }

    std::unique_ptr<Shape[]> shapes_;  // of the leaves that were broadcast
};

template <class F> class FormulaNode final : public FusedNode {
public:
    using Y = typename F::scalar;
    static constexpr std::size_t leaves = F::leaves;

    FormulaNode(F f, AnyTensor const* const* operands, Shape const& space, std::unique_ptr<SumOver> sum, AnyTensor const& result)
        : FusedNode(FormulaTableOf<F>::table, types.data()), formula_(std::move(f))
    {
        auto const& needs = needs_of(formula_, !sum);
        connect(leaf_.data(), edge_.data(), operands, needs.of.data(), needs.result, space, result);
        sum_ = std::move(sum);
    }

private:
    template <std::size_t... K> static constexpr auto leaf_types(std::index_sequence<K...>) { return std::array<TypeInfo const*, leaves>{&type_info<leaf_scalar<F, K>>...}; }
    static constexpr auto types = leaf_types(std::make_index_sequence<leaves>{});

    void const* formula_object() const noexcept override { return &formula_; }
    [[gnu::cold]] void apply_traced(AnyTensor const& gradient, std::span<AnyTensor> results) override;

    [[no_unique_address]] F formula_;
    std::array<Leaf, leaves> leaf_;
    std::array<Edge, leaves> edge_;
};

/// The shape of an expression's value, found without a copy where all tensors agree.
template <class E, std::size_t N> Shape space_of(E const& e, AnyArray const* const (&leaves)[N])
{
    for (std::size_t k = 1; k < N; ++k)
        if (!(leaves[k]->shape == leaves[0]->shape)) return Shape(e.shape());
    return leaves[0]->shape;
}

template <class E, std::size_t N> bool collect(E const& e, AnyArray const* (&leaves)[N])
{
    static_assert(N < 64, "an expression may name at most 63 tensors: assign a part of it to a Tensor first");
    bool wanted = false;
    each_tensor<0>(e, [&](std::size_t k, AnyTensor const& t) {
        leaves[k] = &t.impl().array;
        wanted |= is_differentiable(t.dtype()) && t.requires_grad();
    });
    return wanted && grad_mode;
}

template <class E> void attach(AnyTensor const& result, E const& e, Shape const& space, std::unique_ptr<SumOver> sum = nullptr)
{
    AnyTensor const* operands[E::leaves];
    each_tensor<0>(e, [&](std::size_t k, AnyTensor const& t) { operands[k] = &t; });
    result.impl().grad_fn = Ref<Node>(new FormulaNode<formula_of<E>>(FormulaOf<E>::make(e), operands, space, std::move(sum), result));
}

/// Evaluates an expression into `out`, which covers its index space or is summed over.
template <class E> void evaluate_into(TileOperand const& out, E const& e, AnyArray const* const* leaves, Shape const& space)
{
    auto const f = FormulaOf<E>::make(e);
    run_forward(FormulaTableOf<formula_of<E>>::table, &f, leaves, space, out);
}

/// Evaluates an expression in one pass and records it.
template <class E> Tensor<typename E::scalar> record(E const& e)
{
    using Y = typename E::scalar;
    AnyArray const* leaves[E::leaves];
    bool const wanted = collect(e, leaves);
    Shape const space = space_of(e, leaves);
    auto result = Tensor<Y>::empty(space);
    evaluate_into(output_operand(result.impl().array, leaf_info<Y>), e, leaves, space);
    if constexpr (Differentiable<Y>)
        if (wanted) attach(result, e, space);
    return result;
}

/// Sums an expression over axes (all of them without a list), times a factor, without storing its values, and records it.
/// A mean is a sum times 1 over the number of summands.
template <class E> Tensor<typename E::scalar> record_sum(std::string_view operation, E const& e, Axes const* over, bool keepdims, bool mean = false)
{
    using Y = typename E::scalar;
    using W = wide<Y>;
    AnyArray const* leaves[E::leaves];
    bool const wanted = collect(e, leaves);
    Shape const space = space_of(e, leaves);
    Axes axes = over ? normalize_axes(operation, *over, space.size()) : all_axes(space.size());
    auto const& info = leaf_info<Y>;
    AnyArray sums = zeroed(reduced_shape(space, axes, true), info.wide_element);
    double const scale = mean ? static_cast<double>(sums.numel) / static_cast<double>(numel(space)) : 1;
    if (sums.numel) evaluate_into(sum_operand(sums, info), e, leaves, space);
    if (mean) scale_elements(as<W>(sums), scale);
    info.narrow(sums);
    if (!keepdims) {
        sums.shape = reduced_shape(space, axes, false);
        sums.strides = row_major(sums.shape);
    }
    Tensor<Y> result(std::move(as<Y>(sums)));
    if constexpr (Differentiable<Y>)
        if (wanted) attach(result, e, space, std::make_unique<SumOver>(std::move(axes), scale, space));
    return result;
}

}  // namespace xgrad::detail

namespace xgrad {

template <Scalar T>
template <class Op, class... X>
    requires std::same_as<typename Expression<Op, X...>::scalar, T>
Tensor<T>::Tensor(Expression<Op, X...> const& e) : Tensor(detail::record(e))
{
}

}  // namespace xgrad
