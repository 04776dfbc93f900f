// Bodies of by_rows.hpp: the Jacobian by rows, and which of its blocks meet in normal equations. A
// block is a row of a parameter, as real numbers.
#pragma once

#include <xgrad/functional/jacobian.hpp>
#include <xgrad/impl/least_squares/block_equations.ipp>
#include <xgrad/impl/least_squares/linearization.ipp>
#include <xgrad/least_squares/by_rows.hpp>

namespace xgrad::detail {

template <class = void> class BlockSolver final : public RowSolver {
public:
    BlockSolver(std::span<RowIndex const> indices, TensorSpan x0, NormalSolver solver) {
        if (solver == NormalSolver::qr)
            fail("least_squares: linear_solver qr is not for residuals by rows: take cholesky or "
                 "cg");
        std::vector<std::size_t> widths, at; // of each block: its numbers, and the first one in x
        read(indices, x0, widths, at);
        couple(solver, std::move(widths), std::move(at));
    }

    std::size_t rows() const override { return rows_; }

    void linearize(Residuals const& at, double* gradient, double* norms) override {
        depth_ = rows_ ? at.values.size() / rows_ : 0;
        auto const blocks = jacobian_blocks(
            {"by_rows", false, false, at.call.inputs, at.call.outputs}, {.rows = true})[0];
        std::fill_n(gradient, numbers_, 0.);
        std::fill_n(norms, numbers_, 0.);
        for (std::size_t k = 0; k < parameters_.size(); ++k) {
            auto& all = parameters_[k];
            all.jacobian.resize(at.values.size() * all.stride());
            read_reals(blocks[k], all.jacobian.data());
            double* j = all.jacobian.data();
            for (std::size_t i = 0; i < at.values.size() && !at.weights.empty(); ++i)
                for (std::size_t c = 0; c < all.stride(); ++c) *j++ *= at.weights[i];
        }
        for (std::size_t row = 0; row < rows_; ++row)
            for (auto const& slot : slots_) {
                auto const j = panel_of(slot, row);
                std::size_t const to = equations_.at(slot.block[row]);
                for (std::size_t t = 0; t < depth_; ++t) {
                    double const r = at.weighted[row * depth_ + t];
                    double const* const from = j.data + t * j.stride;
                    for (std::size_t c = 0; c < j.width; ++c) {
                        gradient[to + c] += r * from[c];
                        norms[to + c] += from[c] * from[c];
                    }
                }
            }
        for (std::size_t i = 0; i < numbers_; ++i) norms[i] = std::sqrt(norms[i]);
        gradient_.assign(gradient, gradient + numbers_);
    }
    void choose(std::span<std::size_t const> numbers) override {
        chosen_.assign(numbers.begin(), numbers.end());
        equations_.clear();
        if (numbers.size() < numbers_) {
            std::vector<char> stays(numbers_, 1);
            for (auto const i : numbers) stays[i] = 0;
            for (std::size_t i = 0; i < numbers_; ++i)
                if (stays[i]) equations_.leave_out(i);
            for (std::size_t row = 0; row < rows_; ++row)
                for (auto const& slot : slots_) {
                    auto const j = panel_of(slot, row);
                    for (std::size_t c = 0; c < j.width; ++c)
                        for (std::size_t t = 0;
                             stays[equations_.at(slot.block[row]) + c] && t < depth_; ++t)
                            const_cast<double*>(j.data)[t * j.stride + c] = 0;
                }
        }
        for (std::size_t row = 0; row < rows_; ++row)
            for (auto const& a : slots_)
                for (auto const& b : slots_)
                    if (a.block[row] <= b.block[row])
                        equations_.add(
                            a.block[row], b.block[row], panel_of(a, row), panel_of(b, row), depth_);
    }

    bool solve(double damping, std::span<double const> D, std::span<double> d) override {
        factor(damping, D);
        std::vector<double> b(d.size());
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = -gradient_[chosen_[i]];
        solve_again(b, d);
        return equations_.dependent() == 0;
    }
    void solve_again(std::span<double const> b, std::span<double> d) override {
        x_.assign(numbers_, 0);
        for (std::size_t i = 0; i < b.size(); ++i) x_[chosen_[i]] = b[i];
        equations_.solve(x_, tolerance);
        for (std::size_t i = 0; i < d.size(); ++i) d[i] = x_[chosen_[i]];
    }
    double squared_image(std::span<double const> d) override {
        std::vector<double> v(numbers_), image(rows_ * depth_);
        for (std::size_t i = 0; i < d.size(); ++i) v[chosen_[i]] = d[i];
        push(v.data(), image.data());
        return squared_norm(image.data(), image.size());
    }
    void push(double const* v, double* to) override {
        std::fill_n(to, rows_ * depth_, 0.);
        for (std::size_t row = 0; row < rows_; ++row, to += depth_)
            for (auto const& slot : slots_) {
                auto const j = panel_of(slot, row);
                for (std::size_t t = 0; t < depth_; ++t)
                    to[t] += dot_product(
                        j.data + t * j.stride, v + equations_.at(slot.block[row]), j.width);
            }
    }
    void pull(double const* w, double* to) override {
        std::fill_n(to, numbers_, 0.);
        for (std::size_t row = 0; row < rows_; ++row, w += depth_)
            for (auto const& slot : slots_) {
                auto const j = panel_of(slot, row);
                for (std::size_t t = 0; t < depth_; ++t)
                    add_multiple(
                        to + equations_.at(slot.block[row]), j.data + t * j.stride, w[t], j.width);
            }
    }
    std::vector<double> inverse() override {
        std::size_t const n = chosen_.size();
        if (equations_.iterates())
            fail("covariance: linear_solver cg has no factors: take cholesky");
        if (n > 1 << 14)
            fail("covariance: a matrix of ", n, " x ", n,
                " numbers, for all parameters that are not fixed, would take more than 2 GB");
        factor(0, {});
        if (equations_.dependent()) return {};
        std::vector<double> all(n * n), unit(n);
        for (std::size_t i = 0; i < n; ++i) {
            unit[i] = 1;
            solve_again(unit, {all.data() + i * n, n});
            unit[i] = 0;
        }
        return all;
    }
    std::pair<std::size_t, std::size_t> rank() const override {
        return {chosen_.size() - equations_.dependent(), chosen_.size()};
    }

private:
    struct Parameter {
        std::size_t slots, width, blocks; // rows that an observation has; numbers of each row; rows
        std::size_t begin;                // of its numbers in x
        std::vector<double> jacobian;     // weighted: (observation, residual, slot, number)

        std::size_t stride() const { return slots * width; }
    };
    /// One of the rows of a parameter that each observation has.
    struct Slot {
        std::size_t parameter, offset;
        std::vector<BlockIndex> block; // of each observation
    };
    Panel panel_of(Slot const& slot, std::size_t row) const {
        auto const& all = parameters_[slot.parameter];
        return {all.jacobian.data() + row * depth_ * all.stride() + slot.offset, all.stride(),
            all.width};
    }

    /// Reads and checks the indices, and numbers the blocks: first those of the parameter that is
    /// eliminated.
    void read(std::span<RowIndex const> indices, TensorSpan x0, std::vector<std::size_t>& widths,
        std::vector<std::size_t>& at) {
        auto const& first = indices[0];
        rows_ = first.dim() ? first.shape()[0] : 0;
        std::size_t last = indices.size(); // the parameter that is eliminated
        for (std::size_t k = 0; k < indices.size(); ++k) {
            auto const& index = indices[k];
            auto const& x = x0[k];
            if (index.dim() == 0 || index.dim() > 2 || index.shape()[0] != rows_ || x.dim() == 0)
                fail<ShapeError>("by_rows: index ", k, " of shape ", index.shape(),
                    " for a parameter of shape ", x.shape(), " and ", rows_,
                    " observations: it must have the shape (m) or (m, c), and the parameter rows");
            std::size_t const blocks = x.shape()[0], n = count_reals(x);
            parameters_.push_back({index.dim() == 2 ? index.shape()[1] : 1, blocks ? n / blocks : 0,
                blocks, numbers_, {}});
            numbers_ += n;
            auto const size = [&](std::size_t p) {
                return parameters_[p].blocks * parameters_[p].width;
            };
            if (index.dim() == 1 && (last == indices.size() || size(k) > size(last))) last = k;
        }
        std::vector<std::size_t> begin(indices.size()); // the first block of each parameter
        std::size_t count = 0;
        auto const number = [&](std::size_t k) {
            begin[k] = count;
            count += parameters_[k].blocks;
            for (std::size_t i = 0; i < parameters_[k].blocks; ++i) {
                widths.push_back(parameters_[k].width);
                at.push_back(parameters_[k].begin + i * parameters_[k].width);
            }
        };
        if (last < indices.size()) number(last);
        eliminated_ = count;
        for (std::size_t k = 0; k < indices.size(); ++k)
            if (k != last) number(k);
        for (std::size_t k = 0; k < indices.size(); ++k) {
            RowIndex const index = indices[k].contiguous();
            auto const& all = parameters_[k];
            for (std::size_t s = 0; s < all.slots; ++s) {
                Slot slot{k, s * all.width, std::vector<BlockIndex>(rows_)};
                for (std::size_t row = 0; row < rows_; ++row) {
                    std::int64_t const i = index.data()[row * all.slots + s];
                    if (i < 0 || static_cast<std::size_t>(i) >= all.blocks)
                        fail<IndexError>("by_rows: index ", k, " names row ",
                            static_cast<std::ptrdiff_t>(i), " of a parameter of shape ",
                            x0[k].shape());
                    slot.block[row] =
                        static_cast<BlockIndex>(begin[k] + static_cast<std::size_t>(i));
                }
                slots_.push_back(std::move(slot));
            }
        }
    }
    /// Finds out which blocks are coupled, and the order of elimination.
    void couple(NormalSolver solver, std::vector<std::size_t> widths, std::vector<std::size_t> at) {
        std::size_t const count = widths.size();
        BlockLists coupled(count); // of those that are eliminated first, only with the others
        for (std::size_t row = 0; row < rows_; ++row)
            for (auto const& a : slots_)
                for (auto const& b : slots_) {
                    auto const p = a.block[row], q = b.block[row];
                    if (p != q && q >= eliminated_) coupled[p].push_back(q);
                }
        for (auto& list : coupled) sort_and_erase_copies(list);
        std::optional<BlockOrder> found;
        if (solver != NormalSolver::cg)
            found = order(coupled, widths,
                solver == NormalSolver::automatic ? 1e11 : std::numeric_limits<double>::infinity());
        if (found) {
            std::vector<BlockIndex> position(count);
            for (std::size_t p = 0; p < count; ++p)
                position[p < eliminated_ ? p : eliminated_ + found->order[p - eliminated_]] =
                    static_cast<BlockIndex>(p);
            auto const old_widths = widths, old_at = at;
            for (std::size_t v = 0; v < count; ++v) {
                widths[position[v]] = old_widths[v];
                at[position[v]] = old_at[v];
                if (v >= eliminated_) coupled[v] = std::move(found->above[v - eliminated_]);
            }
            for (std::size_t p = 0; p < count; ++p) {
                for (auto& q : coupled[p]) q = position[p < eliminated_ ? q : eliminated_ + q];
                std::sort(coupled[p].begin(), coupled[p].end());
            }
            for (auto& slot : slots_)
                for (auto& block : slot.block) block = position[block];
        } else
            for (std::size_t p = eliminated_; p < count; ++p)
                std::erase_if(coupled[p], [&](BlockIndex q) { return q < p; });
        equations_.begin(std::move(widths), std::move(at), coupled, eliminated_, !found);
    }
    /// The order of the blocks that are not eliminated first; none where it takes too long.
    std::optional<BlockOrder> order(
        BlockLists const& coupled, std::vector<std::size_t> const& widths, double limit) const {
        std::size_t const count = coupled.size() - eliminated_;
        BlockLists graph(count);
        std::vector<std::size_t> clean(count, 64); // the length from which on copies are erased
        auto const add = [&](std::size_t p, std::vector<BlockIndex> const& list) {
            auto& to = graph[p - eliminated_];
            for (auto const q : list)
                if (q != p) to.push_back(q - static_cast<BlockIndex>(eliminated_));
            if (to.size() < clean[p - eliminated_]) return;
            sort_and_erase_copies(to);
            clean[p - eliminated_] = 2 * to.size() + 64;
        };
        for (std::size_t e = 0; e < eliminated_; ++e) {
            double numbers = 0;
            for (auto const q : coupled[e]) numbers += static_cast<double>(widths[q]);
            limit -= static_cast<double>(widths[e]) * numbers * numbers / 2;
            if (!(limit >= 0)) return {};
            for (auto const q : coupled[e]) add(q, coupled[e]);
        }
        for (std::size_t p = eliminated_; p < coupled.size(); ++p) add(p, coupled[p]);
        for (auto& list : graph) sort_and_erase_copies(list);
        return minimum_degree(std::move(graph),
            {widths.begin() + static_cast<std::ptrdiff_t>(eliminated_), widths.end()}, limit);
    }

    /// The sum of J^T J and the numbers damping D^2.
    void factor(double damping, std::span<double const> D) {
        std::vector<double> all(numbers_);
        for (std::size_t i = 0; i < D.size(); ++i) all[chosen_[i]] = damping * D[i] * D[i];
        equations_.factor(std::move(all));
    }

    std::size_t rows_ = 0, depth_ = 0;         // observations, and the residuals of each
    std::size_t numbers_ = 0, eliminated_ = 0; // of x; blocks that are eliminated first
    std::vector<Parameter> parameters_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> chosen_; // the numbers of x that steps change
    std::vector<double> gradient_, x_;
    BlockEquations<> equations_;
};

XGRAD_LAZY_BODY std::shared_ptr<RowSolver> row_solver(
    std::span<RowIndex const> indices, TensorSpan x0, NormalSolver solver) {
    check_defined("by_rows", "parameter", x0);
    for (auto const& index : indices) check_defined("by_rows", index);
    return std::make_shared<BlockSolver<>>(indices, x0, solver);
}

XGRAD_LAZY_BODY void check_observations(AnyTensor const& residual, RowIndex const& index) {
    if (residual.dim() == 0 || residual.shape()[0] != index.shape()[0])
        fail<ShapeError>("by_rows: the function returned the shape ", residual.shape(), " for ",
            index.shape()[0], " observations: it must have a row for each");
}

} // namespace xgrad::detail
