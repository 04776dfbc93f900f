// The results of named_modules() and load_state_dict().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgrad::nn {

class AnyModule;

/// A module and its name in the module that was asked, such as "encoder.0".
struct NamedModule {
    std::string name;
    AnyModule* module;
};

/// What load_state_dict() did not load: names missing in the state, names missing in the module,
/// and tensors of another shape or type (with the reason).
struct LoadReport {
    std::vector<std::string> missing, unexpected, mismatched;
    /// True if everything was loaded.
    bool complete() const noexcept {
        return missing.empty() && unexpected.empty() && mismatched.empty();
    }
    /// A message that lists all mistakes by name, for a module of this class.
    std::string message(std::string_view module_class) const {
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
};

} // namespace xgrad::nn
