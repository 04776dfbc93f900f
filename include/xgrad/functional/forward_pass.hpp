// Forward mode over a recorded graph: tangents of the inputs are pushed to the outputs, one Node after the other.
#pragma once

#include <unordered_map>

#include <xgrad/tensor/fused_gradient_node.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

class ForwardPass {
public:
    ForwardPass(std::span<AnyTensor const> inputs, std::span<AnyTensor const> tangents)
    {
        FusedNode::link_second_order();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            Edge const edge = gradient_edge(inputs[i]);
            auto& notes = notes_[edge.function.get()];
            notes.is_input = true;
            notes.tangents.resize(edge.function->num_outputs());
            notes.tangents[edge.input_nr] = tangents[i];
        }
    }

    /// Tangents of these outputs; undefined where they do not depend on the inputs.
    [[gnu::cold]] std::vector<AnyTensor> run(std::span<AnyTensor const> outputs)
    {
        std::vector<Edge> ends;
        for (auto const& y : outputs) {
            ends.push_back(y.requires_grad() ? gradient_edge(y) : Edge());
            if (ends.back()) visit(*ends.back().function);
        }
        for (Node* const node : order_) push(*node);
        std::vector<AnyTensor> results;
        for (auto const& end : ends) results.push_back(end ? tangent(end) : AnyTensor());
        return results;
    }

private:
    struct Notes {
        std::vector<AnyTensor> tangents;  // of the outputs
        std::size_t users = 0;            // edges that lead here
        bool is_input = false;
    };

    /// Puts a Node and all that lead to it into order_, each after those that its edges lead to.
    void visit(Node& last)
    {
        std::vector<std::pair<Node*, std::size_t>> path;
        auto const enter = [&](Node& node) {
            auto const [at, is_new] = notes_.try_emplace(&node);
            ++at->second.users;
            if (is_new) path.emplace_back(&node, 0);
        };
        enter(last);
        while (!path.empty()) {
            auto& [node, next] = path.back();
            if (next == node->next_edges().size()) {
                order_.push_back(node);
                path.pop_back();
            } else if (Edge const& edge = node->next_edges()[next++]) enter(*edge.function);
        }
    }

    AnyTensor tangent(Edge const& edge) const
    {
        auto const& all = notes_.at(edge.function.get()).tangents;
        return edge.input_nr < all.size() ? all[edge.input_nr] : AnyTensor();
    }

    void push(Node& node)
    {
        std::vector<AnyTensor> tangents;
        bool moves = false;
        for (auto const& edge : node.next_edges()) {
            tangents.push_back(edge ? tangent(edge) : AnyTensor());
            moves |= tangents.back().defined();
        }
        if (moves) {
            auto& results = notes_.at(&node).tangents;
            results.resize(node.num_outputs());
            NodeLock const lock(node);
            node.pushforward(tangents, results);
        }
        for (auto const& edge : node.next_edges())
            if (edge)
                if (auto& notes = notes_.at(edge.function.get()); --notes.users == 0 && !notes.is_input) notes.tangents.clear();
    }

    std::unordered_map<Node*, Notes> notes_;
    std::vector<Node*> order_;
};

}  // namespace xgrad::detail
