// Schedules: learning rates as functions of the number of calls of step(). They hold a reference to
// the optimiser, which must outlive them.
//
// Errors: options out of range, more steps of OneCycleLR than total_steps, and a state without an
// entry are an Error.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include <xgrad/core/choice.hpp>
#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

/// A schedule in closed form: the rate of each group as a function of its initial rate. Call step()
/// once per epoch (or batch), after the optimiser's. If something else has changed a rate, for
/// instance a second schedule, the rate is multiplied by the ratio of this schedule's step: the
/// factors of several schedules for one optimiser are multiplied, as in PyTorch.
class Schedule {
    friend class SequentialLR;

public:
    Schedule(Schedule const&) = delete;
    Schedule& operator=(Schedule const&) = delete;
    virtual ~Schedule() = default;

    /// Moves to the next count and sets the rates.
    void step() { go_to(count_ + 1); }
    /// The number of calls of step().
    std::int64_t count() const noexcept { return count_; }
    /// The learning rate of each group now.
    std::vector<double> get_last_lr() const;
    StateDict state_dict() const;
    /// Continues from a saved state: the optimiser gets the rates that it had then.
    void load_state_dict(StateDict const& state);

protected:
    explicit Schedule(Optimizer& o);
    virtual double rate(double base, std::int64_t count) const = 0;
    /// The rate at this count, computed from the rate at the count before, which something else has
    /// changed.
    XGRAD_FUNCTION virtual double chained(double now, double base, std::int64_t count) const;
    void go_to(std::int64_t count);
    XGRAD_FUNCTION virtual void set(
        std::int64_t count, std::vector<double> const& expected, std::vector<double> const& rates);
    Optimizer& optimizer() const noexcept { return optimizer_; }

private:
    /// The rates if nothing else changes them.
    std::vector<double> alone(std::vector<double> const& base, std::int64_t count) const;

    Optimizer& optimizer_;
    // initial rates, and those that this schedule alone would set
    std::vector<double> base_, expected_;
    std::int64_t count_ = 0;
};

/// Options of StepLR.
struct StepLROptions {
    std::int64_t step_size; // The number of steps between changes. Below 1 it is an Error.
    double gamma = 0.1;     // factor of the rate
};
/// Multiplies the rate by gamma every step_size steps.
class StepLR final : public Schedule {
public:
    StepLR(Optimizer& o, StepLROptions const& options)
        : StepLR(o, options.step_size, options.gamma) {}
    StepLR(Optimizer& o, std::int64_t step_size, double gamma = 0.1)
        : Schedule(o), step_size_(step_size), gamma_(gamma) {
        xgrad::detail::check_range("StepLR: step_size", static_cast<double>(step_size), 1);
    }

private:
    XGRAD_FUNCTION double rate(double base, std::int64_t n) const override;
    std::int64_t step_size_;
    double gamma_;
};

/// Options of MultiStepLR.
struct MultiStepLROptions {
    std::vector<std::int64_t> milestones; // counts of steps at which the rate changes
    double gamma = 0.1;                   // factor of the rate
};
/// Multiplies the rate by gamma at each of the milestones, which are counts of steps.
class MultiStepLR final : public Schedule {
public:
    MultiStepLR(Optimizer& o, std::vector<std::int64_t> milestones, double gamma = 0.1)
        : Schedule(o), milestones_(std::move(milestones)), gamma_(gamma) {}
    MultiStepLR(Optimizer& o, MultiStepLROptions const& options)
        : MultiStepLR(o, options.milestones, options.gamma) {}

private:
    XGRAD_FUNCTION double rate(double base, std::int64_t n) const override;
    std::vector<std::int64_t> milestones_;
    double gamma_;
};

/// Options of ExponentialLR.
struct ExponentialLROptions {
    double gamma; // factor of the rate
};
/// Multiplies the rate by gamma at each step.
class ExponentialLR final : public Schedule {
public:
    ExponentialLR(Optimizer& o, double gamma) : Schedule(o), gamma_(gamma) {}
    ExponentialLR(Optimizer& o, ExponentialLROptions const& options)
        : ExponentialLR(o, options.gamma) {}

private:
    XGRAD_FUNCTION double rate(double base, std::int64_t n) const override;
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

/// Options of CosineAnnealingLR.
struct CosineAnnealingLROptions {
    std::int64_t T_max; // Steps down to the lowest rate. Below 1 it is an Error.
    double eta_min = 0; // the lowest rate
};
/// Half a cosine from the rate down to `lowest` in t_max steps, and up again (Loshchilov and
/// Hutter, 2016).
class CosineAnnealingLR final : public Schedule {
public:
    CosineAnnealingLR(Optimizer& o, std::int64_t t_max, double lowest = 0)
        : Schedule(o), t_max_(t_max), lowest_(lowest) {
        xgrad::detail::check_range("CosineAnnealingLR: t_max", static_cast<double>(t_max), 1);
    }
    CosineAnnealingLR(Optimizer& o, CosineAnnealingLROptions const& options)
        : CosineAnnealingLR(o, options.T_max, options.eta_min) {}

private:
    double rate(double base, std::int64_t n) const override {
        return lowest_ + (base - lowest_) * height(n);
    }
    XGRAD_FUNCTION double chained(double now, double base, std::int64_t n) const override;
    /// The factor: from 1 down to 0 and up again.
    double height(std::int64_t n) const;
    std::int64_t t_max_;
    double lowest_;
};

/// Options of LinearLR.
struct LinearLROptions {
    /// The factor changes from `start_factor`, in (0, 1], to `end_factor`, in [0, 1]. Others are an
    /// Error.
    double start_factor = 1. / 3, end_factor = 1;
    std::int64_t total_iters = 5; // The number of steps until then. Below 1 it is an Error.
};
/// Multiplies the rate by a factor that changes linearly from start to end and then stays: a
/// warm-up.
class LinearLR final : public Schedule {
public:
    explicit LinearLR(Optimizer& o, LinearLROptions const& options = {});
    LinearLR(Optimizer& o, double start_factor, double end_factor = 1, std::int64_t total_iters = 5)
        : LinearLR(o, LinearLROptions{start_factor, end_factor, total_iters}) {}

private:
    XGRAD_FUNCTION double rate(double base, std::int64_t n) const override;
    double start_, end_;
    std::int64_t steps_;
};

/// How the rate changes in between: `cos` along half a cosine, `linear` linearly.
enum class AnnealStrategy : unsigned char { cos, linear };
constexpr std::string_view choice_names(AnnealStrategy) { return "anneal_strategy: cos linear"; }

/// Options of OneCycleLR.
struct OneCycleLROptions {
    double max_lr = 1e-2;           // the highest rate
    std::int64_t total_steps = 100; // The length of the cycle. One more step() is an Error.
    /// The fraction of the steps in which the rate rises.
    double pct_start = 0.3;
    Choice<AnnealStrategy> anneal_strategy = AnnealStrategy::cos; // "cos" or "linear"
    /// Anneals the momentum inversely to the rate. It is an Error for an optimiser without
    /// momentum.
    bool cycle_momentum = true;
    /// The momentum falls from `max_momentum` to `base_momentum` and rises again.
    double base_momentum = 0.85, max_momentum = 0.95;
    /// The first rate is max_lr / div_factor, the last one is the first / final_div_factor.
    double div_factor = 25, final_div_factor = 1e4;
};
/// The one-cycle policy: the rate rises to max_lr and then falls far below the first one (Smith and
/// Topin, 2017), in all groups alike. Call step() after each batch.
class OneCycleLR final : public Schedule {
public:
    OneCycleLR(Optimizer& o, OneCycleLROptions const& options);

private:
    /// Anneals from a to b in the first part of the steps, and from b to c in the rest.
    double between(double a, double b, double c, std::int64_t count) const;
    XGRAD_FUNCTION double rate(double, std::int64_t n) const override;
    double chained(double, double base, std::int64_t n) const override { return rate(base, n); }
    XGRAD_FUNCTION void set(std::int64_t count, std::vector<double> const& expected,
        std::vector<double> const& rates) override;
    OneCycleLROptions options_;
};

/// Runs one schedule after another: each from the count that is its milestone, with counts of its
/// own. The schedules are those of one optimiser, and must outlive this one.
class SequentialLR final : public Schedule {
public:
    SequentialLR(Optimizer& o, std::vector<std::reference_wrapper<Schedule>> schedules,
        std::vector<std::int64_t> milestones);

private:
    /// The schedule at this count, which becomes a count of that schedule.
    Schedule& at(std::int64_t& count) const;
    XGRAD_FUNCTION double rate(double base, std::int64_t n) const override;
    XGRAD_FUNCTION void set(std::int64_t count, std::vector<double> const& expected,
        std::vector<double> const& rates) override;
    std::vector<std::reference_wrapper<Schedule>> schedules_;
    std::vector<std::int64_t> milestones_;
};

/// Whether a metric is to become small (min) or large (max).
enum class PlateauMode : unsigned char { min, max };
constexpr std::string_view choice_names(PlateauMode) { return "mode: min max"; }
/// The threshold of an improvement is relative to the best metric so far (rel), or absolute (abs).
enum class ThresholdMode : unsigned char { rel, abs };
constexpr std::string_view choice_names(ThresholdMode) { return "threshold_mode: rel abs"; }

/// Options of ReduceLROnPlateau.
struct ReduceLROnPlateauOptions {
    Choice<PlateauMode> mode = PlateauMode::min; // "min" or "max"
    double factor = 0.1;                         // Of the rate. Outside of [0, 1) it is an Error.
    /// The number of steps without an improvement that are tolerated.
    std::int64_t patience = 10;
    /// A smaller improvement does not count.
    double threshold = 1e-4;
    Choice<ThresholdMode> threshold_mode = ThresholdMode::rel; // "rel" or "abs"
    /// The number of steps after a reduction in which nothing is counted.
    std::int64_t cooldown = 0;
    double min_lr = 0; // no rate is made smaller than this
    /// A rate is not changed by less than this.
    double eps = 1e-8;
};
/// Multiplies the rates by a factor whenever a metric, such as the loss on a test set, has stopped
/// improving.
class ReduceLROnPlateau {
public:
    explicit ReduceLROnPlateau(Optimizer& o, ReduceLROnPlateauOptions const& options = {});

    /// Counts a metric; multiplies the rates after `patience` of them in turn without improvement.
    void step(double metric);
    /// The best metric so far; infinite before the first step.
    double best() const noexcept { return best_; }
    /// The best metric and the counts, for a checkpoint.
    StateDict state_dict() const;
    /// Throws where an entry is missing; then nothing has changed.
    void load_state_dict(StateDict const& state);

private:
    bool maximizes() const noexcept { return options_.mode == PlateauMode::max; }
    double worst() const noexcept;
    bool improves(double v) const;
    Optimizer& optimizer_;
    ReduceLROnPlateauOptions options_;
    double best_;
    std::int64_t bad_ = 0, waiting_ = 0;
};

} // namespace xgrad::optim
