// What a module answers when it is asked for the modules in it, or loads a state.
#pragma once

#include <string>
#include <vector>

namespace xgrad::nn {

class AnyModule;

/// A module under its name in the one that was asked, such as "encoder.0".
struct NamedModule {
    std::string name;
    AnyModule* module;
};

/// What load_state_dict() could not do: names that the module has and the state has not, the other way round, and tensors of
/// another shape or kind (with the reason).
struct LoadReport {
    std::vector<std::string> missing, unexpected, mismatched;
    /// Whether every name was there, with its shape and kind.
    bool complete() const noexcept {
        return missing.empty() && unexpected.empty() && mismatched.empty();
    }
};

} // namespace xgrad::nn
