// Bodies of second_order.hpp.
#pragma once

#include <xgrad/autograd/second_order.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION SecondOrder const& SecondOrder::of(Node const& node) {
    if (auto const* const all = linked.load(std::memory_order_acquire)) [[likely]]
        return *all;
    fail<GraphError>(node.name(),
        ": for second derivatives, or tangents, a pass has to ask for them: give "
        ".create_graph = true to backward() or grad()");
}

XGRAD_FUNCTION ForwardMode const& ForwardMode::of(Node const& node) {
    if (auto const* const all = linked.load(std::memory_order_acquire)) [[likely]]
        return *all;
    fail<GraphError>(node.name(), ": tangents are pushed by jvp() and the transforms beside it");
}

} // namespace xgrad::detail
