// The results of named_modules() and load_state_dict().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgrad::nn {

class AnyModule;

/// A module and its name in the module that was asked, such as "encoder.0".
struct NamedModule {
    std::string name;  // "" for the module that was asked
    AnyModule* module; // not owned; it lives as long as the module that was asked
};

/// What load_state_dict() did not load: names missing in the state, names missing in the module,
/// and tensors of another shape or type (with the reason).
struct LoadReport {
    /// `missing` has the names that the state lacks, `unexpected` those that the module lacks,
    /// `mismatched` those of tensors that do not fit, each with the reason.
    std::vector<std::string> missing, unexpected, mismatched;
    /// True if everything was loaded.
    bool complete() const noexcept;
    /// A message that lists all mistakes by name, for a module of this class.
    std::string message(std::string_view module_class) const;
};

} // namespace xgrad::nn
