// Bodies of module_text.hpp.
#pragma once

#include <xgrad/nn/module_text.hpp>

namespace xgrad::nn {

XGRAD_FUNCTION void AnyModule::print(std::string const& indent, std::string& out) const {
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

} // namespace xgrad::nn
