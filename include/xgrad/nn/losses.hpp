// Losses as functions: how far an input is from a target. All of them take a Reduction.
//
// Shapes: input and target have the same shape, nothing broadcasts but weights. A mean or sum has
// no dimensions; reduction none gives the shape of the input, without the last axis for losses of
// rows.
// Gradients: of input and target, of any order, in backward and forward mode. l1_loss() has 0 where
// both are equal. mse_loss() and l1_loss() take complex tensors, too, whose gradient is dL/dRe + i
// dL/dIm.
// Errors: shapes that do not fit are a ShapeError. A delta or beta out of range, an input of
// binary_cross_entropy() outside of [0, 1], an unknown reduction, batch_mean of another loss than
// kl_div(), and an undefined tensor are an Error.
#pragma once

#include <xgrad/nn/functional.hpp>

namespace xgrad::nn {

/// How the losses of the elements are reduced: `none` returns all of them, `mean` and `sum` one
/// number. `batch_mean`, as a string "batchmean", divides their sum by the extent of the first
/// axis; for another loss than kl_div() it is an Error.
enum class Reduction : unsigned char { none, mean, sum, batch_mean };
constexpr std::string_view choice_names(Reduction) { return "reduction: none mean sum batchmean"; }

/// Options of MSELoss, L1Loss, mse_loss() and l1_loss().
struct LossOptions {
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
};
/// Options of HuberLoss and huber_loss().
struct HuberLossOptions {
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
    /// The loss is linear from this distance on. One that is not positive is an Error.
    double delta = 1;
};
/// Options of SmoothL1Loss and smooth_l1_loss().
struct SmoothL1LossOptions {
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
    /// The loss is linear from this distance on. With 0 it is that of L1Loss; a negative one is an
    /// Error.
    double beta = 1;
};
/// Options of BCELoss and binary_cross_entropy().
template <RealScalar T> struct BCELossOptions {
    Tensor<T> weight = {}; // factor of each loss, broadcast; undefined means ones
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
};
/// Options of BCEWithLogitsLoss and binary_cross_entropy_with_logits().
template <RealScalar T> struct BCEWithLogitsLossOptions {
    Tensor<T> weight = {}; // factor of each loss, broadcast; undefined means ones
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
    Tensor<T> pos_weight = {}; // factor of the target in each loss, broadcast; undefined means ones
};
/// Options of KLDivLoss and kl_div().
struct KLDivLossOptions {
    /// `none`, `mean`, `sum` or "batchmean"; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
    bool log_target = false; // true if the target has logarithms, too
};
/// Options of CosineEmbeddingLoss and cosine_embedding_loss().
struct CosineEmbeddingLossOptions {
    double margin = 0; // where the target is -1, a smaller cosine has no loss
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
};
/// Options of TripletMarginLoss and triplet_margin_loss().
struct TripletMarginLossOptions {
    /// There is no loss where the negative is farther than the positive by `margin`. Distances are
    /// p-norms with this `p`, of differences to which `eps` is added.
    double margin = 1, p = 2, eps = 1e-6;
    bool swap = false; // true to take the distance from positive to negative where that is smaller
    /// `none`, `mean` or `sum` of the losses; see Reduction.
    Choice<Reduction> reduction = Reduction::mean;
};

namespace detail {

template <class X> auto reduced(std::string_view name, X const& losses, Reduction reduction) {
    using Result = decltype(materialize_expression(losses));
    switch (reduction) {
    case Reduction::none:
        return Result(losses);
    case Reduction::mean:
        return Result(mean(losses));
    case Reduction::sum:
        return Result(sum(losses));
    default:
        xgrad::detail::fail(name, ": batch_mean is a reduction of kl_div alone");
    }
}
/// x^2/2 for |x| < delta, beyond it linear with slope delta.
struct Huber : Elementwise<R(R)> {
    double delta = 1;
    auto value(auto x) const {
        return where(abs(x) <= delta, 0.5 * x * x, delta * (abs(x) - 0.5 * delta));
    }
    auto partial(wrt<0>, auto, auto x) const { return where(abs(x) <= delta, x, delta * sgn(x)); }
};

/// As in PyTorch, logarithms are at least -100, and the derivative at 0 and 1 is finite.
struct BinaryCrossEntropy : Elementwise<R(R, R)> {
    static auto bounded(auto logarithm) { return where(logarithm < -100, -100, logarithm); }
    auto value(auto x, auto t) const { return (t - 1) * bounded(log1p(-x)) - t * bounded(log(x)); }
    auto partial(wrt<0>, auto, auto x, auto t) const {
        auto const variance = (1 - x) * x;
        return (x - t) / where(variance < 1e-12, 1e-12, variance);
    }
    auto partial(wrt<1>, auto, auto x, auto) const { return bounded(log1p(-x)) - bounded(log(x)); }
};

/// Losses do not broadcast: a target of another shape is nearly always a mistake.
template <class A, class B>
void check_same_shape(std::string_view name, A const& input, B const& target) {
    xgrad::detail::check_defined(name, input);
    xgrad::detail::check_defined(name, target, 1);
    Shape const a = input.shape(), b = target.shape();
    if (!(a == b))
        xgrad::detail::fail<ShapeError>(
            name, ": the input has shape ", a, " and the target ", b, "; they must be the same");
}

} // namespace detail

namespace functional {

/// |input - target|^2.
template <Operand X, Operand Y>
auto mse_loss(X const& input, Y const& target, Choice<Reduction> reduction = Reduction::mean) {
    detail::check_same_shape("mse_loss", input, target);
    return detail::reduced("mse_loss", abs2(input - target), reduction);
}
/// |input - target|, with gradient 0 where they are equal.
template <Operand X, Operand Y>
auto l1_loss(X const& input, Y const& target, Choice<Reduction> reduction = Reduction::mean) {
    detail::check_same_shape("l1_loss", input, target);
    return detail::reduced("l1_loss", abs(input - target), reduction);
}
/// d^2/2 for a distance d = |input - target| below delta, else delta (d - delta/2).
template <Operand X, Operand Y>
auto huber_loss(X const& input, Y const& target, Choice<Reduction> reduction = Reduction::mean,
    double delta = 1) {
    detail::check_same_shape("huber_loss", input, target);
    if (!(delta > 0)) xgrad::detail::fail("huber_loss: delta must be positive, and is ", delta);
    return detail::reduced(
        "huber_loss", express(detail::Huber{{}, delta}, input - target), reduction);
}
/// d^2/(2 beta) for a distance d below beta, else d - beta/2; l1_loss for beta = 0.
template <Operand X, Operand Y>
auto smooth_l1_loss(X const& input, Y const& target, Choice<Reduction> reduction = Reduction::mean,
    double beta = 1) {
    detail::check_same_shape("smooth_l1_loss", input, target);
    if (!(beta >= 0))
        xgrad::detail::fail("smooth_l1_loss: beta must not be negative, and is ", beta);
    if (beta == 0) return l1_loss(input, target, reduction);
    return detail::reduced(
        "smooth_l1_loss", (1 / beta) * express(detail::Huber{{}, beta}, input - target), reduction);
}

/// -(w+ t log p + (1 - t) log(1 - p)) for p = sigmoid(input), without overflow. `weight` and
/// `pos_weight` (w+) may be undefined; they are broadcast.
template <RealScalar T>
Tensor<T> binary_cross_entropy_with_logits(Tensor<T> const& input,
    std::type_identity_t<Tensor<T>> const& target, Choice<Reduction> reduction = Reduction::mean,
    std::type_identity_t<Tensor<T>> const& weight = {},
    std::type_identity_t<Tensor<T>> const& pos_weight = {}) {
    std::string_view const name = "binary_cross_entropy_with_logits";
    detail::check_same_shape(name, input, target);
    Shape const& shape = input.shape();
    if (pos_weight.defined())
        xgrad::detail::check_broadcasts(
            name, "a pos_weight", pos_weight.shape(), "an input", shape);
    if (weight.defined())
        xgrad::detail::check_broadcasts(name, "a weight", weight.shape(), "an input", shape);
    Tensor<T> loss;
    // -log p is softplus(-input), and -log(1 - p) is softplus(input): nothing cancels where p is
    // close to a target of 0 or 1
    if (pos_weight.defined())
        loss = pos_weight * target * xgrad::softplus(-input) +
               (T(1) - target) * xgrad::softplus(input);
    else loss = target * xgrad::softplus(-input) + (T(1) - target) * xgrad::softplus(input);
    if (weight.defined()) loss = loss * weight;
    return detail::reduced(name, loss, reduction);
}

/// -(t log(input) + (1 - t) log(1 - input)) for an input between 0 and 1; logarithms below -100
/// count as -100. Of logits take binary_cross_entropy_with_logits(), which does not overflow.
template <RealScalar T>
Tensor<T> binary_cross_entropy(Tensor<T> const& input,
    std::type_identity_t<Tensor<T>> const& target, Choice<Reduction> reduction = Reduction::mean,
    std::type_identity_t<Tensor<T>> const& weight = {}) {
    std::string_view const name = "binary_cross_entropy";
    detail::check_same_shape(name, input, target);
    if (!all_of(input >= T(0) && input <= T(1)).item())
        xgrad::detail::fail(name, ": all elements of input should be between 0 and 1");
    if (weight.defined())
        xgrad::detail::check_broadcasts(
            name, "a weight", weight.shape(), "an input", input.shape());
    Tensor<T> loss = express(detail::BinaryCrossEntropy{}, input, target);
    if (weight.defined()) loss = loss * weight;
    return detail::reduced(name, loss, reduction);
}

/// t (log t - input) with 0 log 0 = 0: the divergence of a distribution from the one whose
/// logarithm the input is. With log_target the target is a logarithm, too. The mean over all
/// elements is no divergence: take batch_mean, or sum.
template <RealScalar T>
Tensor<T> kl_div(Tensor<T> const& input, std::type_identity_t<Tensor<T>> const& target,
    Choice<Reduction> reduction = Reduction::mean, Flag log_target = false) {
    detail::check_same_shape("kl_div", input, target);
    auto const finish = [&](auto const& losses) -> Tensor<T> {
        if (reduction != Reduction::batch_mean) return detail::reduced("kl_div", losses, reduction);
        if (input.dim() == 0)
            xgrad::detail::fail<ShapeError>("kl_div: batch_mean of a tensor without axes");
        return sum(losses) / static_cast<T>(input.shape()[0]);
    };
    if (log_target) return finish(exp(target) * (target - input));
    auto const counts = target != T(0);
    return finish(where(counts, target * log(where(counts, target, T(1))), T(0)) - target * input);
}

/// Of rows x1 and x2 with angle phi: 1 - cos phi where the target is 1, max(0, cos phi - margin)
/// where it is -1. The last axis is that of a row; the target has the shape of the others.
template <RealScalar T>
Tensor<T> cosine_embedding_loss(Tensor<T> const& x1, std::type_identity_t<Tensor<T>> const& x2,
    std::type_identity_t<Tensor<T>> const& target, double margin = 0,
    Choice<Reduction> reduction = Reduction::mean) {
    detail::check_same_shape("cosine_embedding_loss", x1, x2);
    T const tiny = T(1e-12);
    Tensor<T> const product = sum(x1 * x2, {-1}), a = sum(square(x1), {-1}),
                    b = sum(square(x2), {-1});
    if (!(product.shape() == target.shape()))
        xgrad::detail::fail<ShapeError>("cosine_embedding_loss: inputs of shape ", x1.shape(),
            " need a target of shape ", product.shape(), ", not ", target.shape());
    auto const cosine = product / sqrt((a + tiny) * (b + tiny));
    auto const apart = clamp_min(
        cosine - static_cast<T>(margin), T(0)); // whose gradient at 0 is 1, unlike that of relu
    return detail::reduced("cosine_embedding_loss",
        where(target == T(1), T(1) - cosine, where(target == T(-1), apart, T(0))), reduction);
}

/// max(0, |a - p| - |a - n| + margin) with p-norms of rows (the last axis), to whose differences
/// eps is added as in PyTorch. With `swap` the smaller of |a - n| and |p - n| is taken.
template <RealScalar T>
Tensor<T> triplet_margin_loss(Tensor<T> const& anchor,
    std::type_identity_t<Tensor<T>> const& positive,
    std::type_identity_t<Tensor<T>> const& negative, double margin = 1, double p = 2,
    double eps = 1e-6, Flag swap = false, Choice<Reduction> reduction = Reduction::mean) {
    detail::check_same_shape("triplet_margin_loss", anchor, positive);
    detail::check_same_shape("triplet_margin_loss", anchor, negative);
    auto const distance = [&](Tensor<T> const& a, Tensor<T> const& b) {
        return Tensor<T>(norm(a - b + static_cast<T>(eps), p, {-1}));
    };
    Tensor<T> far = distance(anchor, negative);
    if (swap) far = minimum(far, distance(positive, negative));
    return detail::reduced("triplet_margin_loss",
        clamp_min(distance(anchor, positive) - far + static_cast<T>(margin), T(0)), reduction);
}

// With options by name: mse_loss(x, y, {.reduction = "sum"}).
template <Operand X, Operand Y> auto mse_loss(X const& x, Y const& target, LossOptions const& o) {
    return mse_loss(x, target, o.reduction);
}
template <Operand X, Operand Y> auto l1_loss(X const& x, Y const& target, LossOptions const& o) {
    return l1_loss(x, target, o.reduction);
}
template <Operand X, Operand Y>
auto huber_loss(X const& x, Y const& target, HuberLossOptions const& o) {
    return huber_loss(x, target, o.reduction, o.delta);
}
template <Operand X, Operand Y>
auto smooth_l1_loss(X const& x, Y const& target, SmoothL1LossOptions const& o) {
    return smooth_l1_loss(x, target, o.reduction, o.beta);
}
template <RealScalar T>
Tensor<T> binary_cross_entropy_with_logits(Tensor<T> const& input,
    std::type_identity_t<Tensor<T>> const& target,
    std::type_identity_t<BCEWithLogitsLossOptions<T>> const& o) {
    return binary_cross_entropy_with_logits(input, target, o.reduction, o.weight, o.pos_weight);
}
template <RealScalar T>
Tensor<T> binary_cross_entropy(Tensor<T> const& input,
    std::type_identity_t<Tensor<T>> const& target,
    std::type_identity_t<BCELossOptions<T>> const& o) {
    return binary_cross_entropy(input, target, o.reduction, o.weight);
}
template <RealScalar T>
Tensor<T> kl_div(Tensor<T> const& input, std::type_identity_t<Tensor<T>> const& target,
    KLDivLossOptions const& o) {
    return kl_div(input, target, o.reduction, o.log_target);
}
template <RealScalar T>
Tensor<T> cosine_embedding_loss(Tensor<T> const& x1, std::type_identity_t<Tensor<T>> const& x2,
    std::type_identity_t<Tensor<T>> const& target, CosineEmbeddingLossOptions const& o) {
    return cosine_embedding_loss(x1, x2, target, o.margin, o.reduction);
}
template <RealScalar T>
Tensor<T> triplet_margin_loss(Tensor<T> const& anchor,
    std::type_identity_t<Tensor<T>> const& positive,
    std::type_identity_t<Tensor<T>> const& negative, TripletMarginLossOptions const& o) {
    return triplet_margin_loss(
        anchor, positive, negative, o.margin, o.p, o.eps, o.swap, o.reduction);
}

XGRAD_OF_EXPRESSION(binary_cross_entropy)
XGRAD_OF_EXPRESSION(binary_cross_entropy_with_logits)
XGRAD_OF_EXPRESSION(kl_div)
XGRAD_OF_EXPRESSION(cosine_embedding_loss)
XGRAD_OF_EXPRESSION(triplet_margin_loss)

} // namespace functional
} // namespace xgrad::nn
