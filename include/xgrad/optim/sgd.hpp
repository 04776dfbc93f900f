// SGD: gradient descent with momentum.
//
// Shapes: a state tensor has the shape of its parameter; that of a complex one is real, with a last
// axis of 2.
// Gradients: read from .grad; the update records none. Complex parameters count as pairs of real
// numbers, as in PyTorch.
// Errors: a negative option, and nesterov without a momentum or with dampening, are an Error;
// otherwise those of optimizer.hpp.
#pragma once

#include <array>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

/// Options of SGD.
struct SGDOptions {
    /// `lr` is the learning rate. `momentum` is the factor of the step before; 0 means none. A new
    /// gradient is added to it times 1 - `dampening`. `weight_decay` times the parameter is added
    /// to the gradient. A negative lr, momentum or weight_decay is an Error.
    double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
    /// `nesterov` takes Nesterov's momentum; it is an Error without momentum or with dampening.
    /// With `maximize` the loss is increased.
    bool nesterov = false, maximize = false;
};

namespace detail {
/// With g = gradient + weight_decay p: b = momentum b + (1 - dampening) g (g itself in the first
/// step), p -= lr b; with Nesterov's momentum p -= lr (g + momentum b).
struct SGDRule {
    using Options = SGDOptions;
    static constexpr std::array tensors{"momentum_buffer"};

    template <RealScalar T>
    static void update(
        Tensor<T>& p, Tensor<T> const& gradient, ParameterState& state, Options const& o) {
        auto const g = penalized(gradient, p, o);
        if (o.momentum == 0) return void(p -= o.lr * g);
        bool const first = !state.has(0);
        auto b = state.tensor(0, p);
        if (first) b.copy_(g);
        else b.copy_(o.momentum * b + (1 - o.dampening) * g);
        if (o.nesterov) p -= o.lr * (g + o.momentum * b);
        else p -= o.lr * b;
    }
    static void check(Options const& o);
    static double* momentum(Options& o) { return &o.momentum; }
    template <class F> static void each_option(Options& o, F f) {
        f("lr", o.lr), f("momentum", o.momentum), f("dampening", o.dampening),
            f("weight_decay", o.weight_decay), f("nesterov", o.nesterov), f("maximize", o.maximize);
    }
};
} // namespace detail

/// Stochastic gradient descent: `optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum =
/// 0.9});`
using SGD = Optimizing<detail::SGDRule>;

} // namespace xgrad::optim
