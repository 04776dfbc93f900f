// Schedules: learning rates as functions of the number of calls of step(). They hold a reference to
// the optimiser, which must outlive them.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include <xgrad/optim/optimizer.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::optim {

/// A schedule in closed form: the rate of each group as a function of its initial rate. Call step()
/// once per epoch (or batch), after the optimiser's. If something else has changed a rate, for
/// instance a second schedule, the rate is multiplied by the ratio of this schedule's step: the
/// factors of several schedules for one optimiser are multiplied, as in PyTorch.
class Schedule {
public:
    Schedule(Schedule const&) = delete;
    Schedule& operator=(Schedule const&) = delete;
    virtual ~Schedule() = default;

    void step() { go_to(count_ + 1); }
    /// The number of calls of step().
    std::int64_t count() const noexcept { return count_; }
    StateDict state_dict() const {
        StateDict state{{"count", detail::number_tensor(static_cast<double>(count_))}};
        for (std::size_t k = 0; k < base_.size(); ++k) {
            state.set("base." + std::to_string(k), detail::number_tensor(base_[k]));
            state.set("rate." + std::to_string(k), detail::number_tensor(optimizer_.lr(k)));
        }
        return state;
    }
    /// Continues from a saved state: the optimiser gets the rates that it had then.
    void load_state_dict(StateDict const& state) {
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

protected:
    explicit Schedule(Optimizer& o) : optimizer_(o) {
        for (std::size_t k = 0; k < o.group_count(); ++k) base_.push_back(o.initial_lr(k));
        expected_ = base_;
    }
    virtual double rate(double base, std::int64_t count) const = 0;
    /// The rate at this count, computed from the rate at the count before, which something else has
    /// changed.
    virtual double chained(double now, double base, std::int64_t count) const {
        double const before = count == 0 ? base : rate(base, count - 1), after = rate(base, count);
        return after == before ? now : now * (after / before);
    }
    void go_to(std::int64_t count) {
        auto const expected = alone(base_, count);
        auto rates = expected;
        for (std::size_t k = 0; k < rates.size(); ++k)
            if (double const now = optimizer_.lr(k); now != expected_[k])
                rates[k] = chained(now, base_[k], count);
        set(count, expected, rates);
    }
    virtual void set(
        std::int64_t count, std::vector<double> const& expected, std::vector<double> const& rates) {
        expected_ = expected;
        for (std::size_t k = 0; k < rates.size(); ++k) optimizer_.lr(k) = rates[k];
        count_ = count;
    }
    Optimizer& optimizer() const noexcept { return optimizer_; }

private:
    /// The rates if nothing else changes them.
    std::vector<double> alone(std::vector<double> const& base, std::int64_t count) const {
        std::vector<double> rates;
        for (double const b : base) rates.push_back(rate(b, count));
        return rates;
    }

    Optimizer& optimizer_;
    // initial rates, and those that this schedule alone would set
    std::vector<double> base_, expected_;
    std::int64_t count_ = 0;
};

/// Multiplies the rate by gamma every step_size steps.
class StepLR final : public Schedule {
public:
    StepLR(Optimizer& o, std::int64_t step_size, double gamma = 0.1)
        : Schedule(o), step_size_(step_size), gamma_(gamma) {
        if (step_size < 1) detail::fail("StepLR: the step size must be positive");
    }

private:
    double rate(double base, std::int64_t n) const override {
        return base * std::pow(gamma_, static_cast<double>(n / step_size_));
    }
    std::int64_t step_size_;
    double gamma_;
};

/// The initial rate times a function of the number of calls of step(), whatever else has changed
/// the rate.
class LambdaLR final : public Schedule {
public:
    LambdaLR(Optimizer& o, std::function<double(std::int64_t)> factor)
        : Schedule(o), factor_(std::move(factor)) {
        if (!factor_) detail::fail("LambdaLR: there is no function");
        go_to(0);
    }

private:
    double rate(double base, std::int64_t n) const override { return base * factor_(n); }
    double chained(double, double base, std::int64_t n) const override { return rate(base, n); }
    std::function<double(std::int64_t)> factor_;
};

/// Half a cosine from the rate down to `lowest` in t_max steps, and up again (Loshchilov and
/// Hutter, 2016).
class CosineAnnealingLR final : public Schedule {
public:
    CosineAnnealingLR(Optimizer& o, std::int64_t t_max, double lowest = 0)
        : Schedule(o), t_max_(t_max), lowest_(lowest) {
        if (t_max < 1) detail::fail("CosineAnnealingLR: the number of steps must be positive");
    }

private:
    double rate(double base, std::int64_t n) const override {
        return lowest_ + (base - lowest_) * height(n);
    }
    double chained(double now, double base, std::int64_t n) const override {
        double const before = height(n - 1);
        return before == 0 ? now + (base - lowest_) * height(n)
                           : lowest_ + (now - lowest_) * (height(n) / before);
    }
    /// The factor: from 1 down to 0 and up again.
    double height(std::int64_t n) const {
        return (1 + std::cos(
                        std::numbers::pi * static_cast<double>(n) / static_cast<double>(t_max_))) /
               2;
    }
    std::int64_t t_max_;
    double lowest_;
};

/// Multiplies the rate by a factor that changes linearly from start to end and then stays: a
/// warm-up.
class LinearLR final : public Schedule {
public:
    explicit LinearLR(Optimizer& o, double start = 1. / 3, double end = 1, std::int64_t steps = 5)
        : Schedule(o), start_(start), end_(end), steps_(steps) {
        if (!(start > 0 && start <= 1))
            detail::fail("Starting multiplicative factor expected to be greater than 0 and less or "
                         "equal to 1.");
        if (!(end >= 0 && end <= 1))
            detail::fail("Ending multiplicative factor expected to be between 0 and 1.");
        if (steps < 1) detail::fail("LinearLR: the number of steps must be positive");
        go_to(0);
    }

private:
    double rate(double base, std::int64_t n) const override {
        return base * (start_ + (end_ - start_) * static_cast<double>(std::min(n, steps_)) /
                                    static_cast<double>(steps_));
    }
    double start_, end_;
    std::int64_t steps_;
};

struct OneCycleOptions {
    double max_lr = 1e-2;
    std::int64_t total_steps = 100;
    /// The fraction of the steps in which the rate rises.
    double pct_start = 0.3;
    /// Anneal along half a cosine; otherwise linearly.
    bool cosine = true;
    /// Momentum is annealed inversely: from max_momentum down and up again.
    bool cycle_momentum = true;
    double base_momentum = 0.85, max_momentum = 0.95;
    /// The first rate is max_lr / div_factor, the last one is the first / final_div_factor.
    double div_factor = 25, final_div_factor = 1e4;
};
/// The one-cycle policy: the rate rises to max_lr and then falls far below the first one (Smith and
/// Topin, 2017), in all groups alike. Call step() after each batch.
class OneCycleLR final : public Schedule {
public:
    OneCycleLR(Optimizer& o, OneCycleOptions const& options) : Schedule(o), options_(options) {
        if (options.total_steps < 1)
            detail::fail("OneCycleLR: the number of steps must be positive");
        if (!(options.pct_start >= 0 && options.pct_start <= 1))
            detail::fail("OneCycleLR: pct_start must lie between 0 and 1");
        if (options.cycle_momentum)
            for (std::size_t k = 0; k < o.group_count(); ++k)
                if (!o.momentum(k))
                    detail::fail("optimizer must support momentum or beta1 with `cycle_momentum` "
                                 "option enabled");
        go_to(0);
    }

private:
    /// Anneals from a to b in the first part of the steps, and from b to c in the rest.
    double between(double a, double b, double c, std::int64_t count) const {
        double const n = static_cast<double>(count),
                     peak = options_.pct_start * static_cast<double>(options_.total_steps) - 1,
                     last = static_cast<double>(options_.total_steps) - 1;
        auto const anneal = [&](double from, double to, double part) {
            return options_.cosine ? to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part))
                                   : from + (to - from) * part;
        };
        return n <= peak ? anneal(a, b, peak > 0 ? n / peak : 1)
                         : anneal(b, c, last > peak ? (n - peak) / (last - peak) : 1);
    }
    double rate(double, std::int64_t n) const override {
        double const first = options_.max_lr / options_.div_factor;
        return between(first, options_.max_lr, first / options_.final_div_factor, n);
    }
    double chained(double, double base, std::int64_t n) const override { return rate(base, n); }
    void set(std::int64_t count, std::vector<double> const& expected,
        std::vector<double> const& rates) override {
        if (count > options_.total_steps)
            detail::fail("Tried to step ", count, " times. The specified number of total steps is ",
                options_.total_steps);
        Schedule::set(count, expected, rates);
        if (!options_.cycle_momentum) return;
        for (std::size_t k = 0; k < optimizer().group_count(); ++k)
            *optimizer().momentum(k) = between(
                options_.max_momentum, options_.base_momentum, options_.max_momentum, count);
    }
    OneCycleOptions options_;
};

struct PlateauOptions {
    /// True to maximise the metric, false to minimise it.
    bool maximize = false;
    double factor = 0.1;
    /// The number of steps without an improvement that are tolerated.
    std::int64_t patience = 10;
    /// A smaller improvement does not count: relative to the best metric so far, or absolute if
    /// `absolute`.
    double threshold = 1e-4;
    bool absolute = false;
    /// The number of steps after a reduction in which nothing is counted.
    std::int64_t cooldown = 0;
    double min_lr = 0;
    /// A rate is not changed by less than this.
    double eps = 1e-8;
};
/// Multiplies the rates by a factor whenever a metric, such as the loss on a test set, has stopped
/// improving.
class ReduceLROnPlateau {
public:
    explicit ReduceLROnPlateau(Optimizer& o, PlateauOptions const& options = {})
        : optimizer_(o), options_(options), best_(worst()) {
        if (!(options.factor >= 0 && options.factor < 1)) detail::fail("Factor should be < 1.0.");
    }

    void step(double metric) {
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
    double best() const noexcept { return best_; }
    StateDict state_dict() const {
        return {{"best", detail::number_tensor(best_)},
            {"bad", detail::number_tensor(static_cast<double>(bad_))},
            {"waiting", detail::number_tensor(static_cast<double>(waiting_))}};
    }
    void load_state_dict(StateDict const& state) {
        double const best = detail::number_in(state, "best");
        auto const bad = detail::value_in<std::int64_t>(state, "bad"),
                   waiting = detail::value_in<std::int64_t>(state, "waiting");
        best_ = best, bad_ = bad, waiting_ = waiting;
    }

private:
    double worst() const noexcept {
        return options_.maximize ? -std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::infinity();
    }
    bool improves(double v) const {
        double const t = options_.threshold;
        if (options_.absolute || std::isinf(best_))
            return options_.maximize ? v > best_ + t : v < best_ - t;
        return options_.maximize ? v > best_ * (1 + t) : v < best_ * (1 - t);
    }
    Optimizer& optimizer_;
    PlateauOptions options_;
    double best_;
    std::int64_t bad_ = 0, waiting_ = 0;
};

} // namespace xgrad::optim
