// Bodies of matrix.hpp.
#pragma once

#include <algorithm>

#include <xgrad/sparse/matrix.hpp>

namespace xgrad {

XGRAD_FUNCTION SparsePattern::SparsePattern(
    std::size_t rows, std::size_t cols, std::vector<int> outer, std::vector<int> inner)
    : cols_(static_cast<std::ptrdiff_t>(cols)), outer_(std::move(outer)), inner_(std::move(inner)) {
    static constexpr std::size_t most = std::numeric_limits<int>::max();
    if (rows >= most || cols > most || inner_.size() > most)
        detail::fail<ShapeError>("SparsePattern: ", rows, " rows, ", cols, " columns and ",
            inner_.size(), " entries are too many for indices of type int");
    if (outer_.size() != rows + 1 || outer_[0] != 0 || !std::ranges::is_sorted(outer_) ||
        static_cast<std::size_t>(outer_.back()) != inner_.size())
        detail::fail<ShapeError>("SparsePattern: outer has the number of the first entry of each "
                                 "of ",
            rows, " rows, and then that of all ", inner_.size(), " entries");
    for (std::size_t i = 0; i < rows; ++i) {
        auto const columns = row(i);
        if (std::ranges::adjacent_find(columns, std::greater_equal()) != columns.end() ||
            (!columns.empty() && (columns.front() < 0 || columns.back() >= cols_)))
            detail::fail<ShapeError>("SparsePattern: the columns of row ", i,
                " are not increasing numbers from 0 to ", cols, " - 1");
    }
}

XGRAD_FUNCTION SparsePattern SparsePattern::of_entries(
    std::size_t rows, std::size_t cols, std::vector<std::pair<std::size_t, std::size_t>> entries) {
    std::ranges::sort(entries);
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    if (!entries.empty() && entries.back().first >= rows)
        detail::fail<ShapeError>(
            "SparsePattern: there is an entry in row ", entries.back().first, " of ", rows);
    std::vector<int> outer(rows + 1), inner;
    for (auto const& [row, column] : entries) {
        ++outer[row + 1];
        inner.push_back(column < cols ? static_cast<int>(column) : -1);
    }
    for (std::size_t i = 0; i < rows; ++i) outer[i + 1] += outer[i];
    return {rows, cols, std::move(outer), std::move(inner)};
}

XGRAD_FUNCTION SparsePattern SparsePattern::transposed() const {
    auto const columns = static_cast<std::size_t>(cols_), count = outer_.size() - 1;
    SparsePattern t;
    t.cols_ = rows();
    t.outer_.assign(columns + 1, 0);
    t.inner_.resize(inner_.size());
    for (int const j : inner_) ++t.outer_[static_cast<std::size_t>(j) + 1];
    for (std::size_t j = 0; j < columns; ++j) t.outer_[j + 1] += t.outer_[j];
    auto next = t.outer_;
    for (std::size_t i = 0; i < count; ++i)
        for (int const j : row(i))
            t.inner_[static_cast<std::size_t>(next[static_cast<std::size_t>(j)]++)] =
                static_cast<int>(i);
    return t;
}

} // namespace xgrad
