// Anomaly mode: each Node records where it was created, and a NaN in a gradient is an error that
// reports that location.
#pragma once

#include <xgrad/base/call_stack.hpp>
#include <xgrad/base/source_location.hpp>
#include <xgrad/base/warning.hpp>
#include <xgrad/graph/node.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

namespace detail {

/// Where a Node was recorded, and the Node whose backward pass recorded it, if any.
struct Origin {
    std::string location;     // where the source location is known, or
    std::vector<void*> stack; // call stack
    std::string parent_name;
    std::shared_ptr<Origin const> parent;
};

struct AnomalyState {
    bool enabled = false;
    bool check_nan = true;
    SourceLocation const* location =
        nullptr; // of the statement that is being recorded; may be null
    Node* running = nullptr;
};
inline constinit thread_local AnomalyState anomaly;

/// Sets the source location of the Nodes that are recorded in its scope.
class RecordingAt {
public:
    explicit RecordingAt(SourceLocation const& location) noexcept : before_(anomaly.location) {
        if (!before_) anomaly.location = &location;
    }
    RecordingAt(RecordingAt const&) = delete;
    RecordingAt& operator=(RecordingAt const&) = delete;
    ~RecordingAt() { anomaly.location = before_; }

private:
    SourceLocation const* before_;
};

/// Text for messages: "demo.cpp:12, in int main()", or the call stack.
[[gnu::cold]] inline std::string location_text(Origin const& origin) {
    return origin.location.empty() ? call_stack_text(origin.stack) : origin.location;
}

/// True for a location in xgrad's own headers; then the call stack is reported instead.
[[gnu::cold]] inline bool is_own(SourceLocation const& at) {
    std::string_view headers = __FILE__;
    if (std::string_view const here = "/graph/anomaly.hpp"; headers.ends_with(here))
        headers.remove_suffix(here.size());
    return std::string_view(at.file_name()).starts_with(headers);
}

[[gnu::cold]] inline std::shared_ptr<Origin const> make_origin() {
    auto origin = std::make_shared<Origin>();
    if (auto const* const at = anomaly.location; at && !is_own(*at))
        origin->location = std::string(at->file_name()) + ":" + std::to_string(at->line()) +
                           ", in " + at->function_name();
    else origin->stack = call_stack();
    if (anomaly.running) {
        origin->parent_name = anomaly.running->name();
        if (auto const* const hooks = NodeHooks::of(*anomaly.running))
            origin->parent = hooks->origin;
    }
    return origin;
}

/// Text for messages: " It was recorded at demo.cpp:12, ...", or "" where the location is unknown.
[[gnu::cold]] inline std::string origin_text(Node const& node) {
    auto const* const hooks = NodeHooks::of(node);
    if (!hooks || !hooks->origin) return {};
    std::string text = " It was recorded at " + location_text(*hooks->origin) + ".";
    for (auto const* o = hooks->origin.get(); o && !o->parent_name.empty(); o = o->parent.get())
        text +=
            " That was induced by the backward pass of " + o->parent_name +
            (o->parent ? ", which was recorded at " + location_text(*o->parent) : std::string()) +
            ".";
    return text;
}

} // namespace detail

/// In its scope Nodes record where they were created, and errors of a backward pass report it. With
/// check_nan a backward pass throws at the first gradient that is NaN. All operations are slower.
class AnomalyMode {
public:
    explicit AnomalyMode(bool check_nan = true) noexcept : before_(detail::anomaly) {
        detail::anomaly.enabled = true;
        detail::anomaly.check_nan = check_nan;
    }
    AnomalyMode(AnomalyMode const&) = delete;
    AnomalyMode& operator=(AnomalyMode const&) = delete;
    ~AnomalyMode() {
        detail::anomaly.enabled = before_.enabled;
        detail::anomaly.check_nan = before_.check_nan;
    }

private:
    detail::AnomalyState before_;
};

inline Node::Node(std::uint64_t sequence) : sequence_(sequence) {
    if (detail::anomaly.enabled) [[unlikely]]
        detail::NodeHooks::made(*this).origin = detail::make_origin();
}

} // namespace xgrad
