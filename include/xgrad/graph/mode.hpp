// Whether operations are recorded: a switch of each thread, and guards that set and restore it.
#pragma once

namespace xgrad {

namespace detail {
inline constinit thread_local bool grad_mode = true;
}

/// True where operations on the calling thread are recorded; a new thread starts with true.
inline bool is_grad_enabled() noexcept { return detail::grad_mode; }

/// Sets grad mode for its scope, and restores it at the end, also after an exception.
class AutoGradMode {
public:
    explicit AutoGradMode(bool enabled) noexcept : before_(detail::grad_mode) { detail::grad_mode = enabled; }
    AutoGradMode(AutoGradMode const&) = delete;
    AutoGradMode& operator=(AutoGradMode const&) = delete;
    ~AutoGradMode() { detail::grad_mode = before_; }

private:
    bool before_;
};

/// Nothing is recorded in its scope.
class NoGradGuard : AutoGradMode {
public:
    NoGradGuard() noexcept : AutoGradMode(false) {}
};

/// Operations are recorded in its scope, also inside a NoGradGuard's.
class EnableGradGuard : AutoGradMode {
public:
    EnableGradGuard() noexcept : AutoGradMode(true) {}
};

}  // namespace xgrad
