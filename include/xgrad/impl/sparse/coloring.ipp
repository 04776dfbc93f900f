// Bodies of coloring.hpp.
#pragma once

#include <xgrad/sparse/coloring.hpp>

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
