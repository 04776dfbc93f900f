// Bodies of lbfgs.hpp.
#pragma once

#include <xgrad/optim/lbfgs.hpp>

namespace xgrad::optim {

XGRAD_FUNCTION StateDict LBFGS::do_state_dict() const {
    StateDict all;
    auto options = options_;
    each_option(options, [&](char const* name, auto const& v) {
        all.set(std::string("options.") + name, detail::number_tensor(static_cast<double>(v)));
    });
    all.set("iterations", detail::number_tensor(static_cast<double>(state_.iterations)));
    all.set("evaluations", detail::number_tensor(static_cast<double>(state_.evaluations)));
    all.set("scale", detail::number_tensor(state_.scale));
    all.set("step", vector_tensor(state_.step));
    all.set("gradient", vector_tensor(state_.gradient));
    for (std::size_t i = 0; i < state_.history.size(); ++i) {
        all.set(at(i, "step"), vector_tensor(state_.history[i].step));
        all.set(at(i, "change"), vector_tensor(state_.history[i].change));
    }
    return all;
}

XGRAD_FUNCTION void LBFGS::do_load_state_dict(StateDict const& state) {
    auto options = options_;
    State fresh;
    std::size_t used = 5;
    each_option(options, [&](char const* name, auto& v) {
        v = detail::value_in<std::remove_reference_t<decltype(v)>>(
            state, std::string("options.") + name),
        ++used;
    });
    check(options);
    fresh.iterations = detail::value_in<std::int64_t>(state, "iterations");
    fresh.evaluations = detail::value_in<std::int64_t>(state, "evaluations");
    fresh.scale = detail::number_in(state, "scale");
    fresh.step = vector_in(state, "step"), fresh.gradient = vector_in(state, "gradient");
    if (!fresh.step.empty() && fresh.gradient.empty())
        detail::fail("load_state_dict: there is a 'step', but no 'gradient' at its beginning");
    for (std::size_t i = 0; state.contains(at(i, "step")); ++i, used += 2) {
        Pair pair{vector_in(state, at(i, "step")), vector_in(state, at(i, "change"))};
        if (pair.step.empty() || pair.change.empty())
            detail::fail(
                "load_state_dict: '", at(i, "step"), "' or '", at(i, "change"), "' is empty");
        pair.curvature = dot(pair.step, pair.change);
        fresh.history.push_back(std::move(pair));
    }
    if (used != state.size())
        detail::fail("load_state_dict: the state has entries that this optimizer does not "
                     "know; it belongs to another one");
    options_ = options;
    state_ = std::move(fresh);
}

XGRAD_FUNCTION void LBFGS::check(Options const& o) {
    detail::check_not_negative("learning rate", o.lr);
    if (o.max_iter < 1 || o.max_eval < 0 || o.history_size < 1)
        detail::fail(
            "LBFGS: max_iter and history_size must be positive, and max_eval not negative");
    if (o.line_search_fn != LineSearch::none && o.line_search_fn != LineSearch::strong_wolfe)
        detail::fail("LBFGS: there is no such line search");
}

XGRAD_FUNCTION AnyTensor LBFGS::vector_tensor(Vector const& v) {
    auto const t = Tensor<double>::empty(Shape{v.size()});
    std::copy(v.begin(), v.end(), t.array_of().begin());
    return t;
}

XGRAD_FUNCTION auto LBFGS::vector_in(StateDict const& state, std::string const& name) const
    -> Vector {
    std::size_t n = 0;
    for (auto const& p : parameters_) n += xgrad::detail::count_reals(p);
    auto const* const t = state.find(name);
    if (!t || !t->defined() || t->dtype() != DType::float64 || t->dim() != 1 ||
        (t->numel() != n && t->numel() != 0))
        detail::fail("load_state_dict: '", name, "' is no vector of ", n, " numbers");
    auto const a = xgrad::detail::contiguous(t->as<double>().array_of());
    return {a.begin(), a.end()};
}

XGRAD_FUNCTION double LBFGS::dot(Vector const& a, Vector const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

XGRAD_FUNCTION double LBFGS::largest(Vector const& v) {
    double most = 0;
    for (double const x : v) most = std::abs(x) > most || x != x ? std::abs(x) : most;
    return most;
}

XGRAD_FUNCTION void LBFGS::add(Vector& y, double a, Vector const& x) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

XGRAD_FUNCTION auto LBFGS::gathered(bool gradients) const -> Vector {
    Vector all;
    for (auto const& p : parameters_) {
        auto const source = gradients ? AnyTensor(p.impl().grad) : p;
        auto const begin = all.size();
        all.resize(begin + xgrad::detail::count_reals(p));
        if (source.defined()) xgrad::detail::read_reals(source, all.data() + begin);
    }
    return all;
}

XGRAD_FUNCTION void LBFGS::move(Vector const& x, double t, Vector const& d) const {
    Vector to = x;
    if (t != 0) add(to, t, d);
    auto const values = xgrad::detail::written_reals(parameters_, to.data());
    for (std::size_t i = 0; i < values.size(); ++i)
        xgrad::detail::overwrite(parameters_[i], values[i]);
}

XGRAD_FUNCTION void LBFGS::remember(Vector const& gradient) {
    if (state_.step.empty()) return;
    Pair pair{std::exchange(state_.step, {}), gradient};
    add(pair.change, -1, state_.gradient);
    pair.curvature = dot(pair.step, pair.change);
    if (!(pair.curvature > 1e-10)) return;
    while (state_.history.size() >= static_cast<std::size_t>(options_.history_size))
        state_.history.pop_front();
    state_.scale = pair.curvature / dot(pair.change, pair.change);
    state_.history.push_back(std::move(pair));
}

XGRAD_FUNCTION auto LBFGS::direction(Vector const& gradient) const -> Vector {
    Vector d(gradient.size()), parts(state_.history.size());
    add(d, -1, gradient);
    for (std::size_t i = state_.history.size(); i-- > 0;) {
        auto const& pair = state_.history[i];
        parts[i] = dot(pair.step, d) / pair.curvature;
        add(d, -parts[i], pair.change);
    }
    for (double& v : d) v *= state_.scale;
    for (std::size_t i = 0; i < state_.history.size(); ++i) {
        auto const& pair = state_.history[i];
        add(d, parts[i] - dot(pair.change, d) / pair.curvature, pair.step);
    }
    return d;
}

XGRAD_FUNCTION void LBFGS::iterate(double loss, std::function<double()> const& closure) {
    NoGradGuard const off;
    auto const o = options_;
    std::int64_t const max_evaluations = o.max_eval ? o.max_eval : o.max_iter * 5 / 4;
    std::int64_t evaluations = 1;
    ++state_.evaluations;
    Vector gradient = gathered(true);
    for (std::int64_t n = 1; largest(gradient) > o.tolerance_grad; ++n) {
        remember(gradient);
        Vector const d = direction(gradient), x = gathered(false);
        double length = o.lr;
        if (state_.iterations == 0) {
            double sum = 0;
            for (double const v : gradient) sum += std::abs(v);
            length *= std::min(1., 1 / sum);
        }
        double const slope = dot(gradient, d), before = loss;
        ++state_.iterations;
        state_.gradient = gradient;
        if (!(slope <= -o.tolerance_change)) return;
        auto const evaluate = [&](double t) {
            move(x, t, d);
            double const value = closure();
            ++evaluations, ++state_.evaluations;
            detail::LinePoint p{t, value, 0, gathered(true)};
            p.slope = dot(p.gradient, d);
            return p;
        };
        try {
            if (o.line_search_fn == LineSearch::strong_wolfe) {
                auto found = detail::strong_wolfe(
                    evaluate, {0, loss, slope, gradient}, length, o.tolerance_change / largest(d));
                length = found.t, loss = found.value, gradient = std::move(found.gradient);
                move(x, length, d);
                // no further evaluation: the next step() may have other data
            } else if (n == o.max_iter) move(x, length, d);
            else {
                auto reached = evaluate(length);
                loss = reached.value, gradient = std::move(reached.gradient);
            }
        } catch (...) {
            move(x, 0, d);
            throw;
        }
        state_.step.assign(d.size(), 0.);
        add(state_.step, length, d);
        if (n == o.max_iter || evaluations >= max_evaluations ||
            largest(state_.step) <= o.tolerance_change ||
            std::abs(loss - before) < o.tolerance_change)
            return;
    }
}

} // namespace xgrad::optim
