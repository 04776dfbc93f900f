// Bodies of robust_loss.hpp and fit.hpp: the loop over steps, in real numbers: linearization.ipp.
//
// Only an accepted step can converge, and only where the full step from its end is small, too: what
// shortens a step must not look like a minimum.
#pragma once

#include <xgrad/impl/least_squares/linear_model.ipp>
#include <xgrad/least_squares/robust_loss.hpp>

namespace xgrad::detail {

class SquaresMinimizer : LinearModel {
public:
    using LinearModel::LinearModel;

    LeastSquaresSolution run() {
        start();
        linearize();
        // A step of lmaccel calls the residual twice.
        std::size_t const more = options_.method == LeastSquaresMethod::lmaccel;
        if (!std::isfinite(optimality_))
            fail("least_squares: the derivative of the residual is not finite at the start");
        if (options_.method == LeastSquaresMethod::gauss_newton) propose();
        while (result_.message.empty()) {
            if (!std::isfinite(optimality_))
                result_.message = "not converged: the derivative of the residual is not finite";
            else if (numbers_.empty()) converged("all parameters are fixed, or held by bounds");
            else if (cosine_ <= options_.gtol)
                converged((cg_ ? "the cosine between the residuals and J times the gradient, "
                               : "the largest cosine between the residuals and a column of J, ") +
                          number_text(cosine_) + ", is at most gtol");
            else if (optimality_ <= options_.gtol_absolute)
                converged("the largest element of the gradient, " + number_text(optimality_) +
                          ", is at most gtol_absolute");
            else if (result_.nfev + more >= max_nfev_)
                result_.message = "not converged: the residual was called " +
                                  std::to_string(result_.nfev) + " times, and max_nfev is " +
                                  std::to_string(max_nfev_);
            else {
                step();
                ++result_.nit;
            }
        }
        return finish();
    }

private:
    /// A fit by conjugate gradients continues once, with the norms of the columns of J for D, where
    /// they take no more products than it took. It has converged where that changes nothing.
    void converged(std::string const& why) {
        if (cg_ && !has_columns_ && numbers_.size() <= cg_->products) {
            has_columns_ = true;
            radius_ = 0;
            claim_ = why;
            return linearize();
        }
        result_.success = true;
        result_.message = "converged: " + why;
    }
    /// Writes a step of the method to d_; false where the system is singular.
    bool propose() {
        if (radius_ == 0) radius_ = 10 * scaled_norm(x_);
        if (radius_ == 0) radius_ = 10;
        switch (options_.method) {
        case LeastSquaresMethod::lm:
        case LeastSquaresMethod::lmaccel:
            if (cg_) return cg_->solve_within(radius_, D_, d_);
            return within_radius();
        case LeastSquaresMethod::dogleg:
            return dogleg();
        case LeastSquaresMethod::gauss_newton:
            full_step();
            if (!is_regular_)
                fail("least_squares: the Jacobian has rank ", solver_->rank().first, " for ",
                    solver_->rank().second,
                    " parameters, so that the step of gauss_newton is not determined: take method "
                    "lm");
            for (std::size_t i = 0; i < d_.size(); ++i) d_[i] = newton_[i] / divisor_;
        }
        return true;
    }
    /// Cuts d_ off where it meets bounds: each number alone, or, where the linear model says that
    /// this is worse, all of them at the first bound. Where both are bad, blocks the numbers that
    /// stand at a bound and would leave it.
    enum class Cut { none, cut, blocked };
    Cut cut_at_bounds() {
        double part = 1;
        for (std::size_t i = 0; i < d_.size(); ++i) {
            std::size_t const at = numbers_[i];
            other_[i] = std::clamp(d_[i], lower_[at] - now_.x[at], upper_[at] - now_.x[at]);
            if (other_[i] != d_[i]) part = std::min(part, other_[i] / d_[i]);
        }
        if (part == 1) return Cut::none;
        double const wanted = 0.1 * predicted(d_), each = predicted(other_);
        if (part == 0 && !(each >= wanted)) {
            for (std::size_t i = 0; i < d_.size(); ++i)
                is_blocked_[numbers_[i]] = other_[i] == 0 && d_[i] != 0;
            return Cut::blocked;
        }
        for (double& x : d_) x *= part;
        if (each >= predicted(d_)) std::swap(d_, other_);
        return Cut::cut;
    }
    /// Writes a step to d_ that stays within bounds.
    bool propose_within_bounds(bool& is_cut) {
        while (propose()) {
            auto const cut = cut_at_bounds();
            is_cut = cut == Cut::cut;
            if (cut != Cut::blocked) return true;
            linearize_chosen();
            set_scales();
        }
        return false;
    }
    /// Adds d to the parameters of now_; what comes close to a bound is put onto it. False where
    /// nothing changes.
    bool move(std::span<double const> d) {
        next_.x = now_.x;
        bool changes = false;
        for (std::size_t i = 0; i < d.size(); ++i) {
            std::size_t const at = numbers_[i];
            double const x = now_.x[at], low = lower_[at] - x, high = upper_[at] - x;
            next_.x[at] = d[i] < 0 && d[i] <= (1 - 1e-12) * low    ? lower_[at]
                          : d[i] > 0 && d[i] >= (1 - 1e-12) * high ? upper_[at]
                                                                   : x + d[i];
            changes |= next_.x[at] != x;
        }
        return changes;
    }
    /// Adds to the step half of the second derivative along the path whose first one it is, where
    /// no bound is in the path; false where that is long.
    bool accelerate(double decrease) {
        static constexpr double h = 0.1, longest = 0.75;
        std::size_t const n = d_.size();
        // Near a minimum the residuals are linear, and rounding errors hide what they are not.
        if (options_.method != LeastSquaresMethod::lmaccel || decrease < 1e-8 * now_.cost)
            return true;
        Reals v(now_.x.size()), image(now_.values.size());
        next_.x = now_.x;
        for (std::size_t i = 0; i < n; ++i) {
            v[numbers_[i]] = d_[i];
            next_.x[numbers_[i]] += h * d_[i];
        }
        evaluate(next_);
        if (rows_) rows_->push(v.data(), image.data());
        else Linearization(now_).push(v.data(), image.data());
        for (std::size_t i = 0; i < image.size(); ++i) {
            double const weight = now_.weights.empty() ? 1 : now_.weights[i];
            image[i] = 2 / h * (weight * (next_.values[i] - now_.values[i]) / h - image[i]);
        }
        if (rows_) rows_->pull(image.data(), v.data());
        else Linearization(now_).pull(image.data(), v.data());
        for (std::size_t i = 0; i < n; ++i) other_[i] = -v[numbers_[i]] / 2;
        solver_->solve_again(other_, acceleration_);
        if (!(2 * scaled_norm(acceleration_) <= longest * scaled_norm(d_))) return false; // or NaN
        for (std::size_t i = 0; i < n; ++i) {
            double const x = now_.x[numbers_[i]] + d_[i] + acceleration_[i];
            if (!(x > lower_[numbers_[i]] && x < upper_[numbers_[i]])) return true;
        }
        for (std::size_t i = 0; i < n; ++i) acceleration_[i] += d_[i];
        return move(acceleration_);
    }
    /// Makes the radius longer or shorter, by MINPACK's rules. `slope` is that of the cost along
    /// the step.
    void adapt(
        bool accepted, double rho, double slope, double decrease, double length, bool is_cut) {
        if (options_.method == LeastSquaresMethod::gauss_newton) {
            divisor_ = accepted ? 1 : 2 * divisor_;
            return;
        }
        double const last = radius_;
        if (rho > 0.25) {
            bool const is_full = cg_ || options_.method == LeastSquaresMethod::dogleg
                                     ? length < 0.99 * radius_
                                     : multiplier_ == 0;
            if (is_cut) radius_ = std::max(radius_, 2 * length);
            else if (rho >= 0.75 || is_full) radius_ = 2 * length;
        } else {
            // To where a parabola along the step is least.
            double const part = decrease >= 0 ? 0.5 : slope / (2 * (slope + decrease));
            double const factor = part >= 0.1 ? part : 0.1; // 0.1 for NaN
            do radius_ *= factor;
            while (length > 0 && 1.1 * radius_ >= length); // else it is the same step
        }
        multiplier_ *= last / radius_;
    }

    /// One step; writes a message where it is the last one.
    void step() {
        double decrease = 0, model = 0, slope = 0, rho = -1, length = 0;
        bool is_cut = false, moves = false, is_evaluated = false;
        bool const is_proposed = propose_within_bounds(is_cut);
        if (is_proposed) {
            model = predicted(d_);
            length = scaled_norm(d_);
            for (std::size_t i = 0; i < d_.size(); ++i) slope += gradient_[numbers_[i]] * d_[i];
            moves = move(d_);
            if (moves && model > 0 && (is_cut || accelerate(model))) {
                evaluate(next_);
                is_evaluated = true;
                decrease = std::isfinite(next_.cost) ? now_.decrease_to(next_) : -infinity;
                rho = decrease / model;
            }
        }
        double const damping =
            options_.method == LeastSquaresMethod::gauss_newton ? divisor_ : 1 / radius_;
        // Where rounding errors hide a decrease, steps converge as long as each is shorter.
        bool const is_hidden = is_evaluated && model > 0 && model < noise_ &&
                               std::abs(decrease) < 1e3 * noise_ &&
                               (is_cut || length < 0.95 * last_length_);
        bool const accepted = (rho > 1e-4 && decrease > 0) || is_hidden;
        bool const small_change = accepted && rho <= 2 && decrease <= options_.ftol * now_.cost &&
                                  model <= options_.ftol * now_.cost,
                   small_step = accepted && change(d_) <= options_.xtol * change(x_);
        bool const stands = !accepted && !(moves && change(d_) > visible_);
        adapt(accepted, is_hidden ? 1 : rho, slope, decrease, length, is_cut);
        if (accepted) {
            if (!small_change) claim_.clear();
            std::swap(now_, next_);
            last_length_ = length;
            linearize();
        }
        if (!options_.callback({result_.nit + 1, result_.nfev, now_.cost, optimality_, damping,
                length, accepted})) {
            result_.message = "not converged: the callback returned false";
            return;
        }
        if (!std::isfinite(optimality_)) return;
        if (stands && std::ranges::find(is_blocked_, true) != is_blocked_.end()) linearize();
        if (small_change || small_step || stands)
            check_convergence(small_change, small_step, stands, is_proposed);
    }
    /// Whether the full step from here is small. Where there is none, damping may still give one.
    void check_convergence(bool small_change, bool small_step, bool stands, bool is_proposed) {
        bool const is_full = full_step();
        if (!is_full && !(stands && is_proposed)) return;
        double const rest = is_full ? predicted(newton_) : infinity, size = change(x_),
                     length = is_full ? change(newton_) : infinity;
        if (small_change && rest <= options_.ftol * now_.cost)
            converged("the last step decreased the cost relatively by less than ftol");
        else if (small_step && length <= options_.xtol * size)
            converged("the last step was shorter than xtol times the parameters");
        else if (stands && (rest <= options_.ftol * now_.cost || length <= options_.xtol * size ||
                               rest <= noise_ || cosine_ <= 8 * std::sqrt(rounding_) ||
                               newton_decrease() <= noise_))
            converged("rounding errors hide what further steps change");
        else if (stands && !claim_.empty()) converged(claim_);
        else if (stands)
            result_.message = "not converged: no step decreases the cost, and the largest element "
                              "of the gradient is " +
                              number_text(optimality_) + ", above gtol_absolute";
    }
    /// By how much Newton's step decreases the cost: it knows the second derivatives of the
    /// residuals, which the linear model leaves out. By conjugate gradients with differences of
    /// gradients; infinite where they find no minimum.
    double newton_decrease() {
        std::size_t const n = d_.size();
        Reals rest(n), p, image(n), gradient(now_.x.size()), norms(now_.x.size());
        for (std::size_t i = 0; i < n; ++i) rest[i] = -gradient_[numbers_[i]] / D_[i];
        p = rest;
        double square = squared_norm(p.data(), n), gain = 0;
        double const end = 1e-6 * square, size = visible_ / (4 * rounding_),
                     visible = std::cbrt(rounding_) * (scaled_norm(x_) + size);
        for (int k = 0; square > end && k < 50 && gain <= noise_ && result_.nfev < max_nfev_; ++k) {
            double const h = visible / std::sqrt(squared_norm(p.data(), n));
            bool is_inside = true;
            next_.x = now_.x;
            for (std::size_t i = 0; i < n; ++i) {
                double& x = next_.x[numbers_[i]] += h * p[i] / D_[i];
                is_inside &= lower_[numbers_[i]] <= x && x <= upper_[numbers_[i]];
            }
            if (!is_inside) break;
            evaluate(next_);
            if (rows_) rows_->linearize(next_, gradient.data(), norms.data());
            else Linearization(next_).pull(next_.weighted.data(), gradient.data());
            for (std::size_t i = 0; i < n; ++i)
                image[i] = (gradient[numbers_[i]] - gradient_[numbers_[i]]) / (h * D_[i]);
            double const curvature = dot_product(p.data(), image.data(), n);
            if (!(curvature > 0 && next_.cost <= now_.cost + 1e-3 * size * size)) break; // too far
            double const step = square / curvature, last = square;
            gain += step * square / 2;
            add_multiple(rest.data(), image.data(), -step, n);
            square = squared_norm(rest.data(), n);
            for (std::size_t i = 0; i < n; ++i) p[i] = rest[i] + square / last * p[i];
        }
        if (rows_) linearize_chosen(); // it was at other points
        return square <= end ? gain : infinity;
    }

    LeastSquaresSolution finish() {
        result_.x = written_reals(x0_, now_.x.data());
        result_.fun = written_reals(now_.call.outputs, now_.values.data());
        if (!rows_ && !cg_ && !options_.fixed.tensors().empty()) { // whose columns are left out
            weighted_ = now_.weighted;
            Linearization(now_).pull(weighted_.data(), gradient_.data());
        }
        result_.grad = written_reals(x0_, gradient_.data());
        result_.cost = now_.cost;
        result_.optimality = optimality_;
        double const squares = squared_norm(now_.weighted.data(), now_.weighted.size());
        result_.covariance = [solver = solver_, numbers = numbers_, n = now_.x.size(),
                                 m = now_.values.size(), squares](std::optional<double> variance) {
            auto const inverse = solver->inverse();
            if (!variance && m <= numbers.size())
                fail("covariance: ", m, " residuals for ", numbers.size(),
                    " parameters leave no degree of freedom: give the variance");
            std::size_t const k = numbers.size();
            bool is_regular = inverse.size() == k * k;
            // |J v|^2 is v[i] for column i of the inverse, unless that is made of rounding errors.
            for (std::size_t i = 0; is_regular && i < k; ++i) {
                std::span const v(inverse.data() + i * k, k);
                is_regular = 2 * solver->squared_image(v) >= v[i];
            }
            auto const [rank, columns] = solver->rank();
            if (!is_regular)
                fail("covariance: the Jacobian has rank ", std::min(rank, columns - 1), " for ",
                    columns, " parameters: some are not determined");
            double const s2 =
                variance ? *variance : squares / static_cast<double>(m - numbers.size());
            Array<double> all(Shape{n, n}, 0.);
            for (std::size_t i = 0; i < numbers.size(); ++i)
                for (std::size_t j = 0; j < numbers.size(); ++j)
                    all.begin()[numbers[i] * n + numbers[j]] = s2 * inverse[i * numbers.size() + j];
            return Tensor<double>(std::move(all));
        };
        forbid_differentiation();
        return std::move(result_);
    }

    std::string claim_;  // why a fit has converged, if D changes nothing
    double divisor_ = 1; // of the steps of gauss_newton
    double last_length_ = infinity;
};

XGRAD_FUNCTION LeastSquaresSolution minimize_squares(
    std::function<ResidualCall(TensorSpan)> const& residual, TensorSpan x0,
    LeastSquaresOptions const& options, std::shared_ptr<RowSolver> rows) {
    check_defined("least_squares", "parameter", x0);
    return SquaresMinimizer(residual, x0, options, std::move(rows)).run();
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION RobustLoss::RobustLoss(Name name) {
    switch (name) {
    case Name::linear:
        break;
    case Name::soft_l1:
        *this = RobustLoss([](auto s) { return 2. * (sqrt(1. + s) - 1.); });
        break;
    case Name::huber:
        *this = RobustLoss([](auto s) { return s <= 1. ? s : decltype(s)(2. * sqrt(s) - 1.); });
        break;
    case Name::cauchy:
        *this = RobustLoss([](auto s) { return log1p(s); });
        break;
    case Name::arctan:
        *this = RobustLoss([](auto s) { return atan(s); });
        break;
    case Name::tukey:
        *this = RobustLoss([](auto s) {
            auto const rest = s < 1. ? 1. - s : decltype(s)(0.);
            return (1. - rest * rest * rest) / 3.;
        });
    }
}

} // namespace xgrad
