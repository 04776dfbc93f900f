// SecondOrder: table of functions for second derivatives and forward mode. They are called through
// pointers, so that only programs that use one of the two contain their code.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include <xgrad/autograd/any_tensor.hpp>

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

    static SecondOrder const& of(Node const& node);
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/autograd/second_order.ipp>
#endif
