// Dense solvers of the linear least squares problem min |J d + r|^2 + damping |D d|^2: by QR, and
// by the normal equations. Matrices are column-major, of T = double or std::complex<double>; what
// solvers take and return are real numbers, two for a complex one. They need no LAPACK.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <span>
#include <vector>

#include <xgrad/core/scalar.hpp>
#include <xgrad/kernels/gemm.hpp>

namespace xgrad::detail {

/// sum conj(a) b, in four chains for a processor's pipelines.
inline double dot_product(double const* a, double const* b, std::size_t n) {
    double s[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (std::size_t k = 0; k < 4; ++k) s[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}
inline std::complex<double> dot_product(
    std::complex<double> const* a, std::complex<double> const* b, std::size_t n) {
    auto const* const x = reinterpret_cast<double const*>(a);
    auto const* const y = reinterpret_cast<double const*>(b);
    double re[2] = {}, im[2] = {};
    for (std::size_t i = 0; i < n; ++i) {
        re[0] += x[2 * i] * y[2 * i];
        re[1] += x[2 * i + 1] * y[2 * i + 1];
        im[0] += x[2 * i] * y[2 * i + 1];
        im[1] += x[2 * i + 1] * y[2 * i];
    }
    return {re[0] + re[1], im[0] - im[1]};
}
/// y += factor x.
inline void add_multiple(double* y, double const* x, double factor, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}
inline void add_multiple(std::complex<double>* y, std::complex<double> const* x,
    std::complex<double> factor, std::size_t n) {
    auto* const to = reinterpret_cast<double*>(y);
    auto const* const from = reinterpret_cast<double const*>(x);
    double const re = factor.real(), im = factor.imag();
    for (std::size_t i = 0; i < n; ++i) {
        double const a = from[2 * i], b = from[2 * i + 1];
        to[2 * i] += re * a - im * b;
        to[2 * i + 1] += re * b + im * a;
    }
}
inline double squared_norm(double const* a, std::size_t n) { return dot_product(a, a, n); }
inline double squared_norm(std::complex<double> const* a, std::size_t n) {
    return squared_norm(reinterpret_cast<double const*>(a), 2 * n);
}
inline double conjugated(double x) { return x; }
inline std::complex<double> conjugated(std::complex<double> x) { return std::conj(x); }

/// One step's linear problem.
class StepSolver {
public:
    virtual ~StepSolver() = default;
    /// Solves for d; false where the system is singular. D has a number for each real one of d.
    virtual bool solve(double damping, std::span<double const> D, std::span<double> d) = 0;
    /// Solves (J^H J + damping D^2) d = b with the damping of the last call of solve().
    virtual void solve_again(std::span<double const> b, std::span<double> d) = 0;
    /// |J d|^2.
    virtual double squared_image(std::span<double const> d) = 0;
    /// The inverse of J^H J as a matrix of real numbers, row by row; empty where it is singular.
    virtual std::vector<double> inverse() = 0;
    /// The rank of J, and the number of its columns.
    virtual std::pair<std::size_t, std::size_t> rank() const { return {}; }

    double tolerance = 0.1; // of a solver that iterates: of the gradient of the linear problem
};

/// A solver with a Jacobian. J^H J = P R^H R P^T, where R is upper triangular and P a permutation.
template <class T> class DenseSolver : public StepSolver {
public:
    /// The m x n matrix J and the residual r, m numbers, are overwritten.
    virtual void factor(T* a, T* r, std::size_t m, std::size_t n) = 0;

    void solve_again(std::span<double const> b, std::span<double> d) override {
        auto const* const from = reinterpret_cast<T const*>(b.data());
        auto* const to = reinterpret_cast<T*>(d.data());
        T* const x = image_.data();
        for (std::size_t j = 0; j < n_; ++j) // R^H x = P^T b
            x[j] = (from[order_[j]] - dot_product(last_ + j * stride_, x, j)) /
                   conjugated(last_[j * stride_ + j]);
        back_substitute(last_, stride_, n_, x);
        for (std::size_t j = 0; j < n_; ++j) to[order_[j]] = x[j];
    }
    double squared_image(std::span<double const> d) override {
        auto const* const x = reinterpret_cast<T const*>(d.data());
        std::ranges::fill(image_, T(0));
        for (std::size_t j = 0; j < n_; ++j)
            add_multiple(image_.data(), r_.data() + j * n_, x[order_[j]], j + 1);
        return squared_norm(image_.data(), n_);
    }
    std::vector<double> inverse() override {
        if (rank_ < n_) return {};
        std::vector<T> u(n_ * n_), all(n_ * n_); // U = R^-1, by columns: P U U^H P^T
        for (std::size_t j = 0; j < n_; ++j) {
            u[j * n_ + j] = T(1);
            back_substitute(r_.data(), n_, j + 1, u.data() + j * n_);
            for (std::size_t b = 0; b <= j; ++b)
                for (std::size_t i = 0; i <= j; ++i)
                    all[order_[i] * n_ + order_[b]] += u[j * n_ + i] * conjugated(u[j * n_ + b]);
        }
        constexpr std::size_t w = sizeof(T) / sizeof(double);
        std::vector<double> reals(all.size() * w * w);
        for (std::size_t i = 0; i < n_; ++i)
            for (std::size_t b = 0; b < n_; ++b) {
                std::complex<double> const z(all[i * n_ + b]);
                for (std::size_t p = 0; p < w; ++p)
                    for (std::size_t q = 0; q < w; ++q)
                        reals[(i * w + p) * n_ * w + b * w + q] =
                            p == q ? z.real() : (p ? z.imag() : -z.imag());
            }
        return reals;
    }
    std::pair<std::size_t, std::size_t> rank() const override { return {rank_, n_}; }

protected:
    explicit DenseSolver(std::size_t n) : r_(n * n), image_(n), order_(n) {}
    /// Solves R x = x in place, with the first rows of columns of this stride.
    static void back_substitute(T const* r, std::size_t stride, std::size_t rows, T* x) {
        for (std::size_t j = rows; j-- > 0;) {
            x[j] /= r[j * stride + j];
            add_multiple(x, r + j * stride, -x[j], j);
        }
    }
    /// What rounding leaves of a column of norm 1 that depends on others.
    static double rounding(std::size_t m, std::size_t n) {
        return std::numeric_limits<double>::epsilon() * static_cast<double>(m + n);
    }

    std::size_t n_ = 0, rank_ = 0, stride_ = 0;
    T const* last_ = nullptr;  // R of the last call of solve(), with the damping, in columns
    std::vector<T> r_, image_; // R, by columns
    std::vector<std::size_t> order_;
};

/// A reflection 1 - tau v v^H that maps x to (beta, 0, ...); v = x - (beta, 0, ...) overwrites x.
/// Returns beta; tau is 0 where x is.
template <class T> T make_reflection(T* x, std::size_t n, double& tau) {
    double const length = std::sqrt(squared_norm(x, n)), modulus = std::abs(x[0]);
    tau = 0;
    if (length == 0) return T(0);
    T const beta = modulus == 0 ? T(-length) : -x[0] / modulus * length;
    x[0] -= beta;
    tau = 1 / (length * (length + modulus));
    return beta;
}

/// Applies a reflection to columns with this stride.
template <class T>
void reflect_columns(
    T const* v, double tau, std::size_t n, T* x, std::size_t stride, std::size_t count) {
    for (; count > 0; --count, x += stride) add_multiple(x, v, -tau * dot_product(v, x, n), n);
}

/// QR without pivoting, m >= n, in panels whose reflections are applied by two matrix products:
/// they are 1 - V C V^H. a becomes R, in columns of n rows; r becomes Q^H r.
template <class T> void triangularize(T* a, T* r, std::size_t m, std::size_t n) {
    constexpr std::size_t width = 16;
    std::vector<T> panel(width * m), products(width * n);
    for (std::size_t k = 0; k < n; k += width) {
        std::size_t const count = std::min(width, n - k), rest = n - k - count, rows = m - k;
        double tau[width];
        std::ranges::fill(panel, T(0));
        for (std::size_t p = 0; p < count; ++p) {
            T* const v = a + (k + p) * m + k + p;
            T const beta = make_reflection(v, rows - p, tau[p]);
            reflect_columns(v, tau[p], rows - p, v + m, m, count - p - 1);
            reflect_columns(v, tau[p], rows - p, r + k + p, m, 1);
            std::copy_n(v, rows - p, panel.data() + p * rows + p);
            v[0] = beta;
        }
        if (rest == 0) break;
        T* const x = a + (k + count) * m + k;
        auto const stride = static_cast<std::ptrdiff_t>(m),
                   panel_stride = static_cast<std::ptrdiff_t>(rows);
        // Row j of products has V^H times column j of x, and then C^H times that.
        gemm(rest, count, rows, x, stride, 1, false, panel.data(), 1, panel_stride, true,
            products.data(), static_cast<std::ptrdiff_t>(count), false);
        for (std::size_t p = 0; p < count; ++p) {
            T overlap[width];
            for (std::size_t q = 0; q < p; ++q)
                overlap[q] =
                    dot_product(panel.data() + p * rows + p, panel.data() + q * rows + p, rows - p);
            for (std::size_t j = 0; j < rest; ++j) {
                T* const of = products.data() + j * count;
                T sum = of[p];
                for (std::size_t q = 0; q < p; ++q) sum += overlap[q] * of[q];
                of[p] = -tau[p] * sum;
            }
        }
        gemm(rest, rows, count, products.data(), static_cast<std::ptrdiff_t>(count), 1, false,
            panel.data(), panel_stride, 1, false, x, stride, true);
    }
    for (std::size_t j = 0; j < n; ++j) {
        std::copy_n(a + j * m, j + 1, a + j * n);
        std::fill_n(a + j * n + j + 1, n - j - 1, T(0));
    }
}

/// By QR in the memory of the Jacobian, with column pivoting where columns are nearly dependent.
template <class T> class QrSolver final : public DenseSolver<T> {
    using Base = DenseSolver<T>;
    using Base::n_, Base::r_, Base::order_, Base::rank_, Base::last_, Base::stride_;

public:
    explicit QrSolver(std::size_t n)
        : Base(n), rhs_(n), norms_(n), first_norms_(n), work_((2 * n + 1) * (n + 1)) {}

    void factor(T* a, T* r, std::size_t m, std::size_t n) override {
        n_ = n;
        rounding_ = Base::rounding(m, n);
        for (std::size_t j = 0; j < n; ++j) order_[j] = j;
        if (m >= n) {
            triangularize(a, r, m, n);
            m = n;
            take(a, r, m);
        }
        // Only columns that may depend on others are pivoted, which costs as much as all the rest.
        if (m < n || count_regular(1e-6, n) < n) {
            pivot(a, r, m);
            take(a, r, m);
        }
        rank_ = count_regular(rounding_, std::min(m, n));
    }
    bool solve(double damping, std::span<double const> D, std::span<double> d) override {
        // QR of R above sqrt(damping) D, in columns of 2 n + 1 rows; the right side is the last
        // one.
        std::size_t const rows = 2 * n_ + 1, columns = damping > 0 ? n_ : rank_;
        constexpr std::size_t w = sizeof(T) / sizeof(double);
        std::ranges::fill(work_, T(0));
        T* const y = work_.data() + n_ * rows;
        for (std::size_t j = 0; j < n_; ++j) {
            std::copy_n(r_.data() + j * n_, j + 1, work_.data() + j * rows);
            y[j] = -rhs_[j];
            work_[j * rows + n_ + 1 + j] = std::sqrt(damping) * D[order_[j] * w];
        }
        for (std::size_t k = 0; k < n_ && damping > 0; ++k) {
            // Column k is not 0 in row k, of which row n has a copy, and the k + 1 rows after that.
            T* const column = work_.data() + k * rows;
            for (T* x = column; x <= y; x += rows) x[n_] = x[k];
            double tau;
            column[k] = make_reflection(column + n_, k + 2, tau);
            reflect_columns(column + n_, tau, k + 2, column + rows + n_, rows, n_ - k);
            for (T* x = column + rows; x <= y; x += rows) x[k] = x[n_];
        }
        last_ = work_.data();
        stride_ = rows;
        Base::back_substitute(work_.data(), rows, columns, y);
        auto* const to = reinterpret_cast<T*>(d.data());
        for (std::size_t j = 0; j < n_; ++j) to[order_[j]] = j < columns ? y[j] : T(0);
        return columns == n_;
    }

private:
    /// QR with column pivoting of n columns.
    void pivot(T* a, T* r, std::size_t m) {
        for (std::size_t j = 0; j < n_; ++j)
            norms_[j] = first_norms_[j] = squared_norm(a + j * m, m);
        for (std::size_t k = 0; k < std::min(m, n_); ++k) {
            auto const p = static_cast<std::size_t>(
                std::max_element(norms_.data() + k, norms_.data() + n_) - norms_.data());
            if (p != k) {
                std::swap_ranges(a + k * m, a + (k + 1) * m, a + p * m);
                norms_[p] = norms_[k];
                first_norms_[p] = first_norms_[k];
                std::swap(order_[k], order_[p]);
            }
            T* const v = a + k * m + k;
            std::size_t const rows = m - k;
            double tau;
            T const beta = make_reflection(v, rows, tau);
            reflect_columns(v, tau, rows, r + k, m, 1);
            reflect_columns(v, tau, rows, v + m, m, n_ - k - 1);
            for (std::size_t j = k + 1; j < n_; ++j) {
                T* const x = a + j * m + k;
                // The rest of the column; computed again where the difference has lost its digits.
                norms_[j] -= std::norm(x[0]);
                if (norms_[j] <= 1e-6 * first_norms_[j])
                    norms_[j] = first_norms_[j] = squared_norm(x + 1, rows - 1);
            }
            v[0] = beta;
        }
    }
    /// Copies R and Q^H r.
    void take(T const* a, T const* r, std::size_t m) {
        std::size_t const rows = std::min(m, n_);
        std::ranges::fill(r_, T(0));
        std::ranges::fill(rhs_, T(0));
        for (std::size_t j = 0; j < n_; ++j)
            std::copy_n(a + j * m, std::min(j + 1, rows), r_.data() + j * n_);
        std::copy_n(r, rows, rhs_.data());
    }
    /// The number of columns before the first of which at most this part is independent.
    std::size_t count_regular(double part, std::size_t columns) const {
        std::size_t k = 0;
        while (k < columns &&
               std::norm(r_[k * n_ + k]) > part * part * squared_norm(r_.data() + k * n_, k + 1))
            ++k;
        return k;
    }

    double rounding_ = 0;
    std::vector<T> rhs_;
    std::vector<double> norms_, first_norms_;
    std::vector<T> work_;
};

/// By the Cholesky factor of J^H J + damping D^2.
template <class T> class CholeskySolver final : public DenseSolver<T> {
    using Base = DenseSolver<T>;
    using Base::n_, Base::r_, Base::order_, Base::rank_, Base::last_, Base::stride_;

public:
    explicit CholeskySolver(std::size_t n)
        : Base(n), normal_(n * n), work_(n * n), gradient_(n), ones_(2 * n, 1.) {}

    void factor(T* a, T* r, std::size_t m, std::size_t n) override {
        n_ = n;
        for (std::size_t j = 0; j < n; ++j) {
            order_[j] = j;
            gradient_[j] = dot_product(a + j * m, r, m);
        }
        auto const stride = static_cast<std::ptrdiff_t>(m);
        gemm(n, n, m, a, stride, 1, false, a, 1, stride, true, normal_.data(),
            static_cast<std::ptrdiff_t>(n), false);
        rank_ = decompose(0, ones_, r_);
    }
    bool solve(double damping, std::span<double const> D, std::span<double> d) override {
        if (decompose(damping, D, work_) < n_) return false;
        last_ = work_.data();
        stride_ = n_;
        Base::solve_again({reinterpret_cast<double const*>(gradient_.data()), d.size()}, d);
        for (double& x : d) x = -x;
        return true;
    }
    double squared_image(std::span<double const> d) override {
        auto const* const x = reinterpret_cast<T const*>(d.data());
        double sum = 0;
        for (std::size_t j = 0; j < n_; ++j)
            sum += std::real(normal_[j * n_ + j]) * std::norm(x[j]) +
                   2 * std::real(conjugated(dot_product(normal_.data() + j * n_, x, j)) * x[j]);
        return std::max(sum, 0.);
    }

private:
    /// The number of columns before the first that depends on those before it.
    std::size_t decompose(double damping, std::span<double const> D, std::vector<T>& to) {
        constexpr std::size_t w = sizeof(T) / sizeof(double);
        for (std::size_t j = 0; j < n_; ++j) {
            T* const column = to.data() + j * n_;
            for (std::size_t i = 0; i < j; ++i)
                column[i] = (normal_[j * n_ + i] - dot_product(to.data() + i * n_, column, i)) /
                            to[i * n_ + i];
            double const all = std::real(normal_[j * n_ + j]) + damping * D[j * w] * D[j * w];
            double const pivot = all - squared_norm(column, j);
            if (!(pivot > Base::rounding(n_, n_) * all)) return j;
            column[j] = std::sqrt(pivot);
        }
        return n_;
    }

    std::vector<T> normal_, work_, gradient_; // by columns
    std::vector<double> ones_;
};

} // namespace xgrad::detail
