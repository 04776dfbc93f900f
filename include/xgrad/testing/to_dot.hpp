// to_dot(): the recorded graph behind a tensor as Graphviz text. Not part of xgrad.hpp.
//
// Gradients: the graph is read, and changed in nothing; no hook is called.
// Errors: an undefined tensor among the names is a GraphError, one to be drawn an Error.
#ifndef XGRAD_TESTING_TO_DOT_HPP
#define XGRAD_TESTING_TO_DOT_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <unordered_map>

#include <xgrad/autograd/engine.hpp>

namespace xgrad {

/// Names of tensors in the picture.
using TensorNames = std::vector<std::pair<std::string, AnyTensor>>;

/// Options of to_dot().
struct DotOptions {
    TensorNames names = {};    // of leaves and of other tensors that the program holds
    bool show_formulas = true; // what a Node computes, beside its name
    bool show_saved = false;   // what a Node saved for backward
    bool show_hooks = true;    // the number of hooks of each kind that a Node has
};

namespace detail {

class DotWriter {
public:
    DotWriter(std::vector<AnyTensor> const& roots, DotOptions const& options);

    std::string text() && { return std::move(text_); }

private:
    using Lines = std::vector<std::string>;
    struct Named {
        std::string const* name;
        AnyTensor const* tensor;
        std::uint32_t output_nr;
    };

    static std::string vertex(std::size_t i) { return std::string("n").append(std::to_string(i)); }

    std::size_t number_of(Node& node);

    static std::string type_and_shape(AnyTensor const& t);

    Lines lines_of_root(AnyTensor const& root);

    void write(std::size_t i);

    /// The type and shape of a saved tensor, if they are known without calling hooks.
    static std::string state_of(Node& node, NamedSavedTensor const& saved);

    static void add_hooks(Node const& node, Lines& lines);

    void add_vertex(std::string const& name, Lines const& lines, std::string_view color);
    /// An arrow from the Node behind an edge to the Node that has the edge: in the direction of
    /// values.
    void add_edge(std::size_t from, std::string const& to, Edge const& edge);

    /// The text escaped for a quoted label, in which Graphviz interprets backslashes and HTML
    /// entities.
    static std::string escaped(std::string const& s);

    DotOptions const& options_;
    std::unordered_map<Node const*, std::vector<Named>> names_;
    std::unordered_map<Node const*, std::size_t> numbers_;
    std::vector<Node*> nodes_;
    std::string text_;
};

} // namespace detail

/// The recorded graph of some tensors as text for Graphviz (`dot -Tsvg`): a grey box for each Node,
/// with its name and expression, a blue one for each leaf that accumulates gradients, with type and
/// shape, a green one for each given tensor. Arrows have the direction of values. Names of tensors,
/// hooks and saved tensors are shown as the options say; no hook is called.
inline std::string to_dot(std::vector<AnyTensor> const& tensors, DotOptions const& options = {}) {
    return detail::DotWriter(tensors, options).text();
}
inline std::string to_dot(AnyTensor const& tensor, DotOptions const& options = {}) {
    return to_dot(std::vector{tensor}, options);
}

} // namespace xgrad

XGRAD_HAS_BODIES_ELSEWHERE(testing_to_dot_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/to_dot.ipp>
#endif
