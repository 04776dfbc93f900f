// ElementIndex: which rows of x the elements of a sum read, and where the derivatives of the
// elements go. It depends on no values, is made once, and is shared by the evaluations of a sum.
//
// Shapes: the index has a row for each element, with the numbers of the rows of x.
// Errors: ShapeError for an index of another shape, IndexError for a row that x does not have.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include <xgrad/sparse/matrix.hpp>

namespace xgrad::detail {

/// Elements whose corners are `corners_of_one` rows of x, each with `numbers` numbers; with 0 of
/// them the corners are single numbers, and x is a vector.
template <std::size_t corners_of_one, std::size_t numbers> struct ElementForm {
    static constexpr bool is_flat = numbers == 0;
    static constexpr std::size_t corners = corners_of_one, in_row = is_flat ? 1 : numbers,
                                 pairs = corners * corners, size = corners * in_row;
    template <class Number>
    using Corners =
        std::array<std::conditional_t<is_flat, Number, std::array<Number, in_row>>, corners>;
};

/// The rows of x that elements of a Form read. Corner a of element e is number e * corners + a, and
/// a pair of corners (a, b) is number (e * corners + a) * corners + b.
template <class Form> class ElementIndex {
public:
    /// Lists of corners or pairs: list i has at[begin[i]] to at[begin[i + 1]].
    struct Lists {
        std::vector<std::uint32_t> begin, at;
        std::span<std::uint32_t const> operator[](std::size_t i) const {
            return {at.data() + begin[i], at.data() + begin[i + 1]};
        }
    };
    /// The Hessian in blocks, one for each pair of rows that have an element in common.
    struct Blocks {
        std::vector<std::uint32_t> begin; // the first block of each row of x, and the end
        Lists pairs;                      // of each block
        std::shared_ptr<SparsePattern const> pattern; // of the Hessian
    };

    /// For x with `rows` rows.
    ElementIndex(Tensor<std::int64_t> const& index, std::size_t rows) : rows_(rows) {
        auto const& shape = index.shape();
        if (shape.size() != 2 || shape[1] != Form::corners)
            fail<ShapeError>("sum_over: the index has shape ", shape, ", and should have a row of ",
                Form::corners, " for each element");
        count_ = shape[0];
        static constexpr std::size_t most = std::numeric_limits<int>::max();
        if (count_ > most / Form::pairs || rows > most / Form::in_row)
            fail<ShapeError>("sum_over: ", count_, " elements and ", rows,
                " rows of x are too many for indices of type int");
        auto const all = index.contiguous();
        row_.resize(count_ * Form::corners);
        corners_.begin.assign(rows + 1, 0);
        for (std::size_t c = 0; c < row_.size(); ++c) {
            std::int64_t const i = all.data()[c];
            if (i < 0 || static_cast<std::size_t>(i) >= rows)
                fail<IndexError>("sum_over: the index names row ", i, " for corner ",
                    c % Form::corners, " of element ", c / Form::corners, ", and x has ", rows,
                    " rows");
            row_[c] = static_cast<std::uint32_t>(i);
            ++corners_.begin[row_[c] + 1];
        }
        for (std::size_t i = 0; i < rows; ++i) corners_.begin[i + 1] += corners_.begin[i];
        auto next = corners_.begin;
        corners_.at.resize(row_.size());
        for (std::size_t c = 0; c < row_.size(); ++c)
            corners_.at[next[row_[c]]++] = static_cast<std::uint32_t>(c);
    }

    std::size_t size() const noexcept { return count_; } // the number of elements
    std::size_t rows() const noexcept { return rows_; }  // of x
    /// The row of x that a corner is.
    std::size_t row(std::size_t corner) const noexcept { return row_[corner]; }
    /// The corners that each row of x is.
    Lists const& corners() const noexcept { return corners_; }
    /// The blocks of the Hessian, which are found when they are first asked for.
    Blocks const& blocks() const {
        std::call_once(once_, [this] { find_blocks(); });
        return blocks_;
    }

private:
    void find_blocks() const {
        constexpr std::size_t corners = Form::corners, d = Form::in_row;
        Blocks found;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs; // the other row, the pair
        std::vector<std::uint32_t> others;                          // the other row of each block
        found.begin.push_back(0);
        for (std::size_t i = 0; i < rows_; ++i) {
            pairs.clear();
            for (std::size_t const c : corners_[i])
                for (std::size_t b = 0; b < corners; ++b)
                    pairs.emplace_back(row_[c / corners * corners + b],
                        static_cast<std::uint32_t>(c * corners + b));
            std::sort(pairs.begin(), pairs.end());
            for (std::size_t p = 0; p < pairs.size(); ++p) {
                if (p == 0 || pairs[p].first != pairs[p - 1].first) {
                    found.pairs.begin.push_back(static_cast<std::uint32_t>(found.pairs.at.size()));
                    others.push_back(pairs[p].first);
                }
                found.pairs.at.push_back(pairs[p].second);
            }
            found.begin.push_back(static_cast<std::uint32_t>(others.size()));
        }
        found.pairs.begin.push_back(static_cast<std::uint32_t>(found.pairs.at.size()));

        std::vector<int> outer{0}, inner;
        if (others.size() > std::numeric_limits<int>::max() / (d * d))
            fail<ShapeError>("sum_over: the Hessian has too many entries for indices of type int");
        inner.reserve(others.size() * d * d);
        for (std::size_t i = 0; i < rows_; ++i)
            for (std::size_t k = 0; k < d; ++k) {
                for (std::size_t block = found.begin[i]; block < found.begin[i + 1]; ++block)
                    for (std::size_t l = 0; l < d; ++l)
                        inner.push_back(static_cast<int>(others[block] * d + l));
                outer.push_back(static_cast<int>(inner.size()));
            }
        found.pattern = std::make_shared<SparsePattern const>(
            rows_ * d, rows_ * d, std::move(outer), std::move(inner));
        blocks_ = std::move(found);
    }

    std::size_t count_ = 0, rows_;
    std::vector<std::uint32_t> row_;
    Lists corners_;
    mutable std::once_flag once_;
    mutable Blocks blocks_;
};

} // namespace xgrad::detail
