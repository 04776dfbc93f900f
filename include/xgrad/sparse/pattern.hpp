// The sparsity pattern of a Jacobian, found from the recorded graph: for each element of a result
// the elements of the inputs on which it depends, from the inputs on, one Node after the other.
// - A fused Node connects elements at the same place of its index space: a full operand to the
//   results element by element, a broadcast one to all that read it, a summed axis to one result.
// - A Node that selects elements (slices, views, permutations, gathers, joins), or is the adjoint
// of
//   such a one, is applied to the numbers of elements: what arrives says which element is where.
// - Another operation on whole arrays (products of matrices, transforms) is dense, but along the
//   axes that it keeps: see Dependence.
// - Any other Node (a custom Function, a checkpoint) is dense between its inputs and outputs.
#pragma once

#include <xgrad/functional/graph_dependence.hpp>
#include <xgrad/sparse/matrix.hpp>

namespace xgrad::detail {

/// The fused Nodes of a recorded gradient that depend on the inputs, in the order of recording.
struct FusedGradients {
    struct Operand {
        Shape shape;
        std::size_t output; // of the Node: its gradient
        std::vector<int>
            columns; // of its elements, -1 for a constant; empty for a constant operand
    };
    std::vector<std::vector<Operand>> operands; // of each Node, by edges
    /// Each operand consists of elements of the inputs, and each grad_output is constant.
    bool are_direct = true;
};

/// The pattern of the derivatives of all elements of the outputs for all elements of the inputs,
/// which are numbered one tensor after the other.
XGRAD_LAZY SparsePattern find_pattern(
    std::string_view name, TensorSpan inputs, TensorSpan outputs, FusedGradients* fused = nullptr);

/// A number between 1 and 2 that looks random.
double scattered(std::size_t i, std::size_t stream);
/// A row-major tensor with random elements that are multiplied by weight(element); parts of a
/// complex one differ.
template <class Weight>
AnyTensor scattered(TypeInfo const& type, Shape const& shape, Weight const& weight) {
    AnyTensor t = type.filled(shape, 0);
    with_reals(t, [&]<class P>(P* at, std::size_t n) {
        for (std::size_t i = 0; i < t.numel(); ++i)
            for (std::size_t part = 0; part < n / t.numel(); ++part)
                *at++ = static_cast<P>(scattered(i, part) * weight(i));
    });
    return t;
}
/// The elements in row-major order; of complex ones the real parts, plus `imaginary` times the
/// others.
XGRAD_LAZY std::vector<double> doubles_of(AnyTensor const& t, double imaginary);

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
