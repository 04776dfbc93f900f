// FusedSum: computes a full sum and its gradients in one pass, before backward() is called, and
// creates the gradients of every pass of a FusedNode.
// The early gradients save a second evaluation of the expression where backward() follows
// (benchmark: rational). RecordTable::use and WaitingGradients stop this where it does not.
#pragma once

#include <numeric>

#include <xgrad/ops/part_loop.hpp>
#include <xgrad/tensor/fused_operands.hpp>

namespace xgrad::detail {

class FusedSum : public FusedOperands {
public:
    /// True where a full sum computes its gradients too: backward() is likely to follow.
    static bool sums_at_once(BoundOperands const& in) {
        auto const& table = in.plan->table;
        return in.count() != 0 && !default_packing &&
               table.use->load(std::memory_order_relaxed) >= 0 &&
               WaitingGradients::fits(in.count() * in.plan->edges * table.kernels.leaf[0]->element);
    }
    /// Computes the scaled sum; stores the gradients until backward().
    double sum_at_once(BoundOperands const& in) {
        return sum_->scale * make_ready(in.arrays, in.contiguous);
    }

protected:
    using FusedOperands::FusedOperands;

    /// Computes the early gradients again, bit-identical. Values that they do not read may be
    /// freed: any array of that shape replaces them.
    [[gnu::cold]] void make_ready_again() {
        std::size_t const n = leaves();
        LocalArray<AnyArray, 6> values(n);
        LocalArray<AnyArray const*, 6> arrays(n);
        for (std::size_t i = 0; i < plan_.slots; ++i) values[plan_.slot_operand[i]] = slot_array(i);
        bool contiguous = contiguous_;
        for (std::size_t k = 0; k < n; ++k) {
            auto& value = values[first_of(k)];
            if (!value.defined()) value = zeroed(leaf_shape(k), table().kernels.leaf[k]->element);
            contiguous &= value.contiguous;
            arrays[k] = &value;
        }
        make_ready(arrays.data(), contiguous);
    }

    /// Creates a gradient of a tiled pass: zeros to accumulate into where the operand was
    /// broadcast, otherwise an array with the strides of `like`.
    void create_gradient(
        std::size_t k, AnyArray const* like, AnyArray& gradient, TileOperand& operand) const {
        operand = absent_output();
        if (!makes_gradient(k)) return;
        auto const& info = *table().kernels.leaf[k];
        if (is_broadcast(k)) {
            gradient = zeroed(leaf_shape(k), info.wide_element);
            operand = sum_operand(gradient, info);
            operand.kernel_adds = true;
        } else {
            gradient = like ? fresh_like(*like, info.element) : AnyArray(space_, info.element);
            operand = output_operand(gradient, info);
            operand.over = static_cast<std::int8_t>(k);
        }
    }
    /// Operands whose gradients the tile loop asks a kernel to accumulate.
    LeafMask leaves_added_to(TileFacts const& facts) const {
        std::size_t const first_gradient = leaves() + 2;
        return first_gradient < 64 ? facts.added_to >> first_gradient : 0;
    }
    AnyTensor finished_gradient(std::size_t k, AnyArray& gradient) const {
        if (is_broadcast(k)) table().kernels.leaf[k]->narrow(gradient);
        return AnyTensor(TensorImpl::make(*table().leaf_types[k], std::move(gradient)));
    }

    /// Creates the gradients of a pass in blocks by make(edge, operand).
    template <class Make>
    void create_gradients(
        BlockLoop& loop, BroadcastOperands const& broadcast_operands, Make make) const {
        std::size_t const first_gradient = leaves() + 2;
        for (std::size_t k = 0; k < leaves(); ++k) loop.absent(first_gradient + k);
        for (std::size_t edge = 0; edge < plan_.edges; ++edge) {
            std::size_t const k = plan_.target[edge];
            auto const& info = *table().kernels.leaf[k];
            AnyArray const& gradient = make(edge, k).array;
            if (broadcast_operands.all >> k & 1)
                loop.sum(first_gradient + k, k, gradient.data, gradient.numel, info);
            else loop.contiguous(first_gradient + k, gradient.data, info.element);
        }
    }

private:
    double make_ready(AnyArray const* const* arrays, bool contiguous) {
        double const sum = contiguous ? sum_contiguous(arrays) : sum_in_blocks_or_tiles(arrays);
        std::size_t bytes = 0;
        for (auto const& gradient : ready()) bytes += gradient.handle()->array.storage->bytes();
        WaitingGradients::begin(bytes);
        waiting_ = bytes;
        return sum;
    }
    double run(void* const* at, std::size_t count, LeafMask constant, LeafMask added_to) const {
        return sum_->kernel(
            expression_object(), plan_.gradients, at, sum_->scale, count, constant, added_to);
    }

    double sum_contiguous(AnyArray const* const* arrays) {
        std::size_t const n = leaves(), first_gradient = n + 2;
        void* at[TileLoop::max_operands];
        for (std::size_t k = 0; k < n; ++k) {
            at[k] = arrays[k]->data;
            at[first_gradient + k] = nullptr;
        }
        auto const ready = this->ready();
        for (std::size_t i = 0; i < ready.size(); ++i) {
            std::size_t const k = plan_.target[i];
            ready[i] =
                AnyTensor(TensorImpl::make(*table().leaf_types[k], AnyArray::Layout{*arrays[k]}));
            at[first_gradient + k] = ready[i].handle()->array.data;
        }
        std::size_t const count = arrays[0]->numel;
        return count <= part_size ? run(at, count, 0, 0) : sum_of_parts(at, count);
    }
    [[gnu::noinline]] double sum_of_parts(void* const* at, std::size_t count) const {
        std::vector<double> sums((count + part_size - 1) / part_size);
        std::size_t const n = leaves(), first_gradient = n + 2;
        PartLoop loop(count);
        for (std::size_t k = 0; k < n; ++k) {
            auto const element = table().kernels.leaf[k]->element;
            loop.contiguous(k, at[k], element);
            loop.result(first_gradient + k, at[first_gradient + k], element);
        }
        loop.run([&](std::size_t part, void* const* here, std::size_t elements) {
            sums[part] += run(here, elements, 0, 0);
        });
        return std::accumulate(sums.begin(), sums.end(), 0.);
    }
    [[gnu::noinline]] double sum_in_blocks_or_tiles(AnyArray const* const* arrays) {
        auto const broadcast_operands = find_broadcast(table().kernels, arrays, space_);
        return broadcast_operands ? sum_in_blocks(arrays, *broadcast_operands) : sum_tiled(arrays);
    }
    double sum_in_blocks(
        AnyArray const* const* arrays, BroadcastOperands const& broadcast_operands) {
        std::size_t const n = leaves();
        BlockLoop loop(numel(space_), table().kernels, broadcast_operands, 2);
        loop.inputs(arrays);
        loop.absent(n);
        loop.absent(n + 1);
        create_gradients(
            loop, broadcast_operands, [&](std::size_t edge, std::size_t k) -> TensorImpl& {
                ready()[edge] = AnyTensor(
                    is_broadcast(k)
                        ? TensorImpl::make(*table().leaf_types[k], leaf_shape(k))
                        : TensorImpl::make(*table().leaf_types[k], AnyArray::Layout{*arrays[k]}));
                return ready()[edge].impl();
            });
        double sum = 0;
        loop.run(2 * n + 2, [&](void* const* at, std::size_t count, LeafMask added_to) {
            sum += run(at, count, loop.constant(), added_to);
        });
        return sum;
    }
    /// Gathers a tensor that is several operands once.
    [[gnu::noinline]] double sum_tiled(AnyArray const* const* arrays) {
        std::size_t const n = leaves(), first_gradient = n + 2;
        LocalArray<TileOperand, 14> operands(first_gradient + n);
        LocalArray<AnyArray, 6> gradients(n);
        for (std::size_t k = 0; k < n; ++k) {
            operands[k] = first_of(k) == k
                              ? input_operand(*arrays[k], *table().kernels.leaf[k], space_)
                              : absent_output();
            create_gradient(k, arrays[k], gradients[k], operands[first_gradient + k]);
        }
        operands[n] = operands[n + 1] = absent_output();
        double sum = 0;
        auto body = [&](void** at, std::size_t count, TileFacts facts) {
            for (std::size_t k = 0; k < n; ++k) {
                at[k] = at[first_of(k)];
                facts.constant |= (facts.constant >> first_of(k) & 1) << k;
            }
            sum += run(at, count, facts.constant, leaves_added_to(facts));
        };
        TileLoop(space_, operands.data(), first_gradient + n).run(tile_body(body));
        for (std::size_t k = 0; k < n; ++k)
            if (makes_gradient(k)) ready()[plan_.edge[k]] = finished_gradient(k, gradients[k]);
        return sum;
    }
};

} // namespace xgrad::detail
