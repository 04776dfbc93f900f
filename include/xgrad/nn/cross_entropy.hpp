// Losses of classification: the classes are axis 1 of the input, [N, C, ...], or the only one, [C].
//
// Shapes: input: [N, C, ...] or [C]; targets are classes, [N, ...] or one, or probabilities of the
// input's shape. A mean or sum has no dimensions; reduction none gives one for each sample.
// Gradients: of the input, and of a target of probabilities, of any order, in backward and forward
// mode. Classes and class weights have none; ignored targets give 0.
// Errors: shapes that do not fit are a ShapeError, a class out of range is an IndexError. A
// label_smoothing outside of [0, 1], an unknown reduction and an undefined tensor are an Error.
// Complex tensors do not compile.
#pragma once

#include <xgrad/nn/losses.hpp>

namespace xgrad::nn {

/// Options of a loss over classes.
template <RealScalar T> struct ClassLossOptions {
    /// A weight for each class; undefined means ones.
    Tensor<T> weight = {};
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
    /// Targets of this class have no loss and no gradient and are not counted in the mean.
    std::int64_t ignore_index = -100;
    /// This part of the target is distributed evenly among all classes (cross_entropy() only).
    double label_smoothing = 0;
};

namespace detail {

/// The class axis of a loss's input, the number of classes, and their weights in a shape that
/// broadcasts with the input.
template <RealScalar T> struct Classes {
    std::size_t axis;
    std::size_t count;
    Tensor<T> weight;

    Classes(std::string_view name, Tensor<T> const& input, ClassLossOptions<T> const& options)
        : axis(input.dim(name.data()) > 1) {
        if (input.dim() == 0)
            xgrad::detail::fail<ShapeError>(name, ": the input needs an axis of classes");
        count = input.shape()[axis];
        if (options.weight.defined() && !(options.weight.shape() == Shape{count}))
            xgrad::detail::fail<ShapeError>(
                name, ": the weight of ", count, " classes has shape ", options.weight.shape());
        Axes along(input.dim() - axis, 1);
        along[0] = static_cast<std::ptrdiff_t>(count);
        weight =
            reshape(options.weight.defined() ? options.weight.detach() : ones<T>({count}), along);
    }
    Axes over() const { return {static_cast<std::ptrdiff_t>(axis)}; }
};

/// A class for each sample. Tensors with one element a sample keep the class axis with extent 1.
template <RealScalar T> struct Targets {
    Classes<T> classes;
    Tensor<std::int64_t> number; // 0 where the sample is ignored
    Tensor<bool> counts;
    Tensor<T> weight; // 0 where the sample is ignored

    Targets(std::string_view name, Tensor<T> const& input, Tensor<std::int64_t> const& target,
        ClassLossOptions<T> const& options)
        : classes(name, input, options) {
        xgrad::detail::check_defined(name, target, 1);
        Shape wanted = input.shape();
        wanted.erase(classes.axis);
        if (!(target.shape() == wanted))
            xgrad::detail::fail<ShapeError>(name, ": an input of shape ", input.shape(),
                " needs targets of shape ", wanted, ", not ", target.shape());
        auto const n = static_cast<std::int64_t>(classes.count);
        for (auto const c : xgrad::detail::contiguous(target.array_of()))
            if (c != options.ignore_index && (c < 0 || c >= n))
                xgrad::detail::fail<IndexError>(
                    name, ": Target ", c, " is out of bounds of ", n, " classes");
        NoGradGuard const off;
        auto const at = unsqueeze(target, static_cast<std::ptrdiff_t>(classes.axis));
        counts = at != options.ignore_index;
        number = where(counts, at, std::int64_t{0});
        if (options.weight.defined())
            weight = where(counts,
                reshape(index_select(options.weight, 0, flatten(number)), at.shape()), T(0));
        else weight = cast<T>(counts);
    }

    /// The element of x at each sample's target class.
    template <Operand X> auto own(X const& x) const {
        return gather(x, static_cast<std::ptrdiff_t>(classes.axis), number);
    }
    /// Reduces the losses of the samples that are not ignored; the mean is weighted.
    template <Operand X>
    Tensor<T> reduced(std::string_view name, X const& losses, Reduction reduction) const {
        auto const counted = where(counts, losses, T(0));
        if (reduction == Reduction::mean) return sum(counted) / sum(weight);
        if (reduction == Reduction::sum) return sum(counted);
        return detail::reduced(name,
            squeeze(Tensor<T>(counted), static_cast<std::ptrdiff_t>(classes.axis)), reduction);
    }
};

} // namespace detail

namespace functional {

/// -w_t input_t for the class t of each target: of logarithms of probabilities, which log_softmax()
/// makes. The mean is over the weights of the targets; NaN where all are ignored.
template <RealScalar T>
Tensor<T> nll_loss(Tensor<T> const& input, Tensor<std::int64_t> const& target,
    std::type_identity_t<ClassLossOptions<T>> const& options = {}) {
    detail::Targets<T> const of("nll_loss", input, target, options);
    return of.reduced("nll_loss", -of.weight * of.own(input), options.reduction);
}

/// nll_loss of log_softmax(input): the input has any real number (logit) for each class.
template <RealScalar T>
Tensor<T> cross_entropy(Tensor<T> const& input, Tensor<std::int64_t> const& target,
    std::type_identity_t<ClassLossOptions<T>> const& options = {}) {
    double const smoothing =
        detail::checked_probability("cross_entropy: label_smoothing", options.label_smoothing);
    detail::Targets<T> const of("cross_entropy", input, target, options);
    auto const own =
        of.own(input); // recorded first, so that its gradient comes last and accumulates in place
    auto const largest = finite_largest(input, of.classes.over());
    auto const all = sum(exp(input - largest), of.classes.over(), keepdims);
    if (smoothing == 0)
        return of.reduced(
            "cross_entropy", of.weight * (log(all) - (own - largest)), options.reduction);
    auto const share = static_cast<T>(smoothing / static_cast<double>(of.classes.count));
    Tensor<T> const log_all = log(all);
    auto const others =
        sum(of.classes.weight * (log_all - (input - largest)), of.classes.over(), keepdims);
    return of.reduced("cross_entropy",
        static_cast<T>(1 - smoothing) * of.weight * (log_all - (own - largest)) + share * others,
        options.reduction);
}

/// Cross entropy with class probabilities as target, of the input's shape. The mean is over the
/// samples and not weighted.
template <RealScalar T>
Tensor<T> cross_entropy(Tensor<T> const& input, Tensor<T> const& target,
    std::type_identity_t<ClassLossOptions<T>> const& options = {}) {
    double const smoothing =
        detail::checked_probability("cross_entropy: label_smoothing", options.label_smoothing);
    detail::check_same_shape("cross_entropy", input, target);
    detail::Classes<T> const c("cross_entropy", input, options);
    auto const own = static_cast<T>(1 - smoothing),
               all = static_cast<T>(smoothing / static_cast<double>(c.count));
    Tensor<T> const losses = sum(
        -c.weight * (own * target + all) * log_softmax(input, static_cast<std::ptrdiff_t>(c.axis)),
        c.over());
    return detail::reduced("cross_entropy", losses, options.reduction);
}

XGRAD_OF_EXPRESSION(nll_loss)
XGRAD_OF_EXPRESSION(cross_entropy)

} // namespace functional
} // namespace xgrad::nn
