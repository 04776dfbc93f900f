// Warnings about calls that are allowed and probably a mistake. A handler of the user receives
// them.
#pragma once

#include <functional>
#include <string>

#include <xgrad/core/error.hpp>

namespace xgrad {

/// A function that gets the text of each warning: see set_warning_handler().
using WarningHandler = std::function<void(std::string const&)>;

namespace detail {

[[gnu::cold]] void warn_of(std::string text);
/// Passes the concatenated pieces to the handler. Without a handler, prints each text once to
/// stderr.
template <class... Parts> XGRAD_INLINE void warn(Parts const&... parts) {
    warn_of(message_of({parts...}));
}

} // namespace detail

/// Warnings of all threads go to `handler` from now on; an empty one prints them to stderr, each
/// text once. Returns the handler before.
WarningHandler set_warning_handler(WarningHandler handler);

} // namespace xgrad
