// Batch normalisation by the moments of the batches of all ranks together.
//
// Shapes: x: [N, C, ...] of 2 to 5 axes gives the same shape; N may differ among the ranks.
// Gradients: of x, weight and bias, through the moments of all ranks, of any order. All ranks call
// backward().
// Errors: ShapeError for shapes that do not fit, and for a single value per channel in training;
// DistributedError where the ranks differ, stop or do not answer; an undefined input is an Error.
// Complex tensors do not compile.
#pragma once

#include <xgrad/nn/normalization.hpp>
#include <xgrad_distributed/sum_over_ranks.hpp>

namespace xgrad::distributed {

/// nn::BatchNorm1d and nn::BatchNorm2d of inputs [N, C, ...] with the moments of all ranks' inputs
/// in training, where all ranks call it and its backward pass; N may differ. In evaluation it asks
/// no other rank. Where ranks take different branches of a model, give its layers a group of their
/// own: group.duplicate().
template <RealScalar T = double>
struct SyncBatchNorm : nn::detail::BatchNormLayer<SyncBatchNorm<T>, T> {
    /// The implementation that it shares with nn::BatchNorm1d and nn::BatchNorm2d.
    using Base = nn::detail::BatchNormLayer<SyncBatchNorm<T>, T>;

    SyncBatchNorm(std::size_t num_features, ProcessGroup group, nn::BatchNormOptions const& o = {})
        : Base("SyncBatchNorm", 2, 5, num_features, o), features_(num_features),
          group_(std::move(group)) {}

    Tensor<T> forward(Tensor<T> const& x) {
        bool const tracks = this->options.track_running_stats;
        if (!this->is_training() && tracks) return Base::forward(x);
        if (x.dim() < 2 || x.dim() > 5 || x.shape()[1] != features_)
            detail::fail<ShapeError>(
                "SyncBatchNorm: expected input [N, C, ...] of 2 to 5 axes with ", features_,
                " channels, not of shape ", x.shape());
        Axes over{0}, along(x.dim(), 1);
        for (std::size_t d = 2; d < x.dim(); ++d) over.push_back(static_cast<std::ptrdiff_t>(d));
        along[1] = static_cast<std::ptrdiff_t>(features_);

        Tensor<T> const count({static_cast<T>(x.numel() / features_)});
        Tensor<T> const sums =
            sum_over_ranks(cat(std::vector{Tensor<T>(sum(x, over)), count}), group_);
        auto const n = static_cast<double>(sums.data()[features_]);
        if (n < 2)
            detail::fail<ShapeError>("SyncBatchNorm: Expected more than 1 value per channel when "
                                     "training, got input size ",
                x.shape());
        Tensor<T> const mean = sums(slice(0, along[1])) / static_cast<T>(n);
        Tensor<T> const centred = x - reshape(mean, along);
        Tensor<T> const variance =
            sum_over_ranks(Tensor<T>(sum(square(centred), over)), group_) / static_cast<T>(n);
        if (tracks) track(mean.detach(), variance.detach(), n);
        Tensor<T> const factor = rsqrt(variance + static_cast<T>(this->options.eps));
        if (!this->weight.defined()) return centred * reshape(factor, along);
        return centred * reshape(Tensor<T>(factor * this->weight), along) +
               reshape(this->bias, along);
    }

private:
    /// Moves the running moments towards those of a batch of n; the variance is that with n - 1.
    void track(Tensor<T> const& mean, Tensor<T> const& variance, double n) {
        NoGradGuard const off;
        auto const batches = ++*this->num_batches_tracked.mutable_data();
        auto const m =
            static_cast<T>(this->options.momentum.value_or(1 / static_cast<double>(batches)));
        auto const unbiased = static_cast<T>(n / (n - 1));
        this->running_mean.copy_((1 - m) * this->running_mean + m * mean);
        this->running_var.copy_((1 - m) * this->running_var + (m * unbiased) * variance);
    }

    std::size_t features_;
    ProcessGroup group_;
};

} // namespace xgrad::distributed
