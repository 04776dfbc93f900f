// Bodies of fit.hpp: the loop over steps. It computes with real numbers, two for a complex
// one: linearization.ipp.
#pragma once

#include <xgrad/impl/least_squares/squares_problem.ipp>

namespace xgrad::detail {

class SquaresMinimizer : SquaresProblem {

public:
    using SquaresProblem::SquaresProblem;

    LeastSquaresSolution run() {
        start();
        std::size_t const max_nfev = options_.max_nfev ? options_.max_nfev : 200 * now_.x.size();
        linearize();
        if (!std::isfinite(optimality_))
            fail("least_squares: the derivative of the residual is not finite at the start");
        for (; !result_.success; ++result_.nit) {
            if (!std::isfinite(optimality_)) {
                result_.message = "not converged: the derivative of the residual is not finite";
                break;
            }
            if (optimality_ <= options_.gtol) {
                converged("the largest element of the gradient, " + number_text(optimality_) +
                          ", is at most gtol");
                break;
            }
            if (result_.nfev >= max_nfev) {
                result_.message = "not converged: the residual was called " +
                                  std::to_string(result_.nfev) + " times, and max_nfev is " +
                                  std::to_string(max_nfev);
                break;
            }
            if (!step()) break;
        }
        return finish();
    }

private:
    void converged(std::string const& why) {
        result_.success = true;
        result_.message = "converged: " + why;
    }
    void start() {
        begin();
        auto const fixed = expanded("fixed", options_.fixed, 0);
        std::size_t const w = holomorphic_ ? 2 : 1;
        for (std::size_t i = 0; i < now_.x.size(); i += w)
            if (fixed[i] == 0) columns_.push_back(i / w);
        std::size_t const n = columns_.size(), m = now_.values.size() / w;
        if (rows_) solver_ = rows_;
        else if (options_.linear_solver == NormalSolver::cg)
            solver_ = cg_ = std::make_shared<CgSolver>();
        else {
            jacobian_.resize(n * m * w);
            if (holomorphic_) make_dense<std::complex<double>>(n);
            else make_dense<double>(n);
        }
        gradient_.resize(now_.x.size());
        norms_.resize(now_.x.size());
    }
    template <class T> void make_dense(std::size_t n) {
        if (options_.linear_solver == NormalSolver::cholesky)
            solver_ = std::make_shared<CholeskySolver<T>>(n);
        else solver_ = std::make_shared<QrSolver<T>>(n);
    }
    /// The gradient, the scales and the solver for the parameters of now_.
    void linearize() {
        ++result_.njev;
        if (rows_) {
            weighted_ = now_.weighted;
            column_norms_.resize(norms_.size());
            rows_->linearize(now_, gradient_.data(), column_norms_.data());
            for (std::size_t i = 0; i < norms_.size(); ++i)
                norms_[i] = std::max(norms_[i] / 2, column_norms_[i]);
            choose_numbers<double>();
            rows_->choose(numbers_);
            set_scales();
        } else if (cg_) {
            cg_->of.emplace(now_);
            cg_->residual = weighted_ = now_.weighted;
            cg_->of->pull(weighted_.data(), gradient_.data());
            cg_->gradient = gradient_;
            choose_numbers<double>();
            cg_->at = numbers_;
            set_scales();
        } else if (holomorphic_) linearize_dense<std::complex<double>>();
        else linearize_dense<double>();
        first_optimality_ = std::max(first_optimality_, optimality_);
        if (optimality_ > 0)
            solver_->tolerance = std::clamp(optimality_ / first_optimality_, 1e-6, 0.1);
        solved_ = false;
    }
    template <class T> void linearize_dense() {
        constexpr std::size_t w = sizeof(T) / sizeof(double);
        std::size_t const m = now_.values.size() / w;
        weighted_ = now_.weighted;
        auto* const a = reinterpret_cast<T*>(jacobian_.data());
        auto* const r = reinterpret_cast<T*>(weighted_.data());
        Linearization(now_).jacobian<T>(columns_, a);
        auto* const g = reinterpret_cast<T*>(gradient_.data());
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            g[columns_[c]] = dot_product(a + c * m, r, m);
            double const norm = std::sqrt(squared_norm(a + c * m, m));
            for (std::size_t part = 0; part < w; ++part) {
                double& largest = norms_[columns_[c] * w + part];
                largest = std::max(largest / 2, norm);
            }
        }
        choose_numbers<T>();
        // Columns of parameters that stay at their bounds are left out.
        std::size_t used = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (used * w < numbers_.size() && numbers_[used * w] == columns_[c] * w) {
                if (used != c) std::copy_n(a + c * m, m, a + used * m);
                ++used;
            }
        set_scales();
        static_cast<DenseSolver<T>&>(*solver_).factor(a, r, m, used);
    }
    /// The numbers that a step changes: not fixed, and not at a bound beyond which the cost falls.
    template <class T> void choose_numbers() {
        constexpr std::size_t w = sizeof(T) / sizeof(double);
        numbers_.clear();
        optimality_ = 0;
        for (auto const c : columns_)
            for (std::size_t i = c * w; i < (c + 1) * w; ++i) {
                double const g = gradient_[i], x = now_.x[i];
                if (x <= lower_[i] && g > 0) continue;
                if (x >= upper_[i] && g < 0) continue;
                numbers_.push_back(i);
                optimality_ = std::isfinite(g) ? std::max(optimality_, std::abs(g)) : infinity;
            }
        d_.resize(numbers_.size());
        D_.resize(numbers_.size());
    }
    void set_scales() {
        bool const by_jacobian = options_.x_scale.tensors().empty() && !cg_;
        if (base_ == 0 && cg_) {
            double size = 0;
            Reals v(numbers_.size());
            for (std::size_t i = 0; i < v.size(); ++i) {
                double const s = scale_[numbers_[i]], g = gradient_[numbers_[i]];
                v[i] = s * s * g;
                size += s * s * g * g;
            }
            base_ = size > 0 ? std::sqrt(solver_->squared_image(v) / size) : 1;
        }
        if (base_ == 0)
            for (std::size_t i = 0; i < norms_.size(); ++i)
                base_ = std::max(base_, norms_[i] * scale_[i]);
        if (base_ == 0) base_ = 1;
        for (std::size_t i = 0; i < D_.size(); ++i) {
            double const norm = norms_[numbers_[i]];
            D_[i] = !by_jacobian ? base_ / scale_[numbers_[i]] : norm > 0 ? norm : 1;
        }
    }
    double scaled_norm(std::span<double const> d) const {
        double sum = 0;
        for (std::size_t i = 0; i < d.size(); ++i) sum += d[i] * D_[i] * d[i] * D_[i];
        return std::sqrt(sum);
    }

    bool is_lm() const {
        return options_.method == LeastSquaresMethod::lm ||
               options_.method == LeastSquaresMethod::lmaccel;
    }
    /// Half of the second derivative along the path whose first one is d_; false where it is long.
    bool accelerate(double predicted) {
        static constexpr double h = 0.1, longest = 0.75;
        std::size_t const n = d_.size();
        acceleration_.assign(n, 0);
        // Near a minimum the residuals are linear, and rounding errors hide what they are not.
        if (options_.method != LeastSquaresMethod::lmaccel || predicted < 1e-8 * now_.cost)
            return true;
        Reals v(now_.x.size()), image(now_.values.size()), b(n);
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
        for (std::size_t i = 0; i < n; ++i) b[i] = -v[numbers_[i]] / 2;
        solver_->solve_again(b, acceleration_);
        return 2 * scaled_norm(acceleration_) <= longest * scaled_norm(d_); // false for NaN
    }
    /// Writes a step of the method to d_; false where the system is singular.
    bool propose() {
        if (is_lm()) return solver_->solve(damping_, D_, d_);
        if (!solved_) {
            newton_.resize(d_.size());
            bool const regular = solver_->solve(0, D_, newton_);
            if (!regular && options_.method == LeastSquaresMethod::gauss_newton)
                fail("least_squares: the Jacobian has rank ", solver_->rank().first, " for ",
                    solver_->rank().second,
                    " parameters, so that the step of gauss_newton is not determined: take method "
                    "lm");
            if (!regular && !solver_->solve(1e-8, D_, newton_)) return false;
            solved_ = true;
        }
        if (options_.method == LeastSquaresMethod::gauss_newton) {
            for (std::size_t i = 0; i < d_.size(); ++i) d_[i] = newton_[i] / damping_;
            return true;
        }
        double const radius = 1 / damping_;
        // To Cauchy's point, where the model is least along the gradient, and on to Newton's.
        double slope = 0;
        for (std::size_t i = 0; i < d_.size(); ++i) {
            double const g = gradient_[numbers_[i]];
            d_[i] = -g / (D_[i] * D_[i]);
            slope -= g * d_[i];
        }
        double const curvature = solver_->squared_image(d_), to_cauchy = slope / curvature;
        for (auto& x : d_) x *= to_cauchy;
        double const cauchy = scaled_norm(d_);
        if (scaled_norm(newton_) <= radius) d_ = newton_;
        else if (cauchy >= radius)
            for (auto& x : d_) x *= radius / cauchy;
        else {
            double a = 0, b = 0; // |c + t (newton - c)|^2 = radius^2
            for (std::size_t i = 0; i < d_.size(); ++i) {
                double const c = d_[i] * D_[i], more = newton_[i] * D_[i] - c;
                a += more * more;
                b += more * c;
            }
            double const rest = radius * radius - cauchy * cauchy;
            double const t = rest / (b + std::sqrt(b * b + a * rest));
            for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += t * (newton_[i] - d_[i]);
        }
        return true;
    }
    void adapt(bool accepted, double rho, double length) {
        switch (options_.method) {
        case LeastSquaresMethod::lm:
        case LeastSquaresMethod::lmaccel:
            if (accepted) {
                damping_ *= std::max(1. / 3, 1 - std::pow(2 * rho - 1, 3));
                damping_ = std::max(damping_, 1e-16);
                growth_ = 2;
            } else {
                damping_ *= growth_;
                growth_ *= 2;
            }
            break;
        case LeastSquaresMethod::dogleg:
            if (rho < 0.25) damping_ *= 2;
            else if (rho > 0.75) damping_ = std::min(damping_, 1 / (3 * length));
            break;
        case LeastSquaresMethod::gauss_newton:
            damping_ = accepted ? 1 : 2 * damping_;
        }
    }

    /// One step; false where it is the last one.
    bool step() {
        double predicted = 0, decrease = 0, rho = -1;
        bool changes = false;
        if (damping_ == 0) {
            Reals used;
            for (auto const i : numbers_) used.push_back(now_.x[i]);
            double const length = scaled_norm(used);
            damping_ = is_lm() ? 1e-4
                       : options_.method == LeastSquaresMethod::dogleg
                           ? 0.01 / (length > 0 ? length : 1)
                           : 1;
        }
        double size = 0;
        if (propose()) {
            for (std::size_t i = 0; i < d_.size(); ++i) {
                std::size_t const at = numbers_[i];
                double const x = now_.x[at], to = std::clamp(x + d_[i], lower_[at], upper_[at]);
                d_[i] = std::clamp(d_[i], lower_[at] - x, upper_[at] - x);
                changes |= to != x;
                predicted -= gradient_[at] * d_[i];
                size += x * D_[i] * x * D_[i];
            }
            predicted -= solver_->squared_image(d_) / 2;
            if (!changes) {
                converged("a step changes no parameter");
                return false;
            }
            if (predicted > 0 && accelerate(predicted)) {
                next_.x = now_.x;
                for (std::size_t i = 0; i < d_.size(); ++i) {
                    double& x = next_.x[numbers_[i]];
                    x = std::clamp(
                        x + d_[i] + acceleration_[i], lower_[numbers_[i]], upper_[numbers_[i]]);
                }
                evaluate(next_);
                decrease = std::isfinite(next_.cost) ? now_.decrease_to(next_) : -infinity;
                rho = decrease / predicted;
            }
        }
        double const length = scaled_norm(d_), damping = damping_;
        // Where rounding errors hide a decrease, steps converge as long as each is shorter.
        bool const is_hidden = predicted > 0 && predicted < 1e-12 * now_.cost &&
                               std::abs(decrease) < 1e-9 * now_.cost &&
                               length < 0.95 * last_length_;
        bool const accepted = (rho > 1e-3 && decrease > 0) || is_hidden;
        bool const small_change = accepted && rho > 0.25 && decrease < options_.ftol * now_.cost,
                   small_step = changes && length <= options_.xtol * std::sqrt(size);
        adapt(accepted, is_hidden ? 1 : rho, length);
        if (accepted) {
            std::swap(now_, next_);
            last_length_ = length;
            linearize();
        }
        if (options_.callback)
            options_.callback(
                {result_.nit + 1, result_.nfev, now_.cost, optimality_, damping, length, accepted});
        if (small_change)
            converged("the last step decreased the cost relatively by less than ftol");
        else if (small_step) converged("the last step was shorter than xtol times the parameters");
        else if (!(damping_ < 1e100)) {
            result_.message = "not converged: no step decreases the cost";
            return false;
        }
        return true;
    }

    LeastSquaresSolution finish() {
        result_.x = written_reals(x0_, now_.x.data());
        result_.fun = written_reals(now_.call.outputs, now_.values.data());
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
            if (inverse.size() != numbers.size() * numbers.size())
                fail("covariance: the Jacobian has rank ", solver->rank().first, " for ",
                    solver->rank().second, " parameters: some are not determined");
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

    std::vector<std::size_t> columns_; // parameters that are not fixed, as numbers of the solver
    std::vector<std::size_t> numbers_; // the real numbers among them that the next step changes
    Reals jacobian_, weighted_;        // memory of the dense solvers
    Reals gradient_, norms_;           // of all real numbers; norms of columns, which fall slowly
    Reals column_norms_;               // those of now_, by rows
    Reals d_, D_, newton_;             // of numbers_
    Reals acceleration_;               // likewise: what lmaccel adds to d_
    double base_ = 0, optimality_ = 0, first_optimality_ = 0;
    double damping_ = 0, growth_ = 2, last_length_ = infinity;
    bool solved_ = false; // newton_ is that of now_
    std::shared_ptr<StepSolver> solver_;
    std::shared_ptr<CgSolver> cg_; // the same, where it is one
};

XGRAD_FUNCTION LeastSquaresSolution minimize_squares(
    std::function<ResidualCall(TensorSpan)> const& residual, TensorSpan x0,
    LeastSquaresOptions const& options, std::shared_ptr<RowSolver> rows) {
    check_defined("least_squares", "parameter", x0);
    return SquaresMinimizer(residual, x0, options, std::move(rows)).run();
}

} // namespace xgrad::detail
