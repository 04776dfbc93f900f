// Looking at a recorded graph from its end.
#pragma once

#include <set>

#include "tensor/compare.hpp"

/// All Nodes that a tensor's gradient passes, leaves included.
inline std::set<xg::Node*> nodes_of(xg::AnyTensor const& t) {
    std::set<xg::Node*> seen;
    std::vector<xg::Node*> todo;
    if (t.grad_fn()) todo.push_back(t.grad_fn());
    while (!todo.empty()) {
        auto* const node = todo.back();
        todo.pop_back();
        if (!seen.insert(node).second) continue;
        for (auto const& edge : node->next_edges())
            if (edge) todo.push_back(edge.function.get());
    }
    return seen;
}

/// The recorded operations: the Nodes that are not leaves.
inline std::size_t operations_of(xg::AnyTensor const& t) {
    std::size_t n = 0;
    for (auto* const node : nodes_of(t)) n += node->name() != "AccumulateGrad";
    return n;
}
