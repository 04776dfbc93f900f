// Bodies of gradient_edge.hpp.
#pragma once

#include <xgrad/autograd/gradient_edge.hpp>

namespace xgrad {

XGRAD_LAZY_BODY GradientEdge::GradientEdge(Node* node, std::uint32_t output_nr) {
    if (!node)
        detail::fail<GraphError>("a GradientEdge needs a Node: a leaf's is made from the leaf");
    if (output_nr >= node->num_outputs())
        detail::fail<IndexError>("GradientEdge: ", node->name(), " has no output ", output_nr,
            ", only ", node->num_outputs());
    if (detail::is_leaf(*node))
        *this = GradientEdge(static_cast<detail::AccumulateGrad&>(*node).variable());
    else edge_ = {detail::Ref<Node>(node), output_nr};
}

} // namespace xgrad
