// The residual at one point, and its derivatives there. Parameters, residuals and their derivatives
// are real numbers in double precision, one tensor after the other, where a complex number is its
// real and its imaginary part; so two of them are one std::complex<double>.
#pragma once

#include <xgrad/impl/least_squares/normal_solvers.ipp>
#include <xgrad/least_squares/fit.hpp>

namespace xgrad::detail {

/// The residuals r for some parameters. Those that a solver sees are sqrt(rho') r, and so are their
/// derivatives, which gives the cost's gradient: a weighted least squares problem, whose cost is an
/// upper bound of a concave loss.
struct Residuals {
    ResidualCall call;
    std::vector<double> x, values, weighted;
    std::vector<double> weights; // sqrt(rho') of each number; none without a loss
    std::size_t rows = 0;        // each of so many rows is one residual; 0: each number is one
    double cost = 0;

    /// Computes all from `call`.
    void evaluate(RobustLoss const& loss, double f_scale) {
        double* end = values.data();
        for (auto const& y : call.outputs) end = read_reals(y, end);
        if (loss.is_linear()) {
            weighted = values;
            cost = squared_norm(values.data(), values.size()) / 2;
            return;
        }
        cost = 0;
        weights.resize(values.size());
        std::size_t i = 0;
        for (auto const& y : call.outputs)
            for (std::size_t const parts = xgrad::is_complex(y.dtype()) ? 2 : 1,
                                   all = y.numel() * parts, w = rows ? all / rows : parts,
                                   last = i + all;
                 i < last; i += w) {
                auto const [rho, slope] =
                    loss(squared_norm(values.data() + i, w) / (f_scale * f_scale));
                cost += f_scale * f_scale * rho / 2;
                for (std::size_t p = i; p < i + w; ++p) {
                    weights[p] = std::sqrt(std::max(slope, 0.));
                    weighted[p] = weights[p] * values[p];
                }
            }
    }
    /// By how much the cost of `next` is smaller; without a loss from the differences of the
    /// residuals, whose digits do not cancel.
    double decrease_to(Residuals const& next) const {
        if (!weights.empty()) return cost - next.cost;
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            sum += (values[i] - next.values[i]) * (values[i] + next.values[i]);
        return sum / 2;
    }
};

/// Derivatives of the weighted residuals.
class Linearization {
public:
    explicit Linearization(Residuals const& at)
        : at_(at), e_{"least_squares", false, false, at.call.inputs, at.call.outputs} {}

    /// J v.
    void push(double const* v, double* to) {
        NoGradGuard const off;
        Tensors along(e_.outputs.size());
        forward().run(written_reals(e_.inputs, v), along);
        for (std::size_t k = 0; k < along.size(); ++k)
            to = along[k].defined() ? read_reals(along[k], to)
                                    : std::fill_n(to, count_reals(e_.outputs[k]), 0.);
        weigh(to - at_.values.size());
    }
    /// The transposed of J as a matrix of real numbers, times w; w is weighted in place.
    void pull(double* w, double* to) {
        weigh(w);
        pull_unweighted(written_reals(e_.outputs, w), to);
    }
    /// Columns of J, for parameters that are counted as real or as complex numbers.
    template <class T> void jacobian(std::span<std::size_t const> columns, T* to) {
        std::size_t const m = at_.values.size() * sizeof(double) / sizeof(T);
        bool const is_tall = columns.size() <= m;
        if (!is_tall || forward().prefers_reverse()) jacobian_by_rows(columns, to, m);
        else try {
                jacobian_by_columns(columns, to, m);
            } catch (GraphError const&) { // a function that has no forward mode
                jacobian_by_rows(columns, to, m);
            }
        for (std::size_t c = 0; c < columns.size(); ++c)
            weigh(reinterpret_cast<double*>(to + c * m));
    }
    /// Whether the derivative for i v is i times that for v, for a v that looks random.
    bool is_holomorphic() {
        std::size_t const m = at_.values.size();
        std::vector<double> w(m), g(at_.x.size()), gi(at_.x.size());
        for (std::size_t i = 0; i < m; ++i) w[i] = std::sin(1. + 12.9898 * static_cast<double>(i));
        pull_unweighted(written_reals(e_.outputs, w.data()), g.data());
        for (std::size_t i = 0; i < m; i += 2) w[i] = -std::exchange(w[i + 1], w[i]); // i (a + i b)
        pull_unweighted(written_reals(e_.outputs, w.data()), gi.data());
        double size = 0, difference = 0;
        for (std::size_t i = 0; i < g.size(); i += 2) {
            size += std::hypot(g[i], g[i + 1]);
            difference += std::hypot(gi[i] + g[i + 1], gi[i + 1] - g[i]);
        }
        double const tolerance = is_single(e_.inputs[0].dtype()) ? 1e-4 : 1e-10;
        return difference <= tolerance * size; // false for NaN
    }

private:
    ForwardPass& forward() {
        if (!forward_) forward_.emplace(e_.inputs, e_.outputs);
        return *forward_;
    }
    void weigh(double* values) const {
        for (std::size_t i = 0; i < at_.weights.size(); ++i) values[i] *= at_.weights[i];
    }
    void pull_unweighted(Tensors const& w, double* to) const {
        PassMode const mode(false);
        Tensors gradients(e_.inputs.size());
        pull_back(e_, w, false, true, gradients);
        for (std::size_t i = 0; i < gradients.size(); ++i)
            to = gradients[i].defined() ? read_reals(gradients[i], to)
                                        : std::fill_n(to, count_reals(e_.inputs[i]), 0.);
    }
    template <class T>
    void jacobian_by_columns(std::span<std::size_t const> columns, T* to, std::size_t m) {
        NoGradGuard const off;
        std::fill_n(to, columns.size() * m, T(0));
        std::size_t input = 0, first = 0; // the tensor of a column, and the numbers before it
        for (std::size_t start = 0; start < columns.size(); start += max_directions) {
            std::size_t const count = std::min(max_directions, columns.size() - start);
            Tensors tangents(e_.inputs.size()), along(e_.outputs.size());
            for (std::size_t c = 0; c < count; ++c) {
                std::size_t const number = columns[start + c] * sizeof(T) / sizeof(double);
                while (number >= first + count_reals(e_.inputs[input]))
                    first += count_reals(e_.inputs[input++]);
                auto const& x = e_.inputs[input];
                auto& tangent = tangents[input];
                if (!tangent.defined())
                    tangent = x.impl().type->filled(batch_shape(count, x.shape()), 0);
                with_reals(tangent, [&]<class P>(P* data, std::size_t) {
                    data[c * count_reals(x) + number - first] = P(1);
                });
            }
            forward().run(tangents, along, count);
            std::size_t row = 0;
            std::vector<double> block;
            for (std::size_t k = 0; k < along.size(); row += count_reals(e_.outputs[k++])) {
                if (!along[k].defined()) continue;
                std::size_t const size = count_reals(e_.outputs[k]);
                block.resize(count * size);
                read_reals(along[k], block.data());
                for (std::size_t c = 0; c < count; ++c)
                    std::copy_n(block.data() + c * size, size,
                        reinterpret_cast<double*>(to + (start + c) * m) + row);
            }
        }
    }
    /// A row is the gradient of one number of the residuals. Of holomorphic ones it is conjugated.
    template <class T>
    void jacobian_by_rows(std::span<std::size_t const> columns, T* to, std::size_t m) {
        std::vector<double> w(at_.values.size()), g(at_.x.size());
        for (std::size_t i = 0; i < m; ++i) {
            std::size_t const number = i * sizeof(T) / sizeof(double);
            w[number] = 1;
            pull_unweighted(written_reals(e_.outputs, w.data()), g.data());
            w[number] = 0;
            for (std::size_t c = 0; c < columns.size(); ++c)
                to[c * m + i] = conjugated(reinterpret_cast<T const*>(g.data())[columns[c]]);
        }
    }

    Residuals const& at_;
    Evaluation e_;
    std::optional<ForwardPass> forward_;
};

/// The solver of residuals by rows: by_rows.hpp. It has the derivatives of the residuals, too.
class RowSolver : public StepSolver {
public:
    virtual std::size_t rows() const = 0;
    /// Computes J at this point, which must not change until the next call, the gradient of the
    /// cost and the norms of the columns of J.
    virtual void linearize(Residuals const& at, double* gradient, double* norms) = 0;
    /// Prepares steps that change these numbers of x only.
    virtual void choose(std::span<std::size_t const> numbers) = 0;
    /// J v, and the transposed of J times w.
    virtual void push(double const* v, double* to) = 0;
    virtual void pull(double const* w, double* to) = 0;
};

/// By conjugate gradients on the normal equations, in the form that never squares J (CGLS). It has
/// no multiplier of D^2: a radius ends it.
class CgSolver final : public StepSolver {
public:
    std::optional<Linearization> of;
    std::vector<double> gradient;    // J^T r
    std::vector<double> residual;    // r
    std::span<std::size_t const> at; // the numbers of x that d changes
    std::size_t products = 0;        // of J with a direction

    /// False where J is 0, as is its product with any direction then.
    bool solve(double, std::span<double const> D, std::span<double> d) override {
        solve_within(std::numeric_limits<double>::infinity(), D, d);
        if (squared_norm(d.data(), d.size()) > 0) return true;
        for (std::size_t i = 0; i < d.size(); ++i) d[i] = std::cos(78.233 * static_cast<double>(i));
        bool const is_regular = squared_image(d) > 0;
        std::ranges::fill(d, 0.);
        return is_regular;
    }
    std::pair<std::size_t, std::size_t> rank() const override { return {0, at.size()}; }
    /// Stops where |D d| is the radius (Steihaug and Toint): d is longer in each iteration.
    bool solve_within(double radius, std::span<double const> D, std::span<double> d) {
        std::size_t const n = d.size(), m = residual.size();
        std::vector<double> left(m), image(m), p(n), s(n), product(gradient.size()), along(n);
        // In the variables D d.
        for (std::size_t i = 0; i < m; ++i) left[i] = -residual[i];
        for (std::size_t i = 0; i < n; ++i) p[i] = s[i] = -gradient[at[i]] / D[i];
        std::ranges::fill(d, 0.);
        double square = squared_norm(s.data(), n);
        double const end = square * tolerance * tolerance;
        for (std::size_t k = 0; k < 2 * n && square > end; ++k) {
            for (std::size_t i = 0; i < n; ++i) along[i] = p[i] / D[i];
            apply(along, image);
            double const curvature = squared_norm(image.data(), m);
            double const a = squared_norm(p.data(), n), b = dot_product(d.data(), p.data(), n),
                         rest = radius * radius - squared_norm(d.data(), n);
            // The positive root of |d + t p|^2 = radius^2
            double const longest = rest / (b + std::sqrt(b * b + a * rest)),
                         step = curvature > 0 ? std::min(square / curvature, longest) : longest;
            if (!std::isfinite(step)) break;
            add_multiple(d.data(), p.data(), step, n);
            if (step == longest) break;
            add_multiple(left.data(), image.data(), -step, m);
            image = left;
            of->pull(image.data(), product.data());
            for (std::size_t i = 0; i < n; ++i) s[i] = product[at[i]] / D[i];
            double const next = squared_norm(s.data(), n);
            for (std::size_t i = 0; i < n; ++i) p[i] = s[i] + next / square * p[i];
            square = next;
        }
        for (std::size_t i = 0; i < n; ++i) d[i] /= D[i];
        return true;
    }
    void solve_again(std::span<double const>, std::span<double>) override {} // for lmaccel
    double squared_image(std::span<double const> d) override {
        std::vector<double> image(residual.size());
        apply(d, image);
        return squared_norm(image.data(), image.size());
    }
    std::vector<double> inverse() override {
        fail("covariance: linear_solver cg has no Jacobian: take qr");
    }

private:
    void apply(std::span<double const> d, std::span<double> image) {
        std::vector<double> whole(gradient.size());
        ++products;
        for (std::size_t i = 0; i < d.size(); ++i) whole[at[i]] = d[i];
        of->push(whole.data(), image.data());
    }
};

} // namespace xgrad::detail
