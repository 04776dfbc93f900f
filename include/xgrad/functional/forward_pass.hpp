// Forward mode over a recorded graph: tangents of the inputs are pushed to the outputs, one Node
// after the other. Several tangents go in one pass, as a batch: tensors with a leading axis.
#pragma once

#include <unordered_map>

#include <xgrad/autograd/local_graph.hpp>

namespace xgrad::detail {

/// Walks over a graph from these edges on. enter(edge) says whether the walk enters its Node, which
/// it should do once; leave(node) is called when it has left all Nodes that the edges of the Node
/// lead to.
template <class Enter, class Leave>
void walk_graph(std::span<Edge const> from, Enter const& enter, Leave const& leave) {
    CachedVector<std::pair<Node*, std::size_t>> path; // each with the next of its edges
    auto const follow = [&](Edge const& edge) {
        if (edge && enter(edge)) path.emplace_back(edge.function.get(), 0);
    };
    for (auto const& edge : from)
        for (follow(edge); !path.empty();) {
            auto& [node, next] = path.back();
            if (auto const edges = node->next_edges(); next < edges.size()) follow(edges[next++]);
            else {
                leave(*node);
                path.pop_back();
            }
        }
}
/// An empty edge for a tensor that requires no gradient.
inline CachedVector<Edge> edges_to(std::span<AnyTensor const> tensors) {
    CachedVector<Edge> edges;
    for (auto const& t : tensors) edges.push_back(t.defined() ? gradient_edge(t) : Edge());
    return edges;
}

class ForwardPass {
public:
    XGRAD_LAZY ForwardPass(std::span<AnyTensor const> inputs, std::span<AnyTensor const> outputs);

    /// True where a backward pass from the outputs to the inputs calls a hook, or a backward that
    /// the user wrote without a jvp.
    XGRAD_LAZY bool prefers_reverse() const;

    /// Computes the tangents of the outputs from those of the inputs, of which some may be
    /// undefined, which stands for 0. An output that does not depend on the inputs gets an
    /// undefined one. A batch has so many directions.
    XGRAD_LAZY void run(std::span<AnyTensor const> tangents, std::span<AnyTensor> results,
        std::size_t directions = 0);

private:
    using Index = std::size_t;
    static constexpr std::size_t few = 8; // so many Nodes are searched linearly

    struct Notes {
        explicit Notes(Node& n) noexcept : node(&n) {}

        Node* node;
        std::size_t users = 0;   // edges that lead to this Node
        std::size_t waiting = 0; // those whose Nodes are still to come in this pass
        bool is_input = false;
        AnyTensor tangent = {};                          // of the only output, or
        std::unique_ptr<AnyTensor[]> tangents = nullptr; // of each of several

        /// Allocates the tangents.
        XGRAD_LAZY void begin();
        XGRAD_LAZY std::span<AnyTensor> all();
    };

    /// The state of a Node in this pass, and whether it is new.
    XGRAD_LAZY std::pair<Index, bool> enter(Node& node);
    XGRAD_LAZY Index lookup(Node const& node) const;

    XGRAD_LAZY AnyTensor tangent(Edge const& edge);

    XGRAD_LAZY void push(Index index);
    /// pushforward() of a Node for each direction of a batch.
    XGRAD_LAZY void push_each(
        Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    CachedVector<Edge> inputs_, outputs_;
    std::size_t directions_ = 0; // of this pass
    CachedVector<Notes> notes_;
    std::unordered_map<Node const*, Index> places_; // index in order_, used when there are many
    CachedVector<Index> order_;
};

} // namespace xgrad::detail
