// Forward mode over a recorded graph: tangents of the inputs are pushed to the outputs, one Node
// after the other.
#pragma once

#include <unordered_map>

#include <xgrad/autograd/local_graph.hpp>

namespace xgrad::detail {

class ForwardPass {
public:
    ForwardPass(std::span<AnyTensor const> inputs, std::span<AnyTensor const> tangents);

    /// Computes the tangents of these outputs; an output that does not depend on the inputs gets an
    /// undefined one.
    void run(std::span<AnyTensor const> outputs, std::span<AnyTensor> results);

private:
    using Index = std::size_t;
    static constexpr std::size_t few = 8; // so many Nodes are searched linearly

    struct Notes {
        explicit Notes(Node& n) noexcept : node(&n) {}

        Node* node;
        std::size_t users = 0; // edges that lead to this Node
        bool is_input = false;
        AnyTensor tangent = {};                          // of the only output, or
        std::unique_ptr<AnyTensor[]> tangents = nullptr; // of each of several

        /// Allocates the tangents.
        void begin();
        std::span<AnyTensor> all();
    };

    /// The state of a Node in this pass, and whether it is new.
    std::pair<Index, bool> enter(Node& node);
    Index lookup(Node const& node) const;

    /// Appends a Node, after all Nodes that its edges lead to, to order_.
    void visit(Node& last);

    AnyTensor tangent(Edge const& edge);

    void push(Index index);

    CachedVector<Notes> notes_;
    std::unordered_map<Node const*, Index> places_; // index in order_, used when there are many
    CachedVector<Index> order_;
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/functional/forward_pass.ipp>
#endif
