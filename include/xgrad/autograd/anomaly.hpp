// Anomaly mode: each Node records where it was created, and a NaN in a gradient is an error that
// reports that location.
//
// Gradients: unchanged; with check_nan a NaN among them stops the pass.
// Errors: with check_nan a backward pass throws GraphError at the first NaN; whatever a Node throws
// is announced by a warning, and then leaves the pass as it is.
#pragma once

#include <xgrad/autograd/mode.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/core/source_location.hpp>
#include <xgrad/core/warning.hpp>

namespace xgrad {

namespace detail {

/// Where a Node was recorded, and the Node whose backward pass recorded it, if any.
struct Origin {
    std::string location;     // where the source location is known, or
    std::vector<void*> stack; // call stack, which becomes text when somebody asks for it
    std::string parent_name;
    std::shared_ptr<Origin const> parent;
    mutable std::string text = {}; // of `location` or `stack`, once somebody asked for it
};

/// What anomaly mode does, by pointers, so that only programs that construct an AnomalyMode contain
/// it.
struct AnomalyFunctions {
    void (*record_origin)(Node& fresh);
    void (*run)(Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results,
        bool keep_saved); // run_observed_node() of a Node without hooks
};

struct AnomalyState {
    AnomalyFunctions const* functions = nullptr; // null where the mode is off
    bool check_nan = true;
    SourceLocation const* location =
        nullptr; // of the statement that is being recorded; may be null
    Node* running = nullptr;
};
inline constinit thread_local AnomalyState anomaly;

/// Sets the source location of the Nodes that are recorded in its scope.
class RecordingAt : ScopedValue<SourceLocation const*> {
public:
    XGRAD_GUARD explicit RecordingAt(SourceLocation const& location) noexcept
        : ScopedValue(anomaly.location, anomaly.location ? anomaly.location : &location) {}
};

/// True for a location in xgrad's own headers; then the call stack is reported instead.
XGRAD_LAZY [[gnu::cold]] bool is_own(SourceLocation const& at);

XGRAD_LAZY [[gnu::cold]] std::shared_ptr<Origin const> make_origin();

/// Text for messages: " It was recorded at demo.cpp:12, ...", or "" where the location is unknown.
/// May start addr2line.
[[gnu::cold]] inline std::string origin_text(Node const& node) {
    auto const* const hooks = NodeHooks::of(node);
    return hooks ? hooks->origin_text() : std::string();
}

} // namespace detail

/// In its scope Nodes record where they were created, and errors of a backward pass report it. With
/// check_nan a backward pass throws at the first gradient that is NaN. All operations are slower.
class AnomalyMode {
public:
    XGRAD_LAZY XGRAD_GUARD explicit AnomalyMode(bool check_nan = true) noexcept;

private:
    detail::ScopedValue<detail::AnomalyFunctions const*> functions_;
    detail::ScopedValue<bool> check_nan_;
};

} // namespace xgrad
