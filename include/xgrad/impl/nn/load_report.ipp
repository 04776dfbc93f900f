// Bodies of load_report.hpp.
#pragma once

#include <xgrad/nn/load_report.hpp>

namespace xgrad::nn {

XGRAD_FUNCTION bool LoadReport::complete() const noexcept {
    return missing.empty() && unexpected.empty() && mismatched.empty();
}

XGRAD_FUNCTION std::string LoadReport::message(std::string_view module_class) const {
    std::string text = "Error(s) in loading state_dict for " + std::string(module_class) + ":";
    auto const list = [&](char const* what, std::vector<std::string> const& names) {
        for (auto const& name : names) {
            if (name == names.front())
                text.append("\n\t").append(what).append(" key(s) in state_dict: ");
            else text += ", ";
            text += '"' + name + '"';
        }
    };
    list("Missing", missing);
    list("Unexpected", unexpected);
    for (auto const& name : mismatched) text += "\n\t" + name;
    return text;
}

} // namespace xgrad::nn
