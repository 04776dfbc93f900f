// RMSprop: steps scaled by a running mean of squared gradients (Tieleman and Hinton, 2012).
//
// Shapes: a state tensor has the shape of its parameter; that of a complex one is real, with a last
// axis of 2.
// Gradients: read from .grad; the update records none. Complex parameters count as pairs of real
// numbers, as in PyTorch.
// Errors: a negative option is an Error; otherwise those of optimizer.hpp.
#pragma once

#include <array>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

/// Options of RMSprop.
struct RMSpropOptions {
    /// `lr` is the learning rate, `alpha` the decay of the mean square, and `eps` is added to its
    /// root. `weight_decay` times the parameter is added to the gradient. `momentum` is the factor
    /// of the step before; 0 means none. A negative one of them is an Error.
    double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
    /// With `centered` the mean square is that of the gradient minus its mean, with `maximize` the
    /// loss is increased.
    bool centered = false, maximize = false;
};

namespace detail {
/// s = alpha s + (1 - alpha) g^2, d = g / (sqrt(s) + eps), or with `centered` g / (sqrt(s - a^2) +
/// eps) for the running mean a of g; p -= lr d, or with momentum b = momentum b + d, p -= lr b.
struct RMSpropRule {
    using Options = RMSpropOptions;
    static constexpr std::array tensors{"square_avg", "momentum_buffer", "grad_avg"};

    template <RealScalar T>
    static void update(
        Tensor<T>& p, Tensor<T> const& gradient, ParameterState& state, Options const& o) {
        auto const g = penalized(gradient, p, o);
        auto s = state.tensor(0, p);
        s.copy_(o.alpha * s + (1 - o.alpha) * square(g));
        Tensor<T> direction;
        if (o.centered) {
            auto a = state.tensor(2, p);
            a.copy_(a + (1 - o.alpha) * (g - a));
            direction = g / (sqrt(s - square(a)) + o.eps);
        } else direction = g / (sqrt(s) + o.eps);
        if (o.momentum == 0) return void(p -= o.lr * direction);
        auto b = state.tensor(1, p);
        b.copy_(o.momentum * b + direction);
        p -= o.lr * b;
    }
    static void check(Options const& o);
    static double* momentum(Options& o) { return &o.momentum; }
    template <class F> static void each_option(Options& o, F f) {
        f("lr", o.lr), f("alpha", o.alpha), f("eps", o.eps), f("weight_decay", o.weight_decay),
            f("momentum", o.momentum), f("centered", o.centered), f("maximize", o.maximize);
    }
};
} // namespace detail

/// RMSprop. Complex parameters are pairs of real ones, as in PyTorch.
using RMSprop = Optimizing<detail::RMSpropRule>;

} // namespace xgrad::optim
