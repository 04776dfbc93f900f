// What the page shows of a formula, as JSON: its value, its gradients and its recorded graph.
#pragma once

#include <string>

namespace playground {

/// `inputs` has a line "name kind value" for each variable; kind is real or complex, and value is a
/// formula without variables. A variable without a line has a kind and a value by default.
///
/// The answer is {"variables": [{"name", "kind", "value"}...], and one of
///     "error", "of", "position"     a sentence; what it is about: "" is the formula, else the name
///                                   of a variable; and how many characters stand before the fault
///     "value", "gradients", "graph"}
/// "gradients": [{"of", "variable", "value", "differences"}...], of is f, Re f or Im f;
/// "graph": {"vertices": [{"kind", "text", "node", "value", "gradient"}...], "edges": [[from,
/// to]...]}, kind is leaf, step or result, and edges are in the direction of values.
/// A number is a list of one string if it is real, and of two if it is complex; null is none.
std::string answer(std::string const& formula, std::string const& inputs);

} // namespace playground
