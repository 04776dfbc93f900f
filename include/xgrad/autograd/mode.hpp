// Grad mode and inference mode: thread-local flags, and guards that set them for a scope and
// restore them at its end, also after an exception.
//
// Gradients: none are recorded in the scope of a NoGradGuard, AutoGradMode(false) or InferenceMode.
// Errors: none here. An inference tensor that is saved for backward, or changed in place outside of
// an InferenceMode, is a GraphError there.
#pragma once

#include <utility>

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

/// Gives a variable another value for a scope.
template <class T> class ScopedValue {
public:
    XGRAD_GUARD ScopedValue(T& variable, T value) noexcept
        : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
    ScopedValue(ScopedValue const&) = delete;
    ScopedValue& operator=(ScopedValue const&) = delete;
    ~ScopedValue() { variable_ = std::move(before_); }

private:
    T& variable_;
    T before_;
};
class DifferentiatedScope : ScopedValue<bool> {
public:
    XGRAD_GUARD explicit DifferentiatedScope(bool value = true) noexcept
        : ScopedValue(differentiated, value) {}
};
} // namespace detail

/// Grad mode of the calling thread, which starts with true. Nothing is recorded where it is false,
/// nor inside an InferenceMode.
inline bool is_grad_enabled() noexcept { return detail::grad_mode; }
/// True inside an InferenceMode; a new thread starts with false.
inline bool is_inference_mode_enabled() noexcept { return detail::inference_mode; }

/// Sets grad mode for its scope.
class AutoGradMode : detail::ScopedValue<bool> {
public:
    XGRAD_GUARD explicit AutoGradMode(bool enabled) noexcept
        : ScopedValue(detail::grad_mode, enabled) {}
};

namespace detail {
/// The modes of a pass: with create_graph its operations are recorded, to be differentiated.
class PassMode {
public:
    XGRAD_GUARD explicit PassMode(bool create_graph) noexcept
        : grad_mode_(grad_mode, create_graph), differentiated_(differentiated, create_graph) {}

private:
    ScopedValue<bool> grad_mode_, differentiated_;
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
        : grad_mode_(detail::grad_mode, !enabled), inference_(detail::inference_mode, enabled) {}

private:
    detail::ScopedValue<bool> grad_mode_, inference_;
};

} // namespace xgrad
