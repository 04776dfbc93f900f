// The sum over ranks as an operation that is differentiated.
//
// Shapes: all ranks give the same shape, and get it.
// Gradients: summed over the ranks, as the values are; of any order. All ranks call backward().
// Errors: DistributedError where the ranks differ, stop or do not answer; an undefined tensor is an
// Error. Integers do not compile.
#pragma once

#include <xgrad/tensor/function.hpp>
#include <xgrad_distributed/process_group.hpp>

namespace xgrad::distributed {

namespace detail {

template <Differentiable T> struct SumOverRanks : Function<SumOverRanks<T>> {
    using Base = Function<SumOverRanks<T>>;
    using Saved = std::tuple<>;
    struct Data {
        std::optional<ProcessGroup> group;
    };
    static Tensor<T> forward(
        typename Base::Context& ctx, Tensor<T> const& x, ProcessGroup const& group) {
        ctx.group = group;
        Tensor<T> const total = x.clone();
        group.allreduce(total, Reduction::sum, "sum_over_ranks");
        return total;
    }
    static std::tuple<Tensor<T>, std::nullopt_t> backward(
        typename Base::Context& ctx, Tensor<T> const& g) {
        return {SumOverRanks::apply(g, *ctx.group), std::nullopt};
    }
};

} // namespace detail

/// The sum of the tensors of all ranks, on each of them. Its gradient is that of the sum of all
/// ranks' losses: all ranks call backward(), and their gradients are added up as the values were.
/// Any order of derivative works.
template <Differentiable T>
Tensor<T> sum_over_ranks(Tensor<T> const& x, ProcessGroup const& group) {
    return detail::SumOverRanks<T>::apply(x, group);
}

} // namespace xgrad::distributed
