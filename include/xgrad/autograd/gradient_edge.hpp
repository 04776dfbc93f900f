// GradientEdge: an output of a Node, which backward() and grad() accept like a tensor.
//
// Shapes: an edge that was made from a tensor has its shape, one that was made from a Node other
// than a leaf's has none.
// Gradients: grad() returns the gradient that arrives at an edge; backward() with an edge among its
// inputs runs the edge's Node.
// Errors: GraphError for a tensor that requires no gradient, for a null Node, and for an edge
// without a shape as output; IndexError for an output that the Node does not have; Error for an
// undefined tensor.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>

namespace xgrad {

/// Output `output_nr` of a Node. Constructed from a tensor it stands for the tensor as it is now,
/// without keeping its value. Constructed from a Node other than a leaf's it can only be an input
/// of grad(): a Node does not know the shapes of its outputs.
class GradientEdge {
public:
    explicit GradientEdge(AnyTensor const& t)
        : edge_(detail::gradient_edge(t)), type_(t.impl().type), shape_(t.shape()) {
        if (!edge_)
            detail::fail<GraphError>(
                "Can only get a gradient edge for Tensors that require gradients.");
    }
    XGRAD_LAZY GradientEdge(Node* node, std::uint32_t output_nr);
    XGRAD_LAZY GradientEdge(Edge const& edge) : GradientEdge(edge.function.get(), edge.input_nr) {}

    /// The Node whose output this is; null for a tensor that requires no gradient.
    Node* node() const noexcept { return edge_.function.get(); }
    /// Which output of that Node.
    std::uint32_t output_nr() const noexcept { return edge_.input_nr; }

protected:
    GradientEdge() = default;

    Edge edge_;
    detail::TypeInfo const* type_ = nullptr;
    Shape shape_;
};

/// The edge along which a tensor's gradient is sent.
inline GradientEdge get_gradient_edge(AnyTensor const& t) { return GradientEdge(t); }

/// An output or input of backward() and grad(): a tensor or a GradientEdge.
class TensorOrEdge : GradientEdge {
public:
    TensorOrEdge(AnyTensor const& t) : tensor_(t) {}
    TensorOrEdge(GradientEdge e) : GradientEdge(std::move(e)) {}

    /// Undefined for a GradientEdge.
    AnyTensor const& tensor() const noexcept { return tensor_; }
    bool requires_grad() const { return edge_ || tensor_.requires_grad(); }
    /// False for an undefined tensor.
    bool defined() const noexcept { return edge_ || tensor_.defined(); }
    Edge edge() const { return edge_ ? edge_ : detail::gradient_edge(tensor_); }
    /// Null where it is not known.
    detail::TypeInfo const* type() const { return edge_ ? type_ : tensor_.impl().type; }
    Shape const& shape() const { return edge_ ? shape_ : tensor_.shape(); }

private:
    AnyTensor tensor_;
};

/// A list of tensors or edges: `{x, y}`, a vector of tensors, or no list.
class TensorsOrEdges {
public:
    TensorsOrEdges() = default;
    TensorsOrEdges(std::initializer_list<TensorOrEdge> list) : given_(true) {
        for (auto const& x : list) all_.push_back(x);
    }
    /// A std::vector, or another list.
    template <class List>
        requires std::convertible_to<typename List::value_type const&, TensorOrEdge>
    TensorsOrEdges(List const& list) : given_(true) {
        for (auto const& x : list) all_.push_back(x);
    }

    /// False where no list was given, which differs from an empty list.
    bool given() const noexcept { return given_; }
    bool empty() const noexcept { return all_.empty(); }
    std::size_t size() const noexcept { return all_.size(); }
    TensorOrEdge const& operator[](std::size_t i) const { return all_[i]; }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

private:
    detail::CachedVector<TensorOrEdge> all_;
    bool given_ = false;
};

} // namespace xgrad
