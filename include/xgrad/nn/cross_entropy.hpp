// Losses of classification: the classes are axis 1 of the input, [N, C, ...], or the only one, [C].
#pragma once

#include <xgrad/nn/losses.hpp>

namespace xgrad::nn {

/// Beside input and target of a loss over classes.
template <RealScalar T> struct ClassLossOptions {
    /// One for each class; undefined for ones.
    Tensor<T> weight = {};
    Reduction reduction = Reduction::mean;
    /// Targets of this class have no loss and no gradient, and do not count in the mean.
    std::int64_t ignore_index = -100;
    /// This part of the target goes to all classes alike (cross_entropy() only).
    double label_smoothing = 0;
};

namespace detail {

/// Targets and weights of a loss over classes, in the shapes that broadcast against the input.
template <RealScalar T> struct Classes {
    std::ptrdiff_t axis;
    Tensor<std::int64_t> index;   // of the class, along its axis
    Tensor<std::int64_t> target;  // with an axis of extent 1 for it
    Tensor<T> weight;             // of the classes
    Tensor<T> weight_of_target;   // 0 where it is ignored; no axis of classes

    Classes(std::string_view name, Tensor<T> const& input, Tensor<std::int64_t> const& of, ClassLossOptions<T> const& options) : Classes(name, input, options)
    {
        Shape wanted = input.shape();
        wanted.erase(static_cast<std::size_t>(axis));
        if (!(of.shape() == wanted)) xgrad::detail::fail<ShapeError>(name, ": an input of shape ", input.shape(), " needs targets of shape ", wanted, ", not ", of.shape());
        auto const n = static_cast<std::int64_t>(index.numel());
        for (auto const c : of.array_of())
            if (c != options.ignore_index && (c < 0 || c >= n)) xgrad::detail::fail<IndexError>(name, ": Target ", c, " is out of bounds of ", n, " classes");
        NoGradGuard const off;
        target = unsqueeze(of, axis);
        weight_of_target = sum(where(index == target && target != options.ignore_index, weight, T(0)), {axis});
    }
    Classes(std::string_view name, Tensor<T> const& input, ClassLossOptions<T> const& options)
    {
        if (input.dim() == 0) xgrad::detail::fail<ShapeError>(name, ": the input needs an axis of classes");
        axis = input.dim() == 1 ? 0 : 1;
        auto const n = input.shape()[static_cast<std::size_t>(axis)];
        if (options.weight.defined() && !(options.weight.shape() == Shape{n})) xgrad::detail::fail<ShapeError>(name, ": the weight of ", n, " classes has shape ", options.weight.shape());
        Axes along(input.dim() - static_cast<std::size_t>(axis), 1);
        along[0] = static_cast<std::ptrdiff_t>(n);
        index = reshape(arange<std::int64_t>(0, static_cast<std::int64_t>(n)), along);
        weight = reshape(options.weight.defined() ? options.weight.detach() : ones<T>({n}), along);
    }

    /// Losses of single targets, reduced; their mean is weighted.
    Tensor<T> reduced(std::string_view name, Tensor<T> const& losses, Reduction reduction) const
    {
        return reduction == Reduction::mean ? Tensor<T>(sum(losses) / sum(weight_of_target)) : detail::reduced(name, losses, reduction);
    }
};

template <RealScalar T> double checked_smoothing(ClassLossOptions<T> const& options)
{
    double const smoothing = options.label_smoothing;
    if (!(smoothing >= 0 && smoothing <= 1)) xgrad::detail::fail("cross_entropy: label_smoothing must lie between 0 and 1");
    return smoothing;
}

}  // namespace detail

namespace functional {

/// -w_t input_t for the class t of each target: of logarithms of probabilities, which log_softmax() makes. The mean is over the
/// weights of the targets; NaN where all are ignored.
template <RealScalar T> Tensor<T> nll_loss(Tensor<T> const& input, Tensor<std::int64_t> const& target, std::type_identity_t<ClassLossOptions<T>> const& options = {})
{
    detail::Classes<T> const c("nll_loss", input, target, options);
    auto const chosen = c.index == c.target && c.target != options.ignore_index;
    return c.reduced("nll_loss", sum(where(chosen, -c.weight * input, T(0)), {c.axis}), options.reduction);
}

/// nll_loss of log_softmax(input): of any real numbers, one for each class.
template <RealScalar T> Tensor<T> cross_entropy(Tensor<T> const& input, Tensor<std::int64_t> const& target, std::type_identity_t<ClassLossOptions<T>> const& options = {})
{
    double const smoothing = detail::checked_smoothing(options);
    detail::Classes<T> const c("cross_entropy", input, target, options);
    Tensor<T> const log_p = log_softmax(input, c.axis);
    if (smoothing == 0) return nll_loss(log_p, target, options);
    auto const counts = c.target != options.ignore_index;
    auto const own = static_cast<T>(1 - smoothing), all = static_cast<T>(smoothing / static_cast<double>(c.index.numel()));
    auto const share = where(c.index == c.target, (own + all) * c.weight, all * c.weight);
    return c.reduced("cross_entropy", sum(where(counts, -share * log_p, T(0)), {c.axis}), options.reduction);
}

/// The same with a probability for each class as target, of the input's shape. The mean is over the targets, without weights.
template <RealScalar T> Tensor<T> cross_entropy(Tensor<T> const& input, Tensor<T> const& target, std::type_identity_t<ClassLossOptions<T>> const& options = {})
{
    double const smoothing = detail::checked_smoothing(options);
    detail::check_same_shape("cross_entropy", input, target);
    detail::Classes<T> const c("cross_entropy", input, options);
    auto const own = static_cast<T>(1 - smoothing), all = static_cast<T>(smoothing / static_cast<double>(c.index.numel()));
    Tensor<T> const losses = sum(-c.weight * (own * target + all) * log_softmax(input, c.axis), {c.axis});
    return detail::reduced("cross_entropy", losses, options.reduction);
}

}  // namespace functional
}  // namespace xgrad::nn
