// Losses as modules, which keep their options: `nn::CrossEntropyLoss<double> loss({.label_smoothing
// = 0.1});`
#pragma once

#include <xgrad/nn/cross_entropy.hpp>
#include <xgrad/nn/module.hpp>

namespace xgrad::nn {

struct MSELoss : Module<MSELoss> {
    Reduction reduction;
    explicit MSELoss(Reduction r = Reduction::mean) : reduction(r) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::mse_loss(input, target, reduction);
    }
};
struct L1Loss : Module<L1Loss> {
    Reduction reduction;
    explicit L1Loss(Reduction r = Reduction::mean) : reduction(r) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::l1_loss(input, target, reduction);
    }
};
struct HuberLoss : Module<HuberLoss> {
    Reduction reduction;
    double delta;
    explicit HuberLoss(Reduction r = Reduction::mean, double d = 1) : reduction(r), delta(d) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::huber_loss(input, target, reduction, delta);
    }
};
struct SmoothL1Loss : Module<SmoothL1Loss> {
    Reduction reduction;
    double beta;
    explicit SmoothL1Loss(Reduction r = Reduction::mean, double b = 1) : reduction(r), beta(b) {}
    template <Operand X, Operand Y> auto forward(X const& input, Y const& target) const {
        return functional::smooth_l1_loss(input, target, reduction, beta);
    }
};
namespace detail {

/// A loss over classes. The class weights are a buffer: part of the state, copied with the module.
template <class Self, RealScalar T> struct ClassLoss : Module<Self> {
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
template <RealScalar T = double> struct BCEWithLogitsLoss : Module<BCEWithLogitsLoss<T>> {
    Reduction reduction;
    Buffer<T> weight, pos_weight;
    explicit BCEWithLogitsLoss(
        Reduction r = Reduction::mean, Tensor<T> const& w = {}, Tensor<T> const& pos = {})
        : reduction(r), weight(*this, "weight", w), pos_weight(*this, "pos_weight", pos) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<T> const& target) const {
        return functional::binary_cross_entropy_with_logits(
            input, target, reduction, weight, pos_weight);
    }
};
template <RealScalar T = double> struct KLDivLoss : Module<KLDivLoss<T>> {
    Reduction reduction;
    bool log_target;
    explicit KLDivLoss(Reduction r = Reduction::mean, bool log = false)
        : reduction(r), log_target(log) {}
    Tensor<T> forward(Tensor<T> const& input, Tensor<T> const& target) const {
        return functional::kl_div(input, target, reduction, log_target);
    }
};
template <RealScalar T = double> struct CosineEmbeddingLoss : Module<CosineEmbeddingLoss<T>> {
    double margin;
    Reduction reduction;
    explicit CosineEmbeddingLoss(double m = 0, Reduction r = Reduction::mean)
        : margin(m), reduction(r) {}
    Tensor<T> forward(Tensor<T> const& x1, Tensor<T> const& x2, Tensor<T> const& target) const {
        return functional::cosine_embedding_loss(x1, x2, target, margin, reduction);
    }
};
template <RealScalar T = double> struct TripletMarginLoss : Module<TripletMarginLoss<T>> {
    double margin, p, eps;
    bool swap;
    Reduction reduction;
    explicit TripletMarginLoss(double m = 1, double power = 2, double e = 1e-6, bool s = false,
        Reduction r = Reduction::mean)
        : margin(m), p(power), eps(e), swap(s), reduction(r) {}
    Tensor<T> forward(
        Tensor<T> const& anchor, Tensor<T> const& positive, Tensor<T> const& negative) const {
        return functional::triplet_margin_loss(
            anchor, positive, negative, margin, p, eps, swap, reduction);
    }
};

} // namespace xgrad::nn
