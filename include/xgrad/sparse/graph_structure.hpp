// GraphStructure: what a recorded graph is made of, without its values. A plan for sparse
// derivatives holds as long as it stays the same.
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/structure.hpp>

namespace xgrad::detail {

/// True for a Node whose derivative may be any function: of a custom Function, a checkpoint or an
/// implicit function.
XGRAD_LAZY bool is_custom(Node& node);

/// Hashes of the Nodes between inputs and outputs: of operation, edges, shapes, and the elements
/// that they connect. Indices and masks are compared without being stored: hashed is what a
/// selection makes of random tangents.
class GraphStructure {
public:
    GraphStructure() = default;
    XGRAD_LAZY GraphStructure(TensorSpan inputs, TensorSpan outputs);
    /// What a graph has in the place of a Node of this one; empty where both are the same.
    XGRAD_LAZY std::string difference(TensorSpan inputs, TensorSpan outputs) const;

    /// Where it is false, the graph of the gradient is the same as long as this one is.
    bool has_custom_nodes() const noexcept { return has_custom_nodes_; }

private:
    std::vector<std::uint64_t> hashes_, results_;
    std::vector<std::string> names_;
    bool has_custom_nodes_ = false;
    Tensors numbers_; // random elements of the scalar types that tangents have had
};

} // namespace xgrad::detail
