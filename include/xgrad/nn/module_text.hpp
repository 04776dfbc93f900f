// Printing of a module as a tree of its submodules.
#pragma once

#include <ostream>

#include <xgrad/nn/any_module.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

inline void AnyModule::print(std::string const& indent, std::string& out) const {
    out += std::string(kind()) + "(" + extra_repr();
    bool has_children = false;
    for (auto const& m : members_) {
        if (m.kind != Kind::module) continue;
        if (!std::exchange(has_children, true) && out.back() != '(') out += ",";
        out += "\n" + indent + "  (" + m.name + "): ";
        module_of(m).print(indent + "  ", out);
    }
    out += has_children ? "\n" + indent + ")" : ")";
    if (auto const n = parameter_count())
        out += ", " + std::to_string(n) + (n == 1 ? " parameter" : " parameters");
}

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
