// Bodies of schedule.hpp.
#pragma once

#include <xgrad/optim/schedule.hpp>

namespace xgrad::optim {

XGRAD_FUNCTION StateDict Schedule::state_dict() const {
    StateDict state{{"count", detail::number_tensor(static_cast<double>(count_))}};
    for (std::size_t k = 0; k < base_.size(); ++k) {
        state.set("base." + std::to_string(k), detail::number_tensor(base_[k]));
        state.set("rate." + std::to_string(k), detail::number_tensor(optimizer_.lr(k)));
    }
    return state;
}

XGRAD_FUNCTION void Schedule::load_state_dict(StateDict const& state) {
    auto const count = detail::value_in<std::int64_t>(state, "count");
    auto const numbers = [&](std::string const& name) {
        std::vector<double> of_groups;
        for (std::size_t k = 0; k < base_.size(); ++k)
            of_groups.push_back(detail::number_in(state, name + std::to_string(k)));
        return of_groups;
    };
    auto base = numbers("base.");
    set(count, alone(base, count), numbers("rate."));
    base_ = std::move(base);
}

XGRAD_FUNCTION std::vector<double> Schedule::get_last_lr() const {
    std::vector<double> rates;
    for (std::size_t k = 0; k < base_.size(); ++k) rates.push_back(optimizer_.lr(k));
    return rates;
}

XGRAD_FUNCTION Schedule::Schedule(Optimizer& o) : optimizer_(o) {
    for (std::size_t k = 0; k < o.group_count(); ++k) base_.push_back(o.initial_lr(k));
    expected_ = base_;
}

XGRAD_FUNCTION double Schedule::chained(double now, double base, std::int64_t count) const {
    double const before = count == 0 ? base : rate(base, count - 1), after = rate(base, count);
    if (before == 0) return after;
    return after == before ? now : now * (after / before);
}

XGRAD_FUNCTION void Schedule::go_to(std::int64_t count) {
    auto const expected = alone(base_, count);
    auto rates = expected;
    for (std::size_t k = 0; k < rates.size(); ++k)
        if (double const now = optimizer_.lr(k); now != expected_[k])
            rates[k] = chained(now, base_[k], count);
    set(count, expected, rates);
}

XGRAD_FUNCTION void Schedule::set(
    std::int64_t count, std::vector<double> const& expected, std::vector<double> const& rates) {
    expected_ = expected;
    for (std::size_t k = 0; k < rates.size(); ++k) optimizer_.lr(k) = rates[k];
    count_ = count;
}

XGRAD_FUNCTION std::vector<double> Schedule::alone(
    std::vector<double> const& base, std::int64_t count) const {
    std::vector<double> rates;
    for (double const b : base) rates.push_back(rate(b, count));
    return rates;
}

XGRAD_FUNCTION double StepLR::rate(double base, std::int64_t n) const {
    return base * std::pow(gamma_, static_cast<double>(n / step_size_));
}

XGRAD_FUNCTION double MultiStepLR::rate(double base, std::int64_t n) const {
    auto const passed = std::ranges::count_if(milestones_, [n](auto m) { return m <= n; });
    return base * std::pow(gamma_, static_cast<double>(passed));
}

XGRAD_FUNCTION double ExponentialLR::rate(double base, std::int64_t n) const {
    return base * std::pow(gamma_, static_cast<double>(n));
}

XGRAD_FUNCTION SequentialLR::SequentialLR(Optimizer& o,
    std::vector<std::reference_wrapper<Schedule>> schedules, std::vector<std::int64_t> milestones)
    : Schedule(o), schedules_(std::move(schedules)), milestones_(std::move(milestones)) {
    if (schedules_.empty()) detail::fail("SequentialLR: there is no schedule");
    if (schedules_.size() != milestones_.size() + 1)
        detail::fail("SequentialLR: ", schedules_.size(), " schedules need ", schedules_.size() - 1,
            " milestones, not ", milestones_.size());
    if (!std::ranges::is_sorted(milestones_))
        detail::fail("SequentialLR: the milestones must be in increasing order");
    for (Schedule const& s : schedules_)
        if (&s.optimizer() != &o)
            detail::fail("SequentialLR: the schedules must belong to its optimizer");
    auto const rates = alone(base_, 0);
    set(0, rates, rates);
}

XGRAD_FUNCTION Schedule& SequentialLR::at(std::int64_t& count) const {
    auto const next = std::ranges::upper_bound(milestones_, count);
    if (next != milestones_.begin()) count -= *(next - 1);
    return schedules_[static_cast<std::size_t>(next - milestones_.begin())];
}

XGRAD_FUNCTION double SequentialLR::rate(double base, std::int64_t n) const {
    auto const& schedule = at(n);
    return schedule.rate(base, n);
}

XGRAD_FUNCTION void SequentialLR::set(
    std::int64_t count, std::vector<double> const& expected, std::vector<double> const& rates) {
    Schedule::set(count, expected, rates);
    auto& schedule = at(count);
    schedule.set(count, expected, rates);
}

XGRAD_FUNCTION double CosineAnnealingLR::chained(double now, double base, std::int64_t n) const {
    double const before = height(n - 1);
    return before == 0 ? now + (base - lowest_) * height(n)
                       : lowest_ + (now - lowest_) * (height(n) / before);
}

XGRAD_FUNCTION double CosineAnnealingLR::height(std::int64_t n) const {
    return (1 + std::cos(std::numbers::pi * static_cast<double>(n) / static_cast<double>(t_max_))) /
           2;
}

XGRAD_FUNCTION LinearLR::LinearLR(Optimizer& o, LinearLROptions const& options)
    : Schedule(o), start_(options.start_factor), end_(options.end_factor),
      steps_(options.total_iters) {
    if (!(start_ > 0 && start_ <= 1))
        detail::fail("LinearLR: start_factor must be above 0 and at most 1, and is ", start_);
    xgrad::detail::check_range("LinearLR: end_factor", end_, 0, 1);
    xgrad::detail::check_range("LinearLR: total_iters", static_cast<double>(steps_), 1);
    go_to(0);
}

XGRAD_FUNCTION double LinearLR::rate(double base, std::int64_t n) const {
    return base * (start_ + (end_ - start_) * static_cast<double>(std::min(n, steps_)) /
                                static_cast<double>(steps_));
}

XGRAD_FUNCTION OneCycleLR::OneCycleLR(Optimizer& o, OneCycleLROptions const& options)
    : Schedule(o), options_(options) {
    xgrad::detail::check_range(
        "OneCycleLR: total_steps", static_cast<double>(options.total_steps), 1);
    xgrad::detail::check_range("OneCycleLR: pct_start", options.pct_start, 0, 1);
    if (options.cycle_momentum)
        for (std::size_t k = 0; k < o.group_count(); ++k)
            if (!o.momentum(k))
                detail::fail("optimizer must support momentum or beta1 with `cycle_momentum` "
                             "option enabled");
    go_to(0);
}

XGRAD_FUNCTION double OneCycleLR::between(double a, double b, double c, std::int64_t count) const {
    double const n = static_cast<double>(count),
                 peak = options_.pct_start * static_cast<double>(options_.total_steps) - 1,
                 last = static_cast<double>(options_.total_steps) - 1;
    auto const anneal = [&](double from, double to, double part) {
        return options_.anneal_strategy == AnnealStrategy::cos
                   ? to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part))
                   : from + (to - from) * part;
    };
    return n <= peak ? anneal(a, b, peak > 0 ? n / peak : 1)
                     : anneal(b, c, last > peak ? (n - peak) / (last - peak) : 1);
}

XGRAD_FUNCTION double OneCycleLR::rate(double, std::int64_t n) const {
    double const first = options_.max_lr / options_.div_factor;
    return between(first, options_.max_lr, first / options_.final_div_factor, n);
}

XGRAD_FUNCTION void OneCycleLR::set(
    std::int64_t count, std::vector<double> const& expected, std::vector<double> const& rates) {
    if (count > options_.total_steps)
        detail::fail("Tried to step ", count, " times. The specified number of total steps is ",
            options_.total_steps);
    Schedule::set(count, expected, rates);
    if (!options_.cycle_momentum) return;
    for (std::size_t k = 0; k < optimizer().group_count(); ++k)
        *optimizer().momentum(k) =
            between(options_.max_momentum, options_.base_momentum, options_.max_momentum, count);
}

XGRAD_FUNCTION ReduceLROnPlateau::ReduceLROnPlateau(
    Optimizer& o, ReduceLROnPlateauOptions const& options)
    : optimizer_(o), options_(options), best_(worst()) {
    if (!(options.factor >= 0 && options.factor < 1))
        detail::fail(
            "ReduceLROnPlateau: factor must be at least 0 and below 1, and is ", options.factor);
}

XGRAD_FUNCTION void ReduceLROnPlateau::step(double metric) {
    if (improves(metric)) best_ = metric, bad_ = 0;
    else ++bad_;
    if (waiting_ > 0) --waiting_, bad_ = 0;
    if (bad_ <= options_.patience) return;
    for (std::size_t k = 0; k < optimizer_.group_count(); ++k) {
        double const now = optimizer_.lr(k),
                     next = std::max(now * options_.factor, options_.min_lr);
        if (now - next > options_.eps) optimizer_.lr(k) = next;
    }
    waiting_ = options_.cooldown;
    bad_ = 0;
}

XGRAD_FUNCTION StateDict ReduceLROnPlateau::state_dict() const {
    return {{"best", detail::number_tensor(best_)},
        {"bad", detail::number_tensor(static_cast<double>(bad_))},
        {"waiting", detail::number_tensor(static_cast<double>(waiting_))}};
}

XGRAD_FUNCTION void ReduceLROnPlateau::load_state_dict(StateDict const& state) {
    double const best = detail::number_in(state, "best");
    auto const bad = detail::value_in<std::int64_t>(state, "bad"),
               waiting = detail::value_in<std::int64_t>(state, "waiting");
    best_ = best, bad_ = bad, waiting_ = waiting;
}

XGRAD_FUNCTION double ReduceLROnPlateau::worst() const noexcept {
    return maximizes() ? -std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::infinity();
}

XGRAD_FUNCTION bool ReduceLROnPlateau::improves(double v) const {
    double const t = options_.threshold;
    if (options_.threshold_mode == ThresholdMode::abs || xgrad::detail::is_infinite(best_))
        return maximizes() ? v > best_ + t : v < best_ - t;
    return maximizes() ? v > best_ * (1 + t) : v < best_ * (1 - t);
}

} // namespace xgrad::optim
