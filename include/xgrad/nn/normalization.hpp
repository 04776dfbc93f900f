// Batch and group normalisation.
//
// Shapes: x: [N, C, ...] gives the same shape; weight, bias and running moments are [C].
// BatchNorm1d takes [N, C] or [N, C, L], BatchNorm2d [N, C, H, W].
// Gradients: of x, weight and bias, of any order, in backward and forward mode. Running moments are
// updated in place, unrecorded, and have none.
// Errors: ShapeError for shapes that do not fit, for groups that do not divide the channels, and
// for a single value per channel in training; Error for evaluation without running moments, or with
// one of the two, and for an undefined input. Complex tensors do not compile.
#pragma once

#include <optional>

#include <xgrad/core/choice.hpp>
#include <xgrad/nn/module.hpp>
#include <xgrad/nn/standardize.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::nn {

namespace detail {

/// The geometry of an input [N, C, ...]: each channel is a group.
StandardizeGeometry channel_geometry(std::string_view name, Shape const& shape);
template <Scalar T>
void check_of_channels(
    std::string_view name, std::string_view which, Tensor<T> const& t, std::size_t channels) {
    if (t.defined() && !(t.shape() == Shape{channels}))
        xgrad::detail::fail<ShapeError>(name, ": ", which, " should contain ", channels,
            " elements, not have shape ", t.shape());
}

} // namespace detail

namespace functional {

/// (x - mean) / sqrt(variance + eps) w + b for each channel of x, of shape [N, C, ...]. In training
/// the moments are those of x, and the running ones, where there are any, move towards them by the
/// momentum (their variance is that with N - 1); else moments are the running ones. Ioffe and
/// Szegedy, 2015.
template <RealScalar T>
Tensor<T> batch_norm(Tensor<T> const& x, std::type_identity_t<Tensor<T>> running_mean,
    std::type_identity_t<Tensor<T>> running_var, std::type_identity_t<Tensor<T>> const& weight = {},
    std::type_identity_t<Tensor<T>> const& bias = {}, Flag training = false, double momentum = 0.1,
    double eps = 1e-5) {
    using xgrad::detail::fail;
    auto g = detail::channel_geometry("batch_norm", x.shape());
    g.over_samples = true;
    g.eps = eps;
    detail::check_of_channels("batch_norm", "running_mean", running_mean, g.groups);
    detail::check_of_channels("batch_norm", "running_var", running_var, g.groups);
    detail::check_of_channels("batch_norm", "weight", weight, g.groups);
    detail::check_of_channels("batch_norm", "bias", bias, g.groups);
    if (running_mean.defined() != running_var.defined() || (!training && !running_mean.defined()))
        fail("batch_norm: Expected running_mean and running_var to be defined when training=False, "
             "and both or none of them");
    if (!training) {
        Axes along(x.dim(), 1);
        along[1] = static_cast<std::ptrdiff_t>(g.groups);
        Tensor<T> const by = rsqrt(running_var + static_cast<T>(eps)),
                        factor = weight.defined() ? Tensor<T>(by * weight) : by;
        Tensor<T> const moved =
            (x - reshape(running_mean.clone(), along)) *
            reshape(factor, along); // a copy: training may change the buffer before backward()
        return bias.defined() ? Tensor<T>(moved + reshape(bias, along)) : moved;
    }
    if (g.count() == 1)
        fail<ShapeError>(
            "batch_norm: Expected more than 1 value per channel when training, got input size ",
            x.shape());
    auto [y, moments] = detail::standardize(g, x, weight, bias);
    if (running_mean.defined() && g.count() > 0) {
        T *const mean = running_mean.mutable_strided_data(), *const variance =
                                                                 running_var.mutable_strided_data();
        for (std::size_t c = 0; c < g.groups; ++c) {
            auto const at_mean = static_cast<std::ptrdiff_t>(c) * running_mean.strides()[0],
                       at_variance = static_cast<std::ptrdiff_t>(c) * running_var.strides()[0];
            mean[at_mean] = static_cast<T>(
                (1 - momentum) * static_cast<double>(mean[at_mean]) + momentum * moments[c].mean);
            variance[at_variance] =
                static_cast<T>((1 - momentum) * static_cast<double>(variance[at_variance]) +
                               momentum * moments[c].variance * (g.count() / (g.count() - 1)));
        }
    }
    return std::move(y);
}

/// (x - mean) / sqrt(variance + eps) w + b: moments of each sample and each group of channels of x,
/// of shape [N, C, ...]; w and b for each channel. Wu and He, 2018.
template <RealScalar T>
Tensor<T> group_norm(Tensor<T> const& x, std::size_t num_groups,
    std::type_identity_t<Tensor<T>> const& weight = {},
    std::type_identity_t<Tensor<T>> const& bias = {}, double eps = 1e-5) {
    auto g = detail::channel_geometry("group_norm", x.shape());
    if (num_groups == 0 || g.groups % num_groups != 0)
        xgrad::detail::fail<ShapeError>("group_norm: Expected number of channels in input to be "
                                        "divisible by num_groups, but got input of shape ",
            x.shape(), " and num_groups=", num_groups);
    detail::check_of_channels("group_norm", "weight", weight, g.groups);
    detail::check_of_channels("group_norm", "bias", bias, g.groups);
    g.channels = g.groups / num_groups;
    g.groups = num_groups;
    g.eps = eps;
    if (g.samples * g.channels * g.positions == 1)
        xgrad::detail::fail<ShapeError>(
            "group_norm: Expected more than 1 value per channel when training, got input size ",
            x.shape());
    return detail::standardize(g, x, weight, bias).first;
}

} // namespace functional

/// Options of BatchNorm1d, BatchNorm2d and distributed::SyncBatchNorm.
struct BatchNormOptions {
    double eps = 1e-5; // added to the variance before the square root
    /// Factor of a new batch in the running moments. std::nullopt means the mean of all batches.
    std::optional<double> momentum = 0.1;
    /// With `affine` there are a weight and a bias, with `track_running_stats` there are running
    /// moments. Without running moments, evaluation uses the moments of the batch.
    bool affine = true, track_running_stats = true;
};

namespace detail {

/// weight is initially ones, bias zeros; the buffers running_mean, running_var and
/// num_batches_tracked are 0, 1 and 0. Without running moments, evaluation uses those of the batch,
/// too.
template <class Self, RealScalar T> struct BatchNormLayer : Module<Self> {
    using Options = BatchNormOptions;
    Options options;
    Parameter<T> weight, bias;
    Buffer<T> running_mean, running_var;
    Buffer<std::int64_t> num_batches_tracked;

    BatchNormLayer(std::string_view name, std::size_t least, std::size_t most,
        std::size_t num_features, BatchNormOptions const& o)
        : options(o), weight(*this, "weight", when(o.affine, num_features, 1)),
          bias(*this, "bias", when(o.affine, num_features, 0)),
          running_mean(*this, "running_mean", when(o.track_running_stats, num_features, 0)),
          running_var(*this, "running_var", when(o.track_running_stats, num_features, 1)),
          num_batches_tracked(*this, "num_batches_tracked",
              o.track_running_stats ? Tensor<std::int64_t>(0) : Tensor<std::int64_t>()),
          name_(name), least_(least), most_(most), features_(num_features) {}
    std::size_t num_features() const noexcept { return features_; }
    Tensor<T> forward(Tensor<T> const& x) {
        if (x.dim() < least_ || x.dim() > most_)
            xgrad::detail::fail<ShapeError>(name_, ": expected ",
                least_ == most_ ? std::to_string(least_) + "D"
                                : std::to_string(least_) + "D or " + std::to_string(most_) + "D",
                " input (got ", x.dim(), "D input), not of shape ", x.shape());
        if (x.shape()[1] != features_)
            xgrad::detail::fail<ShapeError>(
                name_, ": expected input with ", features_, " channels, not of shape ", x.shape());
        bool const tracks = options.track_running_stats, training = this->is_training() || !tracks;
        double momentum = 0;
        if (training && tracks)
            momentum =
                options.momentum.value_or(1 / static_cast<double>(num_batches_tracked.item() + 1));
        Tensor<T> const y = functional::batch_norm(x, running_mean.handle_of(),
            running_var.handle_of(), weight, bias, training, momentum, options.eps);
        if (training && tracks) ++*num_batches_tracked.mutable_data();
        return y;
    }
    std::string extra_repr() const override {
        auto const yes = [](bool on) { return on ? "true" : "false"; };
        return std::to_string(features_) + ", eps=" + xgrad::detail::number_text(options.eps) +
               ", momentum=" +
               (options.momentum ? xgrad::detail::number_text(*options.momentum) : "none") +
               ", affine=" + yes(options.affine) +
               ", track_running_stats=" + yes(options.track_running_stats);
    }

private:
    static Tensor<T> when(bool on, std::size_t n, int value) {
        return on ? full<T>({n}, static_cast<T>(value)) : Tensor<T>();
    }

    std::string_view name_;
    std::size_t least_, most_, features_;
};

} // namespace detail

/// functional::batch_norm() of inputs [N, C] or [N, C, L]: by the batch in training, by running
/// moments in evaluation.
template <RealScalar T = double> struct BatchNorm1d : detail::BatchNormLayer<BatchNorm1d<T>, T> {
    explicit BatchNorm1d(std::size_t num_features, BatchNormOptions const& o = {})
        : detail::BatchNormLayer<BatchNorm1d<T>, T>("BatchNorm1d", 2, 3, num_features, o) {}
};
/// functional::batch_norm() of inputs [N, C, H, W], as BatchNorm1d.
template <RealScalar T = double> struct BatchNorm2d : detail::BatchNormLayer<BatchNorm2d<T>, T> {
    explicit BatchNorm2d(std::size_t num_features, BatchNormOptions const& o = {})
        : detail::BatchNormLayer<BatchNorm2d<T>, T>("BatchNorm2d", 4, 4, num_features, o) {}
};

/// Options of GroupNorm.
struct GroupNormOptions {
    double eps = 1e-5;  // added to the variance before the square root
    bool affine = true; // false for no weight and no bias
};

/// functional::group_norm() with a weight (initially ones) and a bias (zeros) for each channel.
template <RealScalar T = double> struct GroupNorm : Module<GroupNorm<T>> {
    using Options = GroupNormOptions;
    std::size_t num_groups; // it divides num_channels
    double eps;             // added to the variance before the square root
    /// `weight` and `bias` are [num_channels], and undefined without affine.
    Parameter<T> weight, bias;

    template <std::floating_point Real>
    GroupNorm(std::size_t groups, std::size_t num_channels, Real epsilon, bool affine = true)
        : GroupNorm(groups, num_channels, Options{epsilon, affine}) {}
    GroupNorm(std::size_t groups, std::size_t num_channels, Options const& o = {})
        : num_groups(groups), eps(o.eps),
          weight(*this, "weight", o.affine ? ones<T>({num_channels}) : Tensor<T>()),
          bias(*this, "bias", o.affine ? zeros<T>({num_channels}) : Tensor<T>()) {
        if (groups == 0 || num_channels % groups != 0)
            xgrad::detail::fail<ShapeError>("GroupNorm: num_channels ", num_channels,
                " must be divisible by num_groups ", groups);
    }
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::group_norm(x, num_groups, weight, bias, eps);
    }
    std::string extra_repr() const override {
        return std::to_string(num_groups) + ", eps=" + xgrad::detail::number_text(eps) +
               ", affine=" + (weight.defined() ? "true" : "false");
    }
};

} // namespace xgrad::nn
