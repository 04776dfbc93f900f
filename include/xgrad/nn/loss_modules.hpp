// Losses as modules, which keep their options: `nn::CrossEntropyLoss<double> loss({.label_smoothing
// = 0.1});`
//
// Shapes: those of the functions in losses.hpp and cross_entropy.hpp.
// Gradients: those of the functions, of any order, in backward and forward mode. Weights of classes
// and elements are buffers, and have none.
// Errors: those of the functions: ShapeError for shapes that do not fit, IndexError for a class out
// of range, Error for options and values out of range and for undefined tensors.
#pragma once

#include <xgrad/nn/cross_entropy.hpp>
#include <xgrad/nn/module.hpp>

namespace xgrad::nn {

/// Squared error |input - target|^2.
struct MSELoss : Module<MSELoss> {
    using Options = LossOptions;
    Reduction reduction; // `none`, `mean` or `sum` of the losses; see Reduction
    explicit MSELoss(Options const& o = {}) : reduction(o.reduction) {}
    explicit MSELoss(Choice<Reduction> r) : reduction(r) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::mse_loss(input, target, reduction);
    }
};
/// Absolute error |input - target|.
struct L1Loss : Module<L1Loss> {
    using Options = LossOptions;
    Reduction reduction; // `none`, `mean` or `sum` of the losses; see Reduction
    explicit L1Loss(Options const& o = {}) : reduction(o.reduction) {}
    explicit L1Loss(Choice<Reduction> r) : reduction(r) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::l1_loss(input, target, reduction);
    }
};
/// d^2/2 for a distance d = |input - target| below delta, else delta (d - delta/2).
struct HuberLoss : Module<HuberLoss> {
    using Options = HuberLossOptions;
    Reduction reduction; // `none`, `mean` or `sum` of the losses; see Reduction
    double delta;        // see HuberLossOptions
    explicit HuberLoss(Options const& o = {}) : reduction(o.reduction), delta(o.delta) {}
    explicit HuberLoss(Choice<Reduction> r, double d = 1) : reduction(r), delta(d) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::huber_loss(input, target, reduction, delta);
    }
};
/// d^2/(2 beta) for a distance d = |input - target| below beta, else d - beta/2.
struct SmoothL1Loss : Module<SmoothL1Loss> {
    using Options = SmoothL1LossOptions;
    Reduction reduction; // `none`, `mean` or `sum` of the losses; see Reduction
    double beta;         // see SmoothL1LossOptions
    explicit SmoothL1Loss(Options const& o = {}) : reduction(o.reduction), beta(o.beta) {}
    explicit SmoothL1Loss(Choice<Reduction> r, double b = 1) : reduction(r), beta(b) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::smooth_l1_loss(input, target, reduction, beta);
    }
};
namespace detail {

/// A loss over classes. The class weights are a buffer: part of the state, copied with the module.
template <class Self, RealScalar T> struct ClassLoss : Module<Self> {
    using Options = ClassLossOptions<T>;
    ClassLossOptions<T> options; // without the weight
    Buffer<T> weight;

    explicit ClassLoss(ClassLossOptions<T> o)
        : options(std::move(o)), weight(*this, "weight", std::exchange(options.weight, {})) {}

protected:
    ClassLossOptions<T> options_with_weight() const {
        auto all = options;
        all.weight = weight;
        return all;
    }
};

} // namespace detail

/// -w_t input_t for the target class t, of an input of logarithms of probabilities.
template <RealScalar T = double> struct NLLLoss : detail::ClassLoss<NLLLoss<T>, T> {
    explicit NLLLoss(ClassLossOptions<T> o = {}) : detail::ClassLoss<NLLLoss, T>(std::move(o)) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<std::int64_t> const& target) const {
        return functional::nll_loss(input, target, this->options_with_weight());
    }
};
/// Targets are classes, or a probability for each class.
template <RealScalar T = double>
struct CrossEntropyLoss : detail::ClassLoss<CrossEntropyLoss<T>, T> {
    explicit CrossEntropyLoss(ClassLossOptions<T> o = {})
        : detail::ClassLoss<CrossEntropyLoss, T>(std::move(o)) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<std::int64_t> const& target) const {
        return functional::cross_entropy(input, target, this->options_with_weight());
    }
    Tensor<T> forward(Tensor<T> const& input, Tensor<T> const& target) const {
        return functional::cross_entropy(input, target, this->options_with_weight());
    }
};
/// Of probabilities; BCEWithLogitsLoss takes logits.
template <RealScalar T = double> struct BCELoss : Module<BCELoss<T>> {
    using Options = BCELossOptions<T>;
    Reduction reduction; // `none`, `mean` or `sum` of the losses; see Reduction
    Buffer<T> weight;    // see BCELossOptions
    explicit BCELoss(Options const& o = {}) : BCELoss(o.reduction, o.weight) {}
    explicit BCELoss(Choice<Reduction> r, Tensor<T> const& w = {})
        : reduction(r), weight(*this, "weight", w) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<T> const& target) const {
        return functional::binary_cross_entropy(input, target, reduction, weight);
    }
};
/// Binary cross entropy of logits, which does not overflow.
template <RealScalar T = double> struct BCEWithLogitsLoss : Module<BCEWithLogitsLoss<T>> {
    using Options = BCEWithLogitsLossOptions<T>;
    Reduction reduction;          // `none`, `mean` or `sum` of the losses; see Reduction
    Buffer<T> weight, pos_weight; // for `weight` and `pos_weight` see BCEWithLogitsLossOptions
    explicit BCEWithLogitsLoss(Options const& o = {})
        : BCEWithLogitsLoss(o.reduction, o.weight, o.pos_weight) {}
    explicit BCEWithLogitsLoss(
        Choice<Reduction> r, Tensor<T> const& w = {}, Tensor<T> const& pos = {})
        : reduction(r), weight(*this, "weight", w), pos_weight(*this, "pos_weight", pos) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<T> const& target) const {
        return functional::binary_cross_entropy_with_logits(
            input, target, reduction, weight, pos_weight);
    }
};
/// t (log t - input) for a target t, of an input of logarithms of probabilities.
template <RealScalar T = double> struct KLDivLoss : Module<KLDivLoss<T>> {
    using Options = KLDivLossOptions;
    Reduction reduction; // `none`, `mean`, `sum` or "batchmean"; see Reduction
    bool log_target;     // see KLDivLossOptions
    explicit KLDivLoss(Options const& o = {}) : KLDivLoss(o.reduction, o.log_target) {}
    explicit KLDivLoss(Choice<Reduction> r, bool log = false) : reduction(r), log_target(log) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<T> const& target) const {
        return functional::kl_div(input, target, reduction, log_target);
    }
};
/// For the angle phi between x1 and x2: 1 - cos phi where the target is 1, and max(0, cos phi -
/// margin) where it is -1.
template <RealScalar T = double> struct CosineEmbeddingLoss : Module<CosineEmbeddingLoss<T>> {
    using Options = CosineEmbeddingLossOptions;
    double margin;       // see CosineEmbeddingLossOptions
    Reduction reduction; // `none`, `mean` or `sum` of the losses; see Reduction
    explicit CosineEmbeddingLoss(Options const& o = {})
        : CosineEmbeddingLoss(o.margin, o.reduction) {}
    explicit CosineEmbeddingLoss(double m, Choice<Reduction> r = Reduction::mean)
        : margin(m), reduction(r) {}
    Tensor<T> forward(Tensor<T> const& x1, Tensor<T> const& x2, Tensor<T> const& target) const {
        return functional::cosine_embedding_loss(x1, x2, target, margin, reduction);
    }
};
/// max(0, |a - p| - |a - n| + margin) for an anchor a, a positive p and a negative n.
template <RealScalar T = double> struct TripletMarginLoss : Module<TripletMarginLoss<T>> {
    using Options = TripletMarginLossOptions;
    double margin, p, eps; // for `margin`, `p` and `eps` see TripletMarginLossOptions
    bool swap;             // see TripletMarginLossOptions
    Reduction reduction;   // `none`, `mean` or `sum` of the losses; see Reduction
    explicit TripletMarginLoss(Options const& o = {})
        : TripletMarginLoss(o.margin, o.p, o.eps, o.swap, o.reduction) {}
    explicit TripletMarginLoss(double m, double power = 2, double e = 1e-6, bool s = false,
        Choice<Reduction> r = Reduction::mean)
        : margin(m), p(power), eps(e), swap(s), reduction(r) {}
    Tensor<T> forward(
        Tensor<T> const& anchor, Tensor<T> const& positive, Tensor<T> const& negative) const {
        return functional::triplet_margin_loss(
            anchor, positive, negative, margin, p, eps, swap, reduction);
    }
};

} // namespace xgrad::nn
