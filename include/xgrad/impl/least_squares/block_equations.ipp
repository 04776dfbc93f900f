// Normal equations in blocks, and their solution.
//
// Blocks are numbered in the order in which they are eliminated. A panel has the row p of
// J^T J + damping D^2, and then that of its factor U with U^T U equal to it; block_pattern.ipp. To
// eliminate a block subtracts the products of its row from the panels below: what they have then is
// a Schur complement.
#pragma once

#include <limits>

#include <xgrad/impl/least_squares/block_pattern.ipp>
#include <xgrad/impl/least_squares/normal_solvers.ipp>
#include <xgrad/simd/batch.hpp>

namespace xgrad::detail {

/// Rows of a matrix that stand in a larger one.
struct Panel {
    double const* data;
    std::size_t stride, width;
};
/// C += A^T B, or C -= A^T B, for A and B of `depth` rows.
template <bool subtracts, std::size_t fixed_depth>
void add_product_of(double* c, std::size_t stride, Panel a, Panel b, std::size_t depth) {
    using B = simd::Batch<double>;
    if constexpr (fixed_depth > 0) depth = fixed_depth;
    for (std::size_t i = 0; i < a.width; ++i, c += stride) {
        std::size_t j = 0;
        for (; j + B::width <= b.width; j += B::width) {
            B sum = B::load(c + j);
            for (std::size_t t = 0; t < depth; ++t) {
                B const product = B(a.data[t * a.stride + i]) * B::load(b.data + t * b.stride + j);
                sum = subtracts ? sum - product : sum + product;
            }
            sum.store(c + j);
        }
        for (; j < b.width; ++j) {
            double sum = 0;
            for (std::size_t t = 0; t < depth; ++t)
                sum += a.data[t * a.stride + i] * b.data[t * b.stride + j];
            c[j] += subtracts ? -sum : sum;
        }
    }
}
template <bool subtracts>
void add_product(double* c, std::size_t stride, Panel a, Panel b, std::size_t depth) {
    switch (depth) {
    case 1:
        return add_product_of<subtracts, 1>(c, stride, a, b, depth);
    case 2:
        return add_product_of<subtracts, 2>(c, stride, a, b, depth);
    case 3:
        return add_product_of<subtracts, 3>(c, stride, a, b, depth);
    default:
        return add_product_of<subtracts, 0>(c, stride, a, b, depth);
    }
}

template <class = void> class BlockEquations {
public:
    /// Blocks have these widths and first numbers in vectors of all numbers. Those before
    /// `eliminated` are coupled with later ones only. Conjugate gradients solve for the later ones
    /// where `iterates`.
    void begin(std::vector<std::size_t> widths, std::vector<std::size_t> at,
        BlockLists const& above, std::size_t eliminated, bool iterates) {
        pattern_ = BlockPattern(std::move(widths), above);
        at_ = std::move(at);
        eliminated_ = eliminated;
        iterates_ = iterates;
        for (auto const width : pattern_.width) numbers_ += width;
        diagonal_.resize(numbers_);
        for (std::size_t p = 0; p < at_.size(); ++p)
            for (std::size_t c = 0; c < pattern_.width[p]; ++c)
                diagonal_[at_[p] + c] = pattern_.panel[p] + c * (pattern_.stride[p] + 1);
    }
    bool iterates() const { return iterates_; }
    std::size_t dependent() const { return dependent_; } // numbers that depend on others
    /// The first number of a block in vectors.
    std::size_t at(std::size_t p) const { return at_[p]; }

    void clear() { values_.assign(pattern_.values, 0); }
    /// Adds A^T B to block (p, q), where p <= q.
    void add(std::size_t p, std::size_t q, Panel a, Panel b, std::size_t depth) {
        add_product<false>(values_.data() + pattern_.place(p, pattern_.find(p, q)),
            pattern_.stride[p], a, b, depth);
    }
    /// Makes a number 0 in all solutions. Nothing is coupled with it.
    void leave_out(std::size_t i) { values_[diagonal_[i]] = 1; }

    /// Computes U for these numbers added to the diagonal. Where it iterates, the rows that are not
    /// eliminated first have an incomplete factor, without blocks that the pattern lacks: the
    /// diagonal is made larger until all pivots are positive.
    void factor(std::vector<double> damping) {
        damping_ = std::move(damping);
        double more = 0;
        do {
            factors_ = values_;
            dependent_ = 0;
            is_indefinite_ = false;
            for (std::size_t p = 0; p < at_.size(); ++p) {
                for (std::size_t i = at_[p]; i < at_[p] + pattern_.width[p]; ++i)
                    factors_[diagonal_[i]] =
                        (factors_[diagonal_[i]] + damping_[i]) * (1 + (p < eliminated_ ? 0 : more));
            }
            for (std::size_t p = 0; p < at_.size(); ++p) {
                factor_panel(p);
                eliminate(p);
            }
            more = more > 0 ? 4 * more : 1e-3;
        } while (iterates_ && is_indefinite_ && more < 1e6);
    }
    /// Replaces the right side x by the solution.
    void solve(std::vector<double>& x, double tolerance) const {
        std::size_t const end = iterates_ ? eliminated_ : at_.size();
        for (std::size_t p = 0; p < end; ++p) substitute(p, x.data());
        if (iterates_) conjugate_gradients(x, tolerance);
        for (std::size_t p = end; p-- > 0;) substitute_back(p, x.data());
    }

private:
    void factor_panel(std::size_t p) {
        double* const u = factors_.data() + pattern_.panel[p];
        std::size_t const stride = pattern_.stride[p], width = pattern_.width[p];
        for (std::size_t k = 0; k < width; ++k) {
            double* const row = u + k * stride;
            std::size_t const i = at_[p] + k;
            double const all = values_[diagonal_[i]] + damping_[i];
            // What depends on numbers before it stays as it is: 1 / infinity is 0.
            bool const depends = !(row[k] > rounding() * all);
            dependent_ += depends;
            is_indefinite_ |= depends && p >= eliminated_ && all > 0;
            row[k] = depends ? std::numeric_limits<double>::infinity() : std::sqrt(row[k]);
            double const inverse = 1 / row[k];
            for (std::size_t j = k + 1; j < stride; ++j) row[j] *= inverse;
            for (std::size_t next = k + 1; next < width; ++next)
                add_multiple(u + next * stride + next, row + next, -row[next], stride - next);
        }
    }
    double rounding() const {
        return std::numeric_limits<double>::epsilon() *
               static_cast<double>(16 + at_.size() - eliminated_);
    }
    /// Subtracts U^T U of row p from the rows below.
    void eliminate(std::size_t p) {
        double const* const u = factors_.data() + pattern_.panel[p];
        auto const& columns = pattern_.column;
        std::size_t const stride = pattern_.stride[p], end = pattern_.first[p + 1];
        for (std::size_t a = pattern_.first[p] + 1; a < end; ++a) {
            std::size_t const to = columns[a];
            Panel const left{u + pattern_.offset[a], stride, pattern_.width[to]};
            for (std::size_t b = a; b < end;) {
                // Blocks that stand side by side here and there are one.
                std::size_t const first = b, entry = pattern_.find(to, columns[b]);
                if (iterates_ && !pattern_.has(to, entry, columns[b])) {
                    ++b;
                    continue;
                }
                Panel right{u + pattern_.offset[b], stride, 0};
                do right.width += pattern_.width[columns[b++]];
                while (b < end && entry + (b - first) < pattern_.first[to + 1] &&
                       columns[entry + (b - first)] == columns[b]);
                add_product<true>(factors_.data() + pattern_.place(to, entry), pattern_.stride[to],
                    left, right, pattern_.width[p]);
            }
        }
    }
    /// Row p of the solution of U^T y = x, in place.
    void substitute(std::size_t p, double* x) const {
        double const* const u = factors_.data() + pattern_.panel[p];
        std::size_t const stride = pattern_.stride[p], width = pattern_.width[p];
        solve_diagonal(p, x);
        for (std::size_t k = 0; k < width; ++k)
            for (std::size_t e = pattern_.first[p] + 1; e < pattern_.first[p + 1]; ++e)
                add_multiple(x + at_[pattern_.column[e]], u + k * stride + pattern_.offset[e],
                    -x[at_[p] + k], pattern_.width[pattern_.column[e]]);
    }
    void solve_diagonal(std::size_t p, double* x) const {
        double const* const u = factors_.data() + pattern_.panel[p];
        std::size_t const stride = pattern_.stride[p], width = pattern_.width[p];
        double* const y = x + at_[p];
        for (std::size_t k = 0; k < width; ++k) {
            y[k] /= u[k * stride + k];
            add_multiple(y + k + 1, u + k * stride + k + 1, -y[k], width - k - 1);
        }
    }
    /// Row p of the solution of U z = y, in place.
    void substitute_back(std::size_t p, double* x) const {
        double const* const u = factors_.data() + pattern_.panel[p];
        std::size_t const stride = pattern_.stride[p], width = pattern_.width[p];
        for (std::size_t k = 0; k < width; ++k) {
            double sum = 0;
            for (std::size_t e = pattern_.first[p] + 1; e < pattern_.first[p + 1]; ++e)
                sum += dot_product(u + k * stride + pattern_.offset[e], x + at_[pattern_.column[e]],
                    pattern_.width[pattern_.column[e]]);
            x[at_[p] + k] -= sum;
        }
        solve_diagonal_back(p, x);
    }
    void solve_diagonal_back(std::size_t p, double* x) const {
        double const* const u = factors_.data() + pattern_.panel[p];
        std::size_t const stride = pattern_.stride[p], width = pattern_.width[p];
        double* const y = x + at_[p];
        for (std::size_t k = width; k-- > 0;)
            y[k] = (y[k] - dot_product(u + k * stride + k + 1, y + k + 1, width - k - 1)) /
                   u[k * stride + k];
    }

    /// Solves S x = b for the blocks that are not eliminated first, in place; preconditioned by the
    /// incomplete factor of S.
    void conjugate_gradients(std::vector<double>& solution, double tolerance) const {
        std::size_t const count = at_.size();
        std::vector<double> left(numbers_), x(numbers_), z(numbers_), along(numbers_), image;
        for (std::size_t p = eliminated_; p < count; ++p)
            std::copy_n(solution.data() + at_[p], pattern_.width[p], left.data() + at_[p]);
        auto const precondition = [&] {
            z = left;
            for (std::size_t p = eliminated_; p < count; ++p) substitute(p, z.data());
            for (std::size_t p = count; p-- > eliminated_;) substitute_back(p, z.data());
            return dot_product(left.data(), z.data(), numbers_);
        };
        double square = precondition();
        double const end = square * tolerance * tolerance;
        along = z;
        for (std::size_t k = 0; k < 2 * numbers_ && square > end; ++k) {
            multiply(along, image);
            double const curvature = dot_product(along.data(), image.data(), numbers_);
            if (!(curvature > 0)) break;
            add_multiple(x.data(), along.data(), square / curvature, numbers_);
            add_multiple(left.data(), image.data(), -square / curvature, numbers_);
            double const next = precondition();
            for (std::size_t i = 0; i < numbers_; ++i) along[i] = z[i] + next / square * along[i];
            square = next;
        }
        for (std::size_t p = eliminated_; p < count; ++p)
            std::copy_n(x.data() + at_[p], pattern_.width[p], solution.data() + at_[p]);
    }
    /// S v, for a v that is 0 where blocks are eliminated first.
    void multiply(std::vector<double> const& v, std::vector<double>& to) const {
        to.assign(numbers_, 0);
        for (std::size_t p = 0; p < at_.size(); ++p) {
            bool const is_factored = p < eliminated_;
            double const* const m = (is_factored ? factors_ : values_).data() + pattern_.panel[p];
            std::size_t const first = pattern_.first[p], end = pattern_.first[p + 1];
            for (std::size_t k = 0; k < pattern_.width[p]; ++k) {
                double const* const row = m + k * pattern_.stride[p];
                std::size_t const at = at_[p] + k;
                double sum = 0;
                for (std::size_t e = first + is_factored; e < end; ++e) {
                    std::size_t const q = pattern_.column[e];
                    sum +=
                        dot_product(row + pattern_.offset[e], v.data() + at_[q], pattern_.width[q]);
                }
                if (!is_factored) to[at] += sum + damping_[at] * v[at];
                double const factor = is_factored ? -sum : v[at];
                for (std::size_t e = first + 1; e < end; ++e) {
                    std::size_t const q = pattern_.column[e];
                    add_multiple(
                        to.data() + at_[q], row + pattern_.offset[e], factor, pattern_.width[q]);
                }
            }
        }
    }

    BlockPattern pattern_;
    std::vector<std::size_t> at_, diagonal_; // of blocks in vectors; of numbers in values_
    std::size_t numbers_ = 0, eliminated_ = 0, dependent_ = 0;
    bool iterates_ = false, is_indefinite_ = false;
    std::vector<double> values_, factors_, damping_;
};

} // namespace xgrad::detail
