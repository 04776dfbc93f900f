// Bodies of to_dot.hpp.
#pragma once

#include <xgrad/testing/to_dot.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION DotWriter::DotWriter(std::vector<AnyTensor> const& roots, DotOptions const& options)
    : options_(options) {
    for (auto const& [name, t] : options.names) {
        if (!t.defined()) fail<GraphError>("to_dot: the tensor named '", name, "' is undefined");
        if (auto const edge = gradient_edge(t))
            names_[edge.function.get()].push_back({&name, &t, edge.input_nr});
    }
    text_ = "digraph graph_of_xgrad {\n    node [shape=box, style=filled, fillcolor=lightgrey, "
            "fontname=\"monospace\", fontsize=10];\n";
    for (std::size_t i = 0; i < roots.size(); ++i) {
        auto const edge = gradient_edge(roots[i]);
        auto const name = "root" + std::to_string(i);
        add_vertex(name, lines_of_root(roots[i]), "palegreen");
        if (edge) add_edge(number_of(*edge.function), name, edge);
    }
    // A Node gets its index when the first edge to it is met, and Nodes are written in the
    // order of their indices: no recursion.
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        write(i);
        for (auto const& edge : nodes_[i]->next_edges())
            if (edge) add_edge(number_of(*edge.function), vertex(i), edge);
    }
    text_ += "}\n";
}

XGRAD_FUNCTION std::size_t DotWriter::number_of(Node& node) {
    auto const [at, is_new] = numbers_.try_emplace(&node, nodes_.size());
    if (is_new) nodes_.push_back(&node);
    return at->second;
}

XGRAD_FUNCTION std::string DotWriter::type_and_shape(AnyTensor const& t) {
    return message_of({name(t.dtype()), " ", t.shape()});
}

XGRAD_FUNCTION auto DotWriter::lines_of_root(AnyTensor const& root) -> Lines {
    Lines lines;
    for (auto const& [name, t] : options_.names)
        if (t.is_same(root)) lines.push_back(name);
    lines.push_back(type_and_shape(root));
    for (auto& [node, all] : names_)
        std::erase_if(all, [&](Named const& named) { return named.tensor->is_same(root); });
    return lines;
}

XGRAD_FUNCTION void DotWriter::write(std::size_t i) {
    Node& node = *nodes_[i];
    bool const is_leaf = node.sequence_nr() == leaf_sequence;
    Lines lines;
    if (auto const at = names_.find(&node); at != names_.end())
        for (auto const& named : at->second)
            lines.push_back(
                *named.name +
                (is_leaf ? ""
                         : (named.output_nr ? " (output " + std::to_string(named.output_nr) + "): "
                                            : ": ") +
                               type_and_shape(*named.tensor)));
    if (is_leaf) lines.push_back(type_and_shape(static_cast<AccumulateGrad&>(node).variable()));
    else {
        auto const name = node.name(), formula = node.formula();
        lines.push_back(name);
        if (options_.show_formulas && formula != name) lines.push_back(formula);
    }
    if (options_.show_hooks) add_hooks(node, lines);
    if (options_.show_saved)
        for (auto const& saved : node.saved_tensors())
            lines.push_back("saves " + saved.name + ": " + state_of(node, saved));
    add_vertex(vertex(i), lines, is_leaf ? "lightblue" : "");
}

XGRAD_FUNCTION std::string DotWriter::state_of(Node& node, NamedSavedTensor const& saved) {
    if (!saved.tensor->holds()) return "freed";
    if (saved.tensor->is_packed()) return "packed";
    try {
        return type_and_shape(SavedTensorHandle(node, *saved.tensor).unpack());
    } catch (VersionError const&) { return "changed in place since"; }
}

XGRAD_FUNCTION void DotWriter::add_hooks(Node const& node, Lines& lines) {
    auto const* const hooks = NodeHooks::of(node);
    if (!hooks) return;
    auto const add = [&](std::size_t count, char const* kind) {
        if (count) lines.push_back(std::to_string(count) + " " + kind + (count > 1 ? "s" : ""));
    };
    auto const count = [](auto const& list) {
        std::size_t n = 0;
        list.for_each([&](auto const&) { ++n; });
        return n;
    };
    std::size_t tensor_hooks = 0;
    bool retains = false;
    for (auto const* o = hooks->outputs.load(std::memory_order_acquire); o;
         o = o->next.load(std::memory_order_acquire)) {
        tensor_hooks += count(o->tensor_hooks);
        retains |= static_cast<bool>(o->retain_grad());
    }
    add(tensor_hooks, "tensor hook");
    if (retains) lines.push_back("retains grad");
    add(count(hooks->prehooks), "prehook");
    add(count(hooks->posthooks), "hook");
    add(count(hooks->post_accumulate), "post-accumulate hook");
}

XGRAD_FUNCTION void DotWriter::add_vertex(
    std::string const& name, Lines const& lines, std::string_view color) {
    text_ += "    " + name + " [label=\"";
    for (std::size_t i = 0; i < lines.size(); ++i) text_ += (i ? "\\n" : "") + escaped(lines[i]);
    text_ += '"';
    if (!color.empty()) text_ += ", fillcolor=" + std::string(color);
    text_ += "];\n";
}

XGRAD_FUNCTION void DotWriter::add_edge(std::size_t from, std::string const& to, Edge const& edge) {
    text_ += "    " + vertex(from) + " -> " + to;
    if (edge.function->num_outputs() > 1)
        text_ += " [label=\"" + std::to_string(edge.input_nr) + "\"]";
    text_ += ";\n";
}

XGRAD_FUNCTION std::string DotWriter::escaped(std::string const& s) {
    std::string out;
    for (char const c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '&') out += "&amp;";
        else if (c == '\n') out += "\\n";
        else out += c;
    }
    return out;
}

} // namespace xgrad::detail
