// What a module answers when it is asked for the modules in it, or loads a state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgrad::nn {

class AnyModule;

/// A module under its name in the one that was asked, such as "encoder.0".
struct NamedModule {
    std::string name;
    AnyModule* module;
};

/// What load_state_dict() could not do: names that the module has and the state has not, the other
/// way round, and tensors of another shape or kind (with the reason).
struct LoadReport {
    std::vector<std::string> missing, unexpected, mismatched;
    /// Whether every name was there, with its shape and kind.
    bool complete() const noexcept {
        return missing.empty() && unexpected.empty() && mismatched.empty();
    }
    /// What is wrong, by name, for the class of module that was to load the state.
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
