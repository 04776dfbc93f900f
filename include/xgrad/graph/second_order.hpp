// SecondOrder: table of functions for second derivatives and forward mode. They are called through
// pointers, so that only programs that use one of the two contain their code.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include <xgrad/graph/any_tensor.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

struct SecondOrder {
    /// apply() of a fused Node, recorded.
    void (*record)(Node& fused, AnyTensor const& gradient, std::span<AnyTensor> results);
    /// pushforward() of a fused Node.
    void (*push)(Node& fused, std::span<AnyTensor const> tangents, std::span<AnyTensor> results);
    /// pushforward() of any Node: see push_by_transposing() in local_graph.hpp.
    void (*push_transposed)(Node& node, std::vector<AnyTensor> outputs,
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    /// Set by FusedNode::link_second_order().
    static inline std::atomic<SecondOrder const*> linked{nullptr};

    static SecondOrder const& of(Node const& node) {
        if (auto const* const all = linked.load(std::memory_order_acquire)) [[likely]]
            return *all;
        fail<GraphError>(node.name(),
            ": for second derivatives, or tangents, a pass has to ask for them: give "
            ".create_graph = true to backward() or grad()");
    }
};

} // namespace xgrad::detail
