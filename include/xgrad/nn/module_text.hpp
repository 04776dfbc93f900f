// Printing of a module as a tree of its submodules.
#pragma once

#include <ostream>

#include <xgrad/nn/any_module.hpp>

namespace xgrad::nn {

/// Prints the tree of modules, each with its number of parameters.
inline std::string to_string(AnyModule const& m) {
    std::string out;
    m.print("", out);
    return out;
}
inline std::ostream& operator<<(std::ostream& out, AnyModule const& m) {
    return out << to_string(m);
}

} // namespace xgrad::nn
