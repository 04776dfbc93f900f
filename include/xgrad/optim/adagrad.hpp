// Adagrad: steps scaled by the sum of all squared gradients (Duchi, Hazan and Singer, 2011).
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

/// Options of Adagrad.
struct AdagradOptions {
    /// In step t the learning rate is lr / (1 + (t - 1) lr_decay). `weight_decay` times the
    /// parameter is added to the gradient. `initial_accumulator_value` is the first sum of squares,
    /// and `eps` is added to its root. A negative one of them is an Error.
    double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
    bool maximize = false; // true to increase the loss
};

namespace detail {
/// s += g^2, p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps).
struct AdagradRule {
    using Options = AdagradOptions;
    static constexpr std::array tensors{"sum"};

    template <RealScalar T>
    static void update(
        Tensor<T>& p, Tensor<T> const& gradient, ParameterState& state, Options const& o) {
        auto const g = penalized(gradient, p, o);
        auto s = state.tensor(0, p, static_cast<T>(o.initial_accumulator_value));
        s.copy_(s + square(g));
        double const rate = o.lr / (1 + static_cast<double>(state.steps - 1) * o.lr_decay);
        p -= rate * (g / (sqrt(s) + o.eps));
    }
    static void check(Options const& o);
    static double* momentum(Options&) { return nullptr; }
    template <class F> static void each_option(Options& o, F f) {
        f("lr", o.lr), f("lr_decay", o.lr_decay), f("weight_decay", o.weight_decay),
            f("initial_accumulator_value", o.initial_accumulator_value), f("eps", o.eps),
            f("maximize", o.maximize);
    }
};
} // namespace detail

/// Adagrad. Complex parameters are pairs of real ones, as in PyTorch.
using Adagrad = Optimizing<detail::AdagradRule>;

} // namespace xgrad::optim
