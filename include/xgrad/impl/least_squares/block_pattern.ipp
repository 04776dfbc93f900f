// Which blocks of a sparse symmetric matrix are not 0, and an order of elimination in which few
// more become so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace xgrad::detail {

using BlockIndex = std::uint32_t;
using BlockLists = std::vector<std::vector<BlockIndex>>;

inline void sort_and_erase_copies(std::vector<BlockIndex>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// The rows of an upper triangle of blocks. Row p has its blocks side by side in a dense panel, the
/// one on the diagonal first.
struct BlockPattern {
    BlockPattern() = default;
    /// `width` has the numbers of each block, and `above` the columns q > p of each row p.
    BlockPattern(std::vector<std::size_t> widths, BlockLists const& above)
        : width(std::move(widths)) {
        for (std::size_t p = 0; p < width.size(); ++p) {
            panel.push_back(values);
            first.push_back(column.size());
            std::size_t length = 0;
            auto const add = [&](std::size_t q) {
                column.push_back(static_cast<BlockIndex>(q));
                offset.push_back(length);
                length += width[q];
            };
            add(p);
            for (auto const q : above[p]) add(q);
            stride.push_back(length);
            values += length * width[p];
        }
        first.push_back(column.size());
    }
    /// The entry of block (p, q), which exists.
    std::size_t find(std::size_t p, std::size_t q) const {
        std::size_t const guess = first[p] + (q - p); // where all blocks between are there
        if (guess < first[p + 1] && column[guess] == q) return guess;
        auto const begin = column.begin();
        return static_cast<std::size_t>(
            std::lower_bound(begin + static_cast<std::ptrdiff_t>(first[p]),
                begin + static_cast<std::ptrdiff_t>(std::min(guess, first[p + 1])),
                static_cast<BlockIndex>(q)) -
            begin);
    }
    /// Whether an entry that find() returned is block (p, q).
    bool has(std::size_t p, std::size_t entry, std::size_t q) const {
        return entry < first[p + 1] && column[entry] == q;
    }
    /// Where the block of an entry of row p begins.
    std::size_t place(std::size_t p, std::size_t entry) const { return panel[p] + offset[entry]; }

    std::vector<std::size_t> width;         // of block p
    std::vector<std::size_t> first;         // entry of row p, and the end
    std::vector<BlockIndex> column;         // of an entry
    std::vector<std::size_t> offset;        // of an entry's block in its panel
    std::vector<std::size_t> panel, stride; // of row p: its first value, the length of its rows
    std::size_t values = 0;                 // of all panels
};

/// An order in which blocks are eliminated, and the blocks that each one is coupled with then.
struct BlockOrder {
    std::vector<BlockIndex> order;
    BlockLists above;
};
/// Minimum degree. `graph` has the sorted neighbours of each block. None where the factors take
/// more than `limit` multiplications.
inline std::optional<BlockOrder> minimum_degree(
    BlockLists graph, std::vector<std::size_t> const& width, double limit) {
    using Entry = std::pair<std::size_t, BlockIndex>; // a degree and its block
    std::vector<Entry> queue; // a heap, the least degree first; entries of old degrees are skipped
    auto const enter = [&](BlockIndex v) {
        queue.emplace_back(graph[v].size(), v);
        std::push_heap(queue.begin(), queue.end(), std::greater<>());
    };
    for (std::size_t v = 0; v < graph.size(); ++v) enter(static_cast<BlockIndex>(v));
    BlockOrder found;
    std::vector<char> is_done(graph.size());
    std::vector<BlockIndex> merged;
    auto const eliminate = [&](BlockIndex v, std::vector<BlockIndex> with) {
        double numbers = static_cast<double>(width[v]);
        for (auto const u : with) numbers += static_cast<double>(width[u]);
        limit -= static_cast<double>(width[v]) * numbers * numbers / 2;
        is_done[v] = 1;
        found.order.push_back(v);
        found.above.push_back(std::move(with));
        return limit >= 0;
    };
    while (!queue.empty()) {
        std::pop_heap(queue.begin(), queue.end(), std::greater<>());
        auto const degree = queue.back().first;
        auto const v = queue.back().second;
        queue.pop_back();
        if (is_done[v] || degree != graph[v].size()) continue;
        auto const with = std::move(graph[v]);
        if (!eliminate(v, with)) return {};
        if (with.size() == graph.size() - found.order.size()) { // all that are left are coupled
            for (std::size_t i = 0; i < with.size(); ++i)
                if (!eliminate(
                        with[i], {with.begin() + static_cast<std::ptrdiff_t>(i) + 1, with.end()}))
                    return {};
            break;
        }
        for (auto const u : with) {
            merged.clear();
            std::set_union(graph[u].begin(), graph[u].end(), with.begin(), with.end(),
                std::back_inserter(merged));
            std::erase_if(merged, [&](BlockIndex w) { return w == u || w == v; });
            graph[u] = merged;
            enter(u);
        }
    }
    return found;
}

} // namespace xgrad::detail
