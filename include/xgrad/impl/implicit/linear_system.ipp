// Linear systems that are given by products, solved for several independent rows side by side.
// Vectors are real: a complex number is two of them, so that an operator that is linear over the
// reals only needs no other code. Each row has its own scalars and its own end.
#pragma once

#include <cmath>

#include <xgrad/implicit/problem.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::detail {

using Reals = std::vector<double>;

inline std::string in_row(std::size_t r, std::size_t rows) {
    return rows > 1 ? " in row " + std::to_string(r) : std::string();
}

/// Of a residual in a row: how large it is, and what counts as 0.
inline std::string size_text(double norm, double tol, std::size_t r, std::size_t rows) {
    return "|F(x)| is " + number_text(norm, {3}) + in_row(r, rows) +
           (std::isfinite(norm) ? ", where " + number_text(tol, {3}) + " counts as 0" : "");
}

/// A x = b for a block diagonal A: `rows` blocks of `size` rows and columns.
struct LinearSystem {
    using Product = std::function<Reals(Reals const&)>;

    std::string_view name; // of the public function, for messages
    std::string_view what; // that is computed
    std::size_t rows, size;
    double eps; // of the products
    Product product;
    Product adjoint = {}; // for LSMR only
};

/// The scalar products of the rows of two vectors.
inline Reals row_products(Reals const& a, Reals const& b, std::size_t rows) {
    std::size_t const size = rows ? a.size() / rows : 0;
    Reals sums(rows, 0.);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = r * size; i < (r + 1) * size; ++i) sums[r] += a[i] * b[i];
    return sums;
}
/// The lengths of the rows. A row whose squares are too large or too small is scaled first.
inline Reals row_norms(Reals const& a, std::size_t rows) {
    Reals norms = row_products(a, a, rows);
    std::size_t const size = rows ? a.size() / rows : 0;
    for (std::size_t r = 0; r < rows; ++r) {
        double largest = 0.;
        if (!(norms[r] > 1e-290 && norms[r] < 1e290))
            for (std::size_t i = r * size; i < (r + 1) * size; ++i)
                if (!(std::abs(a[i]) <= largest)) largest = std::abs(a[i]);
        if (largest > 0. && std::isfinite(largest)) {
            norms[r] = 0.;
            for (std::size_t i = r * size; i < (r + 1) * size; ++i)
                norms[r] += a[i] / largest * (a[i] / largest);
        } else largest = 1.;
        norms[r] = largest * std::sqrt(norms[r]);
    }
    return norms;
}
/// Each row becomes y = s x + t y; t is 1 where it is left out.
inline void add_rows(Reals const& s, Reals const& x, Reals& y, Reals const& t = {}) {
    std::size_t const size = s.empty() ? 0 : y.size() / s.size();
    for (std::size_t r = 0; r < s.size(); ++r)
        for (std::size_t i = r * size; i < (r + 1) * size; ++i)
            y[i] = s[r] * x[i] + (t.empty() ? y[i] : t[r] * y[i]);
}
/// Divides each row by a number; a row of zeros where that is 0.
inline void divide_rows(Reals& x, Reals const& by) {
    Reals factor(by.size());
    for (std::size_t r = 0; r < by.size(); ++r) factor[r] = by[r] > 0. ? 1. / by[r] : 0.;
    add_rows(factor, x, x, Reals(by.size(), 0.));
}
inline double ratio(double a, double b) { return b != 0. ? a / b : 0.; }

/// Gaussian elimination with partial pivoting: b becomes the solution. False for a matrix that is
/// singular within eps.
inline bool eliminate(Reals& a, double* b, std::size_t n, double eps) {
    double largest = 0.;
    for (double const x : a) largest = std::max(largest, std::abs(x));
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < n; ++i)
            if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
        if (!(std::abs(a[pivot * n + k]) > eps * largest)) return false;
        if (pivot != k) {
            std::swap_ranges(&a[k * n], &a[k * n] + n, &a[pivot * n]);
            std::swap(b[k], b[pivot]);
        }
        for (std::size_t i = k + 1; i < n; ++i) {
            double const factor = a[i * n + k] / a[k * n + k];
            if (factor == 0.) continue;
            for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

class LinearSolver {
public:
    LinearSolver(LinearSystem const& a, Reals const& b, ImplicitOptions const& options, double tol)
        : a_(a), b_(b), rows_(a.rows), n_(a.size), tol_(tol),
          max_iterations_(
              options.max_linear_iterations ? options.max_linear_iterations : 10 * a.size),
          restart_(std::max<std::size_t>(std::min(options.restart, a.size), 1)),
          b_norm_(row_norms(b, rows_)), a_norm_(rows_, 0.) {}

    /// x with A x = b within the tolerance; ConvergenceError otherwise.
    Reals solve(LinearMethod method) {
        if (method == LinearMethod::dense) {
            Reals x = dense();
            return rows_ > 1 ? checked(std::move(x), method) : x;
        }
        return checked(method == LinearMethod::cg      ? cg()
                       : method == LinearMethod::gmres ? gmres()
                                                       : lsmr(),
            method);
    }

    /// Conjugate gradients. With `truncated` a row ends where the curvature is not positive, with
    /// the step so far, or with b.
    Reals cg(bool truncated = false) {
        Reals x(b_.size(), 0.), residual = b_, along = b_;
        Reals squares = row_products(residual, residual, rows_);
        std::vector<char> ended(rows_, false);
        for (; iterations_ < max_iterations_; ++iterations_) {
            Reals const x_norm = row_norms(x, rows_);
            bool all = true;
            for (std::size_t r = 0; r < rows_; ++r) {
                if (is_small(r, std::sqrt(squares[r]), x_norm[r])) ended[r] = true;
                all &= ended[r] != 0;
            }
            if (all) break;
            Reals const image = times(along);
            Reals const curvature = row_products(along, image, rows_);
            Reals step(rows_, 0.), next(rows_, 0.);
            for (std::size_t r = 0; r < rows_; ++r) {
                if (ended[r]) continue;
                if (curvature[r] > 0.) step[r] = squares[r] / curvature[r];
                else if (!truncated)
                    fail<ConvergenceError>(a_.name, ": cg needs a positive definite operator, and ",
                        "a direction v of ", a_.what,
                        " has v^T A v = ", number_text(curvature[r], {3}), in_row(r, rows_),
                        ": gmres and lsmr take any");
                else {
                    ended[r] = true;
                    if (iterations_ == 0) step[r] = 1.;
                }
            }
            add_rows(step, along, x);
            for (auto& s : step) s = -s;
            add_rows(step, image, residual);
            Reals const before = std::exchange(squares, row_products(residual, residual, rows_));
            for (std::size_t r = 0; r < rows_; ++r)
                if (!ended[r]) next[r] = ratio(squares[r], before[r]);
            add_rows(Reals(rows_, 1.), residual, along, next);
        }
        return x;
    }

private:
    Reals times(Reals const& v) {
        Reals image = a_.product(v);
        Reals const to = row_norms(image, rows_), from = row_norms(v, rows_);
        for (std::size_t r = 0; r < rows_; ++r)
            a_norm_[r] = std::max(a_norm_[r], ratio(to[r], from[r]));
        return image;
    }
    bool is_small(std::size_t r, double residual, double x_norm) const {
        return residual <= tol_ * (b_norm_[r] + a_norm_[r] * x_norm);
    }
    Reals residual_of(Reals const& x) {
        Reals residual = b_;
        add_rows(Reals(rows_, -1.), times(x), residual);
        return residual;
    }
    Reals checked(Reals x, LinearMethod method) {
        bool const by_matrix = method == LinearMethod::dense;
        double const tol = by_matrix ? 1e4 * a_.eps : 10. * tol_;
        Reals const residual = row_norms(residual_of(x), rows_), x_norm = row_norms(x, rows_);
        for (std::size_t r = 0; r < rows_; ++r) {
            // where A is nearly singular, x may be large, and its residual too
            double const limit = std::min(
                tol * (b_norm_[r] + a_norm_[r] * x_norm[r]), std::max(tol, 1e-3) * b_norm_[r]);
            if (residual[r] <= limit) continue;
            fail<ConvergenceError>(a_.name, ": the linear system for ", a_.what,
                " is not solved: |A x - b| / |b| is ",
                number_text(ratio(residual[r], b_norm_[r]), {3}), in_row(r, rows_),
                by_matrix ? "" : " after " + std::to_string(iterations_) + " iterations",
                by_matrix ? ": with .rows = true no row may depend on another one" : "");
        }
        return x;
    }

    /// One product for each column: it has that column of all blocks.
    Reals dense() {
        Reals blocks(rows_ * n_ * n_), unit(rows_ * n_);
        for (std::size_t j = 0; j < n_; ++j) {
            for (std::size_t r = 0; r < rows_; ++r) unit[r * n_ + j] = 1.;
            Reals const column = times(unit);
            for (std::size_t r = 0; r < rows_; ++r) {
                unit[r * n_ + j] = 0.;
                for (std::size_t i = 0; i < n_; ++i)
                    blocks[(r * n_ + i) * n_ + j] = column[r * n_ + i];
            }
        }
        Reals x = b_;
        for (std::size_t r = 0; r < rows_; ++r) {
            auto const* const block = blocks.data() + r * n_ * n_;
            if (b_norm_[r] == 0.) continue;
            Reals matrix(block, block + n_ * n_);
            auto* const row = x.data() + r * n_;
            bool regular = eliminate(matrix, row, n_, static_cast<double>(n_) * a_.eps);
            double left = 0.; // where A is singular up to rounding, x is large, and this, too
            for (std::size_t i = 0; regular && i < n_; ++i) {
                double image = -b_[r * n_ + i];
                for (std::size_t j = 0; j < n_; ++j) image += block[i * n_ + j] * row[j];
                left = std::hypot(left, image);
            }
            if (!regular || !(left <= 1e-3 * b_norm_[r]))
                fail<ConvergenceError>(a_.name, ": the linear system for ", a_.what, " is singular",
                    in_row(r, rows_), ": there is no derivative, or no isolated solution");
        }
        return x;
    }

    /// GMRES with restarts; the vectors are orthogonalised twice.
    Reals gmres() {
        Reals x(b_.size(), 0.), residual = b_;
        while (iterations_ < max_iterations_) {
            Reals const start = row_norms(residual, rows_), x_norm = row_norms(x, rows_);
            if (all_small(start, x_norm)) break;
            std::size_t const m = restart_;
            std::vector<Reals> basis{residual};
            divide_rows(basis[0], start);
            Reals h(rows_ * (m + 1) * m, 0.), g(rows_ * (m + 1), 0.), c(rows_ * m), s(rows_ * m);
            auto const at = [&](std::size_t r, std::size_t i, std::size_t j) -> double& {
                return h[(r * (m + 1) + i) * m + j];
            };
            Reals left = start; // the norms of the residuals
            for (std::size_t r = 0; r < rows_; ++r) g[r * (m + 1)] = start[r];
            std::size_t columns = 0;
            while (columns < m && iterations_ < max_iterations_ && !all_small(left, x_norm)) {
                std::size_t const j = columns++;
                ++iterations_;
                Reals next = times(basis[j]);
                Reals const image_norm = row_norms(next, rows_);
                for (int repeat = 0; repeat < 2; ++repeat)
                    for (std::size_t i = 0; i <= j; ++i) {
                        Reals part = row_products(basis[i], next, rows_);
                        for (std::size_t r = 0; r < rows_; ++r) {
                            at(r, i, j) += part[r];
                            part[r] = -part[r];
                        }
                        add_rows(part, basis[i], next);
                    }
                Reals length = row_norms(next, rows_);
                for (std::size_t r = 0; r < rows_; ++r) {
                    if (length[r] <= 1e-15 * image_norm[r]) length[r] = 0.;
                    for (std::size_t i = 0; i < j; ++i) {
                        double const above = at(r, i, j), below = at(r, i + 1, j);
                        at(r, i, j) = c[r * m + i] * above + s[r * m + i] * below;
                        at(r, i + 1, j) = c[r * m + i] * below - s[r * m + i] * above;
                    }
                    double const norm = std::hypot(at(r, j, j), length[r]);
                    c[r * m + j] = norm > 0. ? at(r, j, j) / norm : 1.;
                    s[r * m + j] = ratio(length[r], norm);
                    at(r, j, j) = norm;
                    double& last = g[r * (m + 1) + j];
                    g[r * (m + 1) + j + 1] = -s[r * m + j] * last;
                    last *= c[r * m + j];
                    left[r] = std::abs(g[r * (m + 1) + j + 1]);
                }
                divide_rows(next, length);
                basis.push_back(std::move(next));
            }
            std::vector<Reals> y(columns, Reals(rows_, 0.));
            for (std::size_t r = 0; r < rows_; ++r)
                for (std::size_t i = columns; i-- > 0;) {
                    double sum = g[r * (m + 1) + i];
                    for (std::size_t j = i + 1; j < columns; ++j) sum -= at(r, i, j) * y[j][r];
                    if (at(r, i, i) > 1e-14 * a_norm_[r]) y[i][r] = sum / at(r, i, i);
                }
            for (std::size_t j = 0; j < columns; ++j) add_rows(y[j], basis[j], x);
            residual = residual_of(x);
        }
        return x;
    }
    bool all_small(Reals const& residual, Reals const& x_norm) const {
        bool all = true;
        for (std::size_t r = 0; r < rows_; ++r) all &= is_small(r, residual[r], x_norm[r]);
        return all;
    }

    /// LSMR (Fong and Saunders, 2011), without damping. The residual b - A x is carried along.
    Reals lsmr() {
        Reals x(b_.size(), 0.), residual = b_, u = b_, beta = b_norm_;
        divide_rows(u, beta);
        Reals v = a_.adjoint(u), alpha = row_norms(v, rows_);
        divide_rows(v, alpha);
        Reals const zeros(rows_, 0.), ones(rows_, 1.);
        Reals zeta_bar(rows_), alpha_bar = alpha, rho = ones, rho_bar = ones, c_bar = ones,
                               s_bar = zeros, h = v, h_bar(b_.size(), 0.), theta(rows_, 0.);
        Reals image_of_h(b_.size(), 0.), image_of_h_bar(b_.size(), 0.);
        for (std::size_t r = 0; r < rows_; ++r) zeta_bar[r] = alpha[r] * beta[r];
        for (; iterations_ < max_iterations_; ++iterations_) {
            if (all_small(row_norms(residual, rows_), row_norms(x, rows_))) break;
            Reals const image = times(v);
            Reals minus(rows_), step(rows_), back(rows_), next(rows_);
            for (std::size_t r = 0; r < rows_; ++r) minus[r] = -alpha[r];
            for (std::size_t r = 0; r < rows_; ++r) next[r] = -ratio(theta[r], rho[r]);
            add_rows(ones, image, image_of_h, next);
            add_rows(ones, image, u, minus);
            divide_rows(u, beta = row_norms(u, rows_));
            for (std::size_t r = 0; r < rows_; ++r) minus[r] = -beta[r];
            add_rows(ones, a_.adjoint(u), v, minus);
            divide_rows(v, alpha = row_norms(v, rows_));
            for (std::size_t r = 0; r < rows_; ++r) {
                double const rho_before = rho[r], rho_bar_before = rho_bar[r];
                rho[r] = std::hypot(alpha_bar[r], beta[r]);
                double const c = ratio(alpha_bar[r], rho[r]), s = ratio(beta[r], rho[r]);
                theta[r] = s * alpha[r];
                alpha_bar[r] = c * alpha[r];
                double const theta_bar = s_bar[r] * rho[r], rho_c = c_bar[r] * rho[r];
                rho_bar[r] = std::hypot(rho_c, theta[r]);
                c_bar[r] = ratio(rho_c, rho_bar[r]);
                s_bar[r] = ratio(theta[r], rho_bar[r]);
                double const zeta = c_bar[r] * zeta_bar[r];
                zeta_bar[r] *= -s_bar[r];
                back[r] = -ratio(theta_bar * rho[r], rho_before * rho_bar_before);
                step[r] = ratio(zeta, rho[r] * rho_bar[r]);
                next[r] = -ratio(theta[r], rho[r]);
            }
            add_rows(ones, h, h_bar, back);
            add_rows(ones, image_of_h, image_of_h_bar, back);
            add_rows(step, h_bar, x);
            for (auto& s : step) s = -s;
            add_rows(step, image_of_h_bar, residual);
            add_rows(ones, v, h, next);
        }
        return x;
    }

    LinearSystem const& a_;
    Reals const& b_;
    std::size_t rows_, n_;
    double tol_;
    std::size_t max_iterations_, restart_, iterations_ = 0;
    Reals b_norm_, a_norm_; // |A|: the largest ratio |A v| / |v| that was seen
};

/// The method that `automatic` stands for.
inline LinearMethod method_for(ImplicitProblem const& p, std::size_t size) {
    LinearMethod const method = p.options.linear;
    if (method != LinearMethod::automatic) return method;
    return size <= 64       ? LinearMethod::dense
           : p.is_symmetric ? LinearMethod::cg
                            : LinearMethod::gmres;
}
/// x with A x = b. Each row of b is scaled by a power of 2, so that its squares neither overflow
/// nor vanish. The solution of a row that is not finite is NaN.
inline Reals solve_linear(
    ImplicitProblem const& p, LinearSystem const& a, Reals const& b, double min_tol = 0.) {
    double const tol = p.options.linear_tol > 0. ? p.options.linear_tol : std::pow(a.eps, 0.75);
    Reals const norms = row_norms(b, a.rows);
    auto const scaled = [&](Reals v, int sign, double if_not_finite) {
        for (std::size_t i = 0; i < v.size(); ++i) {
            double const norm = norms[i / a.size];
            if (!std::isfinite(norm)) v[i] = if_not_finite;
            else if (norm > 0.) v[i] = std::ldexp(v[i], sign * std::ilogb(norm));
        }
        return v;
    };
    Reals const right = scaled(b, -1, 0.);
    LinearSolver solver(a, right, p.options, std::max(tol, min_tol));
    return scaled(solver.solve(method_for(p, a.size)), 1, std::nan(""));
}

} // namespace xgrad::detail
