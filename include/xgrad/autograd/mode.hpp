// Grad mode and inference mode: thread-local flags, and guards that set them for a scope and
// restore them at its end, also after an exception.
//
// Gradients: none are recorded in the scope of a NoGradGuard, AutoGradMode(false) or InferenceMode.
// Errors: none here. An inference tensor that is saved for backward, or changed in place outside of
// an InferenceMode, is a GraphError there.
#pragma once

#include <xgrad/core/config.hpp>

namespace xgrad {

namespace detail {
inline constinit thread_local bool grad_mode = true;
inline constinit thread_local bool inference_mode = false;
/// True where operations are recorded. Inference mode overrides grad mode.
inline bool recording() noexcept { return grad_mode && !inference_mode; }

/// True where the recorded graph will be differentiated: in a function that a transform calls, and
/// in a pass with create_graph. It is the default of create_graph in transforms, so that they can
/// be nested without arguments.
inline constinit thread_local bool differentiated = false;

class DifferentiatedScope {
public:
    XGRAD_GUARD explicit DifferentiatedScope(bool value = true) noexcept : before_(differentiated) {
        differentiated = value;
    }
    DifferentiatedScope(DifferentiatedScope const&) = delete;
    DifferentiatedScope& operator=(DifferentiatedScope const&) = delete;
    ~DifferentiatedScope() { differentiated = before_; }

private:
    bool before_;
};
} // namespace detail

/// Grad mode of the calling thread, which starts with true. Nothing is recorded where it is false,
/// nor inside an InferenceMode.
inline bool is_grad_enabled() noexcept { return detail::grad_mode; }
/// True inside an InferenceMode; a new thread starts with false.
inline bool is_inference_mode_enabled() noexcept { return detail::inference_mode; }

/// Sets grad mode for its scope.
class AutoGradMode {
public:
    XGRAD_GUARD explicit AutoGradMode(bool enabled) noexcept : before_(detail::grad_mode) {
        detail::grad_mode = enabled;
    }
    AutoGradMode(AutoGradMode const&) = delete;
    AutoGradMode& operator=(AutoGradMode const&) = delete;
    ~AutoGradMode() { detail::grad_mode = before_; }

private:
    bool before_;
};

namespace detail {
/// The modes of a pass: with create_graph its operations are recorded, to be differentiated.
class PassMode : AutoGradMode, DifferentiatedScope {
public:
    XGRAD_GUARD explicit PassMode(bool create_graph) noexcept
        : AutoGradMode(create_graph), DifferentiatedScope(create_graph) {}
};
} // namespace detail

/// Nothing is recorded in its scope.
class NoGradGuard : AutoGradMode {
public:
    XGRAD_GUARD NoGradGuard() noexcept : AutoGradMode(false) {}
};

/// Operations are recorded in its scope, also inside a NoGradGuard's.
class EnableGradGuard : AutoGradMode {
public:
    XGRAD_GUARD EnableGradGuard() noexcept : AutoGradMode(true) {}
};

/// Tensors created in its scope are inference tensors: they never take part in a recorded graph,
/// have no version counter and cannot be saved for backward. InferenceMode(false) disables it for
/// an inner scope.
class InferenceMode {
public:
    XGRAD_GUARD explicit InferenceMode(bool enabled = true) noexcept
        : grad_(!enabled), before_(detail::inference_mode) {
        detail::inference_mode = enabled;
    }
    InferenceMode(InferenceMode const&) = delete;
    InferenceMode& operator=(InferenceMode const&) = delete;
    ~InferenceMode() { detail::inference_mode = before_; }

private:
    AutoGradMode grad_;
    bool before_;
};

} // namespace xgrad
