// The linear model |J d + r| of the residuals at one point, and its least steps d: without a bound
// (the full step), and where |D d| is at most a radius, by the methods of Moré (MINPACK, 1978) and
// Powell.
#pragma once

#include <xgrad/impl/least_squares/squares_problem.ipp>

namespace xgrad::detail {

class LinearModel : protected SquaresProblem {
protected:
    using SquaresProblem::SquaresProblem;

    void start() {
        bool const by_cg = !rows_ && options_.linear_solver == NormalSolver::cg;
        if (by_cg && options_.method == LeastSquaresMethod::lmaccel)
            fail("least_squares: method lmaccel needs a Jacobian: take linear_solver qr or "
                 "cholesky");
        begin();
        auto const fixed = expanded("fixed", options_.fixed, 0);
        std::size_t const w = holomorphic_ ? 2 : 1;
        for (std::size_t i = 0; i < now_.x.size(); i += w)
            if (fixed[i] == 0) columns_.push_back(i / w);
        std::size_t const n = columns_.size(), m = now_.values.size() / w;
        if (rows_) solver_ = rows_;
        else if (by_cg) solver_ = cg_ = std::make_shared<CgSolver>();
        else {
            jacobian_.resize(n * m * w);
            if (holomorphic_) make_dense<std::complex<double>>(n);
            else make_dense<double>(n);
        }
        gradient_.resize(now_.x.size());
        column_norms_.resize(now_.x.size());
        norms_.resize(now_.x.size());
    }
    template <class T> void make_dense(std::size_t n) {
        if (options_.linear_solver == NormalSolver::cholesky)
            solver_ = std::make_shared<CholeskySolver<T>>(n);
        else solver_ = std::make_shared<QrSolver<T>>(n);
    }
    /// The gradient, the scales and the solver for the parameters of now_.
    void linearize() {
        is_blocked_.assign(now_.x.size(), false);
        linearize_chosen();
        measure_cosines();
        set_scales();
        first_optimality_ = std::max(first_optimality_, optimality_);
        if (optimality_ > 0)
            solver_->tolerance = std::clamp(optimality_ / first_optimality_, 1e-6, 0.1);
    }
    void linearize_chosen() {
        ++result_.njev;
        weighted_ = now_.weighted;
        if (rows_) {
            rows_->linearize(now_, gradient_.data(), column_norms_.data());
            choose_numbers<double>();
            rows_->choose(numbers_);
        } else if (cg_) {
            cg_->of.emplace(now_);
            cg_->residual = weighted_;
            cg_->of->pull(weighted_.data(), gradient_.data());
            cg_->gradient = gradient_;
            choose_numbers<double>();
            cg_->at = numbers_;
        } else if (holomorphic_) linearize_dense<std::complex<double>>();
        else linearize_dense<double>();
        solved_ = false;
    }
    template <class T> void linearize_dense() {
        constexpr std::size_t w = sizeof(T) / sizeof(double);
        std::size_t const m = now_.values.size() / w;
        auto* const a = reinterpret_cast<T*>(jacobian_.data());
        auto* const r = reinterpret_cast<T*>(weighted_.data());
        Linearization(now_).jacobian<T>(columns_, a);
        auto* const g = reinterpret_cast<T*>(gradient_.data());
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            g[columns_[c]] = dot_product(a + c * m, r, m);
            std::fill_n(
                column_norms_.data() + columns_[c] * w, w, std::sqrt(squared_norm(a + c * m, m)));
        }
        choose_numbers<T>();
        // Columns of parameters that stay at their bounds are left out.
        std::size_t used = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (used * w < numbers_.size() && numbers_[used * w] == columns_[c] * w) {
                if (used != c) std::copy_n(a + c * m, m, a + used * m);
                ++used;
            }
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
                optimality_ = std::isfinite(g) ? std::max(optimality_, std::abs(g)) : infinity;
                if (!is_blocked_[i]) numbers_.push_back(i);
            }
        for (auto* all : {&x_, &weight_, &d_, &D_, &newton_, &other_, &acceleration_})
            all->resize(numbers_.size());
    }
    /// The cosines between the residuals and columns of J. Conjugate gradients have no columns: all
    /// have the norm that J has along the gradient. From the first end of a fit on, the norms are
    /// measured, column by column, each time that steps took as many products.
    void measure_cosines() {
        double const residual = std::sqrt(squared_norm(now_.weighted.data(), now_.weighted.size()));
        cosine_ = 0;
        if (cg_) {
            double size = 0;
            for (std::size_t i = 0; i < d_.size(); ++i) {
                double const s = scale_[numbers_[i]], g = gradient_[numbers_[i]];
                d_[i] = s * s * g;
                size += s * s * g * g;
            }
            double const image = std::sqrt(solver_->squared_image(d_));
            if (size > 0) cosine_ = size / (image * residual);
            if (base_ == 0) base_ = image / std::sqrt(size);
            if (!has_columns_ || d_.size() > cg_->products) return;
            for (std::size_t i = 0; i < d_.size(); ++i) {
                std::ranges::fill(d_, 0.);
                d_[i] = 1;
                column_norms_[numbers_[i]] = std::sqrt(solver_->squared_image(d_));
            }
            cg_->products = 0;
            cosine_ = 0;
        }
        for (auto const i : numbers_)
            if (gradient_[i] != 0)
                cosine_ = std::max(cosine_, std::abs(gradient_[i]) / (column_norms_[i] * residual));
    }
    void set_scales() {
        for (std::size_t i = 0; i < norms_.size(); ++i)
            norms_[i] = std::max(norms_[i], column_norms_[i]);
        if (base_ == 0)
            for (std::size_t i = 0; i < norms_.size(); ++i)
                base_ = std::max(base_, norms_[i] * scale_[i]);
        if (!(base_ > 0)) base_ = 1;
        bool const by_jacobian = options_.x_scale.tensors().empty() && (!cg_ || has_columns_);
        for (std::size_t i = 0; i < D_.size(); ++i) {
            std::size_t const at = numbers_[i];
            D_[i] = !by_jacobian ? base_ / scale_[at] : norms_[at] > 0 ? norms_[at] : 1;
            x_[i] = now_.x[at];
            weight_[i] = by_jacobian ? column_norms_[at] : D_[i];
        }
        double const residual = std::sqrt(squared_norm(now_.weighted.data(), now_.weighted.size()));
        visible_ = 4 * rounding_ * (change(x_) + residual);
        noise_ = std::max(visible_ * residual, 4 * rounding_ * now_.cost); // of outliers, too
    }
    /// How much the residuals change by d, if those of each number add up.
    double change(std::span<double const> d) const {
        double sum = 0;
        for (std::size_t i = 0; i < d.size(); ++i) sum += d[i] * weight_[i] * d[i] * weight_[i];
        return std::sqrt(sum);
    }
    double scaled_norm(std::span<double const> d) const {
        double sum = 0;
        for (std::size_t i = 0; i < d.size(); ++i) sum += d[i] * D_[i] * d[i] * D_[i];
        return std::sqrt(sum);
    }
    /// By how much a step decreases the cost of the linear model.
    double predicted(std::span<double const> d) {
        double slope = 0;
        for (std::size_t i = 0; i < d.size(); ++i) slope += gradient_[numbers_[i]] * d[i];
        return -slope - solver_->squared_image(d) / 2;
    }

    /// Writes the full step to newton_, and leaves its factors in the solver. Where columns of J
    /// depend on others, it has a multiplier that is hardly visible.
    bool full_step() {
        if (solved_ && has_full_factors_) return is_full_;
        has_full_factors_ = solved_ = is_full_ = true;
        // Normal equations of rows that are singular once stay so: that spares their factors.
        is_regular_ = (is_regular_ || !rows_) && solver_->solve(0, D_, newton_);
        if (is_regular_ || options_.method == LeastSquaresMethod::gauss_newton)
            return is_full_ = is_regular_;
        for (std::size_t i = 0; i < other_.size(); ++i) other_[i] = weight_[i] > 0 ? weight_[i] : 1;
        return is_full_ = solver_->solve(1e-12, other_, newton_);
    }
    /// Writes the step to d_ that minimises the linear model where |D d| is at most the radius, or
    /// a tenth more. It has a multiplier of D^2, at which its length is right: found by Newton's
    /// method for 1 / length.
    bool within_radius() {
        bool const is_full = full_step();
        double length = scaled_norm(newton_), steepest = 0;
        if (is_full && length <= 1.1 * radius_) {
            d_ = newton_;
            multiplier_ = 0;
            return true;
        }
        for (std::size_t i = 0; i < D_.size(); ++i)
            steepest += std::pow(gradient_[numbers_[i]] / D_[i], 2);
        steepest = std::sqrt(steepest);
        double const upper = steepest / radius_;
        double lower = is_full && is_regular_ ? next_multiplier(newton_, 0) : 0;
        multiplier_ = std::clamp(multiplier_, lower, std::max(lower, upper));
        if (multiplier_ == 0) multiplier_ = is_full ? steepest / length : 1e-3 * upper;
        for (int k = 0; k < 10; ++k) {
            has_full_factors_ = false;
            if (!solver_->solve(multiplier_, D_, d_)) {
                multiplier_ *= 10;
                continue;
            }
            length = scaled_norm(d_);
            if (std::abs(length - radius_) <= 0.1 * radius_) break;
            if (length > radius_) lower = multiplier_;
            multiplier_ = std::max(next_multiplier(d_, multiplier_), lower);
            if (!std::isfinite(multiplier_)) return false;
            if (multiplier_ == 0) multiplier_ = 1e-3 * upper;
        }
        return true;
    }
    /// One step of Newton's method from the multiplier with which the solver found d.
    double next_multiplier(Reals const& d, double multiplier) {
        double const length = scaled_norm(d);
        for (std::size_t i = 0; i < d.size(); ++i) other_[i] = D_[i] * D_[i] * d[i] / length;
        solver_->solve_again(other_, acceleration_);
        double slope = 0;
        for (std::size_t i = 0; i < d.size(); ++i) slope += other_[i] * acceleration_[i];
        return multiplier + (length - radius_) / (radius_ * slope);
    }
    /// Powell's step: to Cauchy's point, where the model is least along the gradient, and on to the
    /// full step.
    bool dogleg() {
        bool const is_full = full_step();
        double slope = 0;
        for (std::size_t i = 0; i < d_.size(); ++i) {
            double const g = gradient_[numbers_[i]];
            d_[i] = -g / (D_[i] * D_[i]);
            slope -= g * d_[i];
        }
        double const to_cauchy = slope / solver_->squared_image(d_);
        for (auto& x : d_) x *= to_cauchy;
        double const cauchy = scaled_norm(d_), full = is_full ? scaled_norm(newton_) : infinity;
        if (full <= radius_) d_ = newton_;
        else if (cauchy >= radius_ || !std::isfinite(full * full))
            for (auto& x : d_) x *= std::min(1., radius_ / cauchy);
        else {
            double a = 0, b = 0; // |c + t (newton - c)|^2 = radius^2
            for (std::size_t i = 0; i < d_.size(); ++i) {
                double const c = d_[i] * D_[i], more = newton_[i] * D_[i] - c;
                a += more * more;
                b += more * c;
            }
            double const rest = radius_ * radius_ - cauchy * cauchy;
            double const t = rest / (b + std::sqrt(b * b + a * rest));
            for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += t * (newton_[i] - d_[i]);
        }
        return true;
    }

    std::vector<std::size_t> columns_; // parameters that are not fixed, as numbers of the solver
    std::vector<std::size_t> numbers_; // the real numbers among them that the next step changes
    std::vector<bool> is_blocked_;     // at a bound that a step would leave
    Reals jacobian_, weighted_;        // memory of the dense solvers
    Reals gradient_;                   // of all real numbers
    Reals column_norms_, norms_;       // of J at now_, and the largest ones so far
    Reals x_, d_, D_, newton_;         // of numbers_: x, the step, its scales, the full step
    Reals weight_;               // likewise: D, without norms of columns that were longer before
    Reals other_, acceleration_; // likewise: scratch
    bool has_columns_ = false;   // of J, for conjugate gradients
    double base_ = 0, optimality_ = 0, first_optimality_ = 0, cosine_ = 0;
    double visible_ = 0, noise_ = 0; // rounding errors of the residuals, and of the cost
    double radius_ = 0;              // the largest |D d|; 0 before the first step
    double multiplier_ = 0;          // of D^2 in the last step
    // newton_ is that of now_; it was found; without a multiplier; and the solver has its factors.
    bool solved_ = false, is_full_ = false, is_regular_ = true, has_full_factors_ = false;
    std::shared_ptr<StepSolver> solver_;
    std::shared_ptr<CgSolver> cg_; // the same, where it is one
};

} // namespace xgrad::detail
