// Bodies of optimizer.hpp, adagrad.hpp, clip.hpp, line_search.hpp, rmsprop.hpp and sgd.hpp.
#pragma once

#include <xgrad/core/warning.hpp>
#include <xgrad/optim/adagrad.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/line_search.hpp>
#include <xgrad/optim/optimizer.hpp>
#include <xgrad/optim/rmsprop.hpp>
#include <xgrad/optim/sgd.hpp>

namespace xgrad::optim::detail {

XGRAD_FUNCTION AnyTensor number_tensor(double v) {
    return xgrad::detail::type_info<double>.filled(Shape{}, v);
}

XGRAD_FUNCTION double number_in(StateDict const& state, std::string const& name) {
    auto const* const t = state.find(name);
    if (!t || !t->defined() || t->dtype() != DType::float64 || t->numel() != 1)
        fail("load_state_dict: there is no number '", name, "'");
    return t->as<double>().item();
}

XGRAD_FUNCTION void check_parameters(
    std::vector<AnyTensor> const& fresh, std::vector<AnyTensor> all) {
    if (fresh.empty()) fail("optimizer got an empty parameter list");
    for (auto const& p : fresh) {
        if (!p.defined())
            xgrad::detail::fail_undefined(
                "optimizer", "parameter", static_cast<std::size_t>(&p - fresh.data()));
        if (!is_differentiable(p.dtype()))
            fail<TypeError>("optimizer: a tensor of type ", name(p.dtype()), " cannot be trained");
        if (!p.is_leaf()) fail<GraphError>("can't optimize a non-leaf Tensor");
        if (std::ranges::any_of(all, [&](AnyTensor const& other) { return other.is_same(p); }))
            fail("optimizer: some parameters appear more than once, or in more than one parameter "
                 "group");
        all.push_back(p);
    }
}

XGRAD_FUNCTION Shape real_shape(AnyTensor const& t) {
    Shape shape = t.shape();
    if (is_complex(t.dtype())) shape.push_back(2);
    return shape;
}

XGRAD_FUNCTION void check_not_negative(char const* what, double v) {
    if (!(v >= 0)) fail("Invalid ", what, ": it must not be negative, and is ", v);
}

XGRAD_FUNCTION void check_fraction(char const* what, double v) {
    if (!(v >= 0 && v < 1)) fail("Invalid ", what, ": it must lie in [0, 1), and is ", v);
}

XGRAD_FUNCTION void AdagradRule::check(Options const& o) {
    check_not_negative("learning rate", o.lr);
    check_not_negative("lr_decay value", o.lr_decay);
    check_not_negative("weight_decay value", o.weight_decay);
    check_not_negative("initial_accumulator_value value", o.initial_accumulator_value);
    check_not_negative("epsilon value", o.eps);
}

XGRAD_FUNCTION double cubic_minimum(
    LinePoint const& p, LinePoint const& q, double low, double high) {
    auto const& [a, b] = p.t <= q.t ? std::pair<LinePoint const&, LinePoint const&>(p, q)
                                    : std::pair<LinePoint const&, LinePoint const&>(q, p);
    double const u = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t),
                 square = u * u - a.slope * b.slope, w = std::sqrt(square);
    double const least = b.t - (b.t - a.t) * ((b.slope + w - u) / (b.slope - a.slope + 2 * w));
    return square >= 0 && least == least ? std::min(std::max(least, low), high) : (low + high) / 2;
}

XGRAD_FUNCTION void RMSpropRule::check(Options const& o) {
    check_not_negative("learning rate", o.lr);
    check_not_negative("epsilon value", o.eps);
    check_not_negative("momentum value", o.momentum);
    check_not_negative("weight_decay value", o.weight_decay);
    check_not_negative("alpha value", o.alpha);
}

XGRAD_FUNCTION void SGDRule::check(Options const& o) {
    check_not_negative("learning rate", o.lr);
    check_not_negative("momentum", o.momentum);
    check_not_negative("weight_decay", o.weight_decay);
    if (o.nesterov && (o.momentum <= 0 || o.dampening != 0))
        fail("Nesterov momentum requires a momentum and zero dampening, not ", o.momentum, " and ",
            o.dampening);
}

} // namespace xgrad::optim::detail

namespace xgrad::optim {

XGRAD_FUNCTION void Optimizer::step() {
    before_step();
    do_step();
    after_step();
}

XGRAD_FUNCTION void Optimizer::before_step() {
    auto const run = [this](auto const& hook) { hook(*this); };
    detail::OptimizerHooks::of_all_optimizers().step_pre.for_each(run);
    if (auto const* const own = hooks_.get()) own->step_pre.for_each(run);
}

XGRAD_FUNCTION void Optimizer::after_step() {
    if (!has_warned_) warn_without_gradients();
    auto const run = [this](auto const& hook) { hook(*this); };
    if (auto const* const own = hooks_.get()) own->step_post.for_each(run);
    detail::OptimizerHooks::of_all_optimizers().step_post.for_each(run);
}

XGRAD_FUNCTION void Optimizer::warn_without_gradients() {
    std::size_t n = 0;
    for (std::size_t k = 0; k < group_count(); ++k)
        for (auto const& p : parameters(k)) {
            if (p.impl().grad) return;
            ++n;
        }
    has_warned_ = true;
    xgrad::detail::warn("optimizer: step() changed nothing, since none of its ", n,
        " parameters has a gradient. Call backward() before step(), and zero_grad() not between "
        "them. A copy of a module has parameters of its own, which this optimizer does not know: a "
        "lambda captures the module by reference, [&net], and a function takes it by reference");
}

XGRAD_FUNCTION StateDict Optimizer::state_dict() const {
    auto const* const own = hooks_.get();
    auto& self = const_cast<Optimizer&>(*this);
    if (own) own->state_dict_pre.for_each([&](auto const& hook) { hook(self); });
    StateDict state = do_state_dict();
    if (own) own->state_dict_post.for_each([&](auto const& hook) { hook(self, state); });
    return state;
}

XGRAD_FUNCTION void Optimizer::load_state_dict(StateDict const& state) {
    auto const* const own = hooks_.get();
    if (!own) return do_load_state_dict(state);
    StateDict changed = state;
    own->load_state_dict_pre.for_each([&](auto const& hook) { hook(*this, changed); });
    if (!own->load_state_dict_post.any()) return do_load_state_dict(changed);
    auto const before = do_state_dict();
    do_load_state_dict(changed);
    try {
        own->load_state_dict_post.for_each([&](auto const& hook) { hook(*this); });
    } catch (...) {
        do_load_state_dict(before);
        throw;
    }
}

XGRAD_FUNCTION void Optimizer::zero_grad() {
    for (std::size_t k = 0; k < group_count(); ++k)
        for (auto const& p : parameters(k)) p.impl().grad = nullptr;
}

XGRAD_FUNCTION double Optimizer::initial_lr(std::size_t group) {
    while (initial_lr_.size() <= group) initial_lr_.push_back(lr(initial_lr_.size()));
    return initial_lr_[group];
}

XGRAD_FUNCTION double clip_grad_norm_(
    Parameters const& parameters, double max_norm, double p, bool error_if_nonfinite) {
    if (!(p > 0))
        xgrad::detail::fail("clip_grad_norm_: p must be positive, and may be infinity, and is ", p);
    xgrad::detail::check_range("clip_grad_norm_: max_norm", max_norm, 0);
    bool const largest = p == std::numeric_limits<double>::infinity();
    double total = 0;
    std::vector<AnyTensor> gradients;
    for (auto const& t : parameters)
        if (t.impl().grad) gradients.emplace_back(t.impl().grad);
    for (auto const& g : gradients) {
        double const one = xgrad::detail::sum_of_powers(g, p);
        if (!largest) total += one;
        else total = one > total || one != one ? one : total;
    }
    if (!largest) total = p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
    if (error_if_nonfinite && !xgrad::detail::is_finite(total))
        xgrad::detail::fail(
            "The total norm of the gradients is non-finite, so it cannot be clipped");
    double const factor = max_norm / (total + 1e-6);
    if (factor >= 1) return total;
    for (auto const& g : gradients) xgrad::detail::check_in_place(g, "clip_grad_norm_", false);
    for (auto const& g : gradients) {
        g.impl().array.storage->bump();
        g.impl().type->multiply_in_place(g, factor);
    }
    return total;
}

XGRAD_FUNCTION void clip_grad_value_(Parameters const& parameters, double bound) {
    xgrad::detail::check_range("clip_grad_value_: the bound", bound, 0);
    NoGradGuard const off;
    for (auto const& t : parameters)
        if (t.impl().grad)
            xgrad::detail::with_type(
                AnyTensor(t.impl().grad), [&]<Scalar T>(Tensor<T> const& gradient) {
                    if constexpr (Differentiable<T>)
                        detail::as_real(gradient).clamp_(-bound, bound);
                });
}

} // namespace xgrad::optim
