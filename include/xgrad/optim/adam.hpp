// Adam and AdamW: steps scaled by running means of the gradient and of its square (Kingma and Ba,
// 2014; Loshchilov and Hutter, 2017).
//
// Shapes: a state tensor has the shape of its parameter; that of a complex one is real, with a last
// axis of 2.
// Gradients: read from .grad; the update records none. Complex parameters count as pairs of real
// numbers, as in PyTorch.
// Errors: a negative option, and a beta outside of [0, 1), are an Error; otherwise those of
// optimizer.hpp.
#pragma once

#include <array>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

/// Options of Adam.
struct AdamOptions {
    double lr = 1e-3; // Learning rate. A negative one is an Error.
    /// Decay of the running means of the gradient and of its square, both in [0, 1).
    std::array<double, 2> betas = {0.9, 0.999};
    /// `eps` is added to the root of the mean square. `weight_decay` times the parameter is added
    /// to the gradient. A negative one of them is an Error.
    double eps = 1e-8, weight_decay = 0;
    /// With `amsgrad` the largest mean square so far is used, with `maximize` the loss is
    /// increased.
    bool amsgrad = false, maximize = false;
};
/// Options of AdamW.
struct AdamWOptions {
    double lr = 1e-3; // Learning rate. A negative one is an Error.
    /// Decay of the running means of the gradient and of its square, both in [0, 1).
    std::array<double, 2> betas = {0.9, 0.999};
    /// `eps` is added to the root of the mean square. The parameter is first multiplied by 1 - lr
    /// `weight_decay`. A negative one of them is an Error.
    double eps = 1e-8, weight_decay = 1e-2;
    /// With `amsgrad` the largest mean square so far is used, with `maximize` the loss is
    /// increased.
    bool amsgrad = false, maximize = false;
};

namespace detail {
/// m += (1 - beta1)(g - m), v = beta2 v + (1 - beta2) g^2, p -= lr m' / (sqrt(v') + eps) with m' =
/// m / (1 - beta1^t) and v' = v / (1 - beta2^t), or the largest v so far with amsgrad. Adam adds
/// weight_decay p to g; AdamW shrinks p by lr weight_decay p before.
template <class O, bool decoupled> struct AdamRule {
    using Options = O;
    static constexpr std::array tensors{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

    template <RealScalar T>
    static void update(
        Tensor<T>& p, Tensor<T> const& gradient, ParameterState& state, Options const& o) {
        Options mine = o;
        if (decoupled) {
            mine.weight_decay = 0;
            if (o.weight_decay != 0) p *= 1 - o.lr * o.weight_decay;
        }
        auto const g = penalized(gradient, p, mine);
        auto m = state.tensor(0, p), v = state.tensor(1, p);
        m.copy_(m + (1 - o.betas[0]) * (g - m));
        v.copy_(o.betas[1] * v + (1 - o.betas[1]) * square(g));
        auto const t = static_cast<double>(state.steps);
        double const rate = o.lr / (1 - std::pow(o.betas[0], t)),
                     scale = 1 / std::sqrt(1 - std::pow(o.betas[1], t));
        auto largest = v;
        if (o.amsgrad) {
            largest = state.tensor(2, p);
            largest.copy_(maximum(largest, v));
        }
        p -= rate * (m / (scale * sqrt(largest) + o.eps));
    }
    static void check(Options const& o) {
        check_not_negative("learning rate", o.lr);
        check_not_negative("epsilon value", o.eps);
        check_not_negative("weight_decay value", o.weight_decay);
        check_fraction("beta parameter at index 0", o.betas[0]);
        check_fraction("beta parameter at index 1", o.betas[1]);
    }
    static double* momentum(Options& o) { return &o.betas[0]; }
    template <class F> static void each_option(Options& o, F f) {
        f("lr", o.lr), f("beta1", o.betas[0]), f("beta2", o.betas[1]), f("eps", o.eps),
            f("weight_decay", o.weight_decay), f("amsgrad", o.amsgrad), f("maximize", o.maximize);
    }
};
} // namespace detail

/// Adam. Complex parameters are pairs of real ones, as in PyTorch.
using Adam = Optimizing<detail::AdamRule<AdamOptions, false>>;
/// Adam with weight decay apart from the gradient.
using AdamW = Optimizing<detail::AdamRule<AdamWOptions, true>>;

} // namespace xgrad::optim
