// Bodies of coloring.hpp and matrix.hpp.
#pragma once

#include <algorithm>

#include <xgrad/sparse/coloring.hpp>
#include <xgrad/sparse/matrix.hpp>

namespace xgrad::detail {

/// The first colour that is not marked as forbidden for vertex v; a new one is added to the list.
inline int first_allowed(std::vector<int>& forbidden_for, int v) {
    std::size_t c = 0;
    while (c < forbidden_for.size() && forbidden_for[c] == v) ++c;
    if (c == forbidden_for.size()) forbidden_for.push_back(-1);
    return static_cast<int>(c);
}

XGRAD_LAZY_BODY Coloring distance2_coloring(
    SparsePattern const& pattern, SparsePattern const& transposed, int limit) {
    Coloring c;
    auto const columns = static_cast<int>(pattern.cols());
    c.color.assign(static_cast<std::size_t>(columns), -1);
    int fullest = 0;
    for (std::size_t i = 0; i + 1 < pattern.outer().size(); ++i)
        fullest = std::max(fullest, static_cast<int>(pattern.row(i).size()));
    if (fullest >= std::min(limit, columns)) {
        for (int j = 0; j < columns; ++j) c.color[static_cast<std::size_t>(j)] = j;
        c.count = columns;
        return c;
    }
    std::vector<int> forbidden_for;
    for (int j = 0; j < columns; ++j) {
        for (int const i : transposed.row(static_cast<std::size_t>(j)))
            for (int const k : pattern.row(static_cast<std::size_t>(i)))
                if (int const used = c.color[static_cast<std::size_t>(k)]; used >= 0)
                    forbidden_for[static_cast<std::size_t>(used)] = j;
        c.color[static_cast<std::size_t>(j)] = first_allowed(forbidden_for, j);
        if (static_cast<int>(forbidden_for.size()) >= limit) break;
    }
    c.count = static_cast<int>(forbidden_for.size());
    return c;
}

XGRAD_LAZY_BODY StarColoring star_coloring(SparsePattern const& symmetric) {
    // Algorithm 4.1 of the paper of 2007. An edge is the entry of one of its two ends, and belongs
    // to a star, which has a hub once it has two edges.
    struct FirstNeighbour {
        int of = -1, vertex = -1;
        std::size_t edge = 0;
    };
    auto const at = [](auto& list, int i) -> auto& { return list[static_cast<std::size_t>(i)]; };
    auto const count = static_cast<int>(symmetric.cols());
    auto const &outer = symmetric.outer(), &inner = symmetric.inner();
    StarColoring c;
    c.color.assign(static_cast<std::size_t>(count), -1);
    std::vector<int> star(inner.size(), -1), twin(inner.size()), next = outer, hub, forbidden_for,
                                                                 treated(c.color.size(), -1);
    for (int v = 0; v < count; ++v) // rows increase, and so each column is sorted
        for (int p = at(outer, v); p < at(outer, v + 1); ++p)
            at(twin, p) = at(next, at(inner, p))++;
    std::vector<FirstNeighbour> first;
    auto const each_neighbour = [&](int v, auto f) { // f(neighbour, edge) of those with a colour
        for (int p = at(outer, v); p < at(outer, v + 1); ++p)
            if (int const w = at(inner, p); w != v && at(c.color, w) >= 0)
                if (f(w, p)) return true;
        return false;
    };
    for (int v = 0; v < count; ++v) {
        auto const treat = [&](int w) {
            each_neighbour(w, [&](int x, int) {
                at(forbidden_for, at(c.color, x)) = v;
                return false;
            });
            at(treated, w) = v;
        };
        each_neighbour(v, [&](int w, int p) {
            at(forbidden_for, at(c.color, w)) = v;
            auto& f = at(first, at(c.color, w));
            if (f.of == v) { // two neighbours of one colour
                if (at(treated, f.vertex) != v) treat(f.vertex);
                treat(w);
                return false;
            }
            f = {v, w, static_cast<std::size_t>(p)};
            each_neighbour(w, [&](int x, int q) {
                if (x == at(hub, at(star, q))) at(forbidden_for, at(c.color, x)) = v;
                return false;
            });
            return false;
        });
        int const mine = first_allowed(forbidden_for, v);
        first.resize(forbidden_for.size());
        each_neighbour(v, [&](int w, int p) {
            auto const join = [&](int s) { at(star, p) = at(star, at(twin, p)) = s; };
            if (each_neighbour(w, [&](int x, int q) {
                    if (at(c.color, x) != mine) return false;
                    at(hub, at(star, q)) = w;
                    join(at(star, q));
                    return true;
                }))
                return false;
            auto const& f = at(first, at(c.color, w));
            if (f.vertex != w) {
                at(hub, star[f.edge]) = v;
                join(star[f.edge]);
            } else {
                join(static_cast<int>(hub.size()));
                hub.push_back(-1);
            }
            return false;
        });
        at(c.color, v) = mine;
    }
    c.count = static_cast<int>(forbidden_for.size());
    c.in_own_row.resize(inner.size());
    for (int v = 0; v < count; ++v)
        for (int p = at(outer, v); p < at(outer, v + 1); ++p)
            c.in_own_row[static_cast<std::size_t>(p)] =
                at(inner, p) == v || at(hub, at(star, p)) != v;
    return c;
}

} // namespace xgrad::detail

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
