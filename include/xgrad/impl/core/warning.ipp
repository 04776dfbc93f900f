// Bodies of warning.hpp.
#pragma once

#include <xgrad/core/warning.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void warn_of(std::string text) {
    auto& warnings = Warnings::all();
    std::unique_lock lock(warnings.mutex);
    if (auto const handler = warnings.handler) {
        lock.unlock();
        handler(text);
    } else if (std::find(warnings.printed.begin(), warnings.printed.end(), text) ==
               warnings.printed.end()) {
        std::fprintf(stderr, "xgrad: warning: %s\n", text.c_str());
        warnings.printed.push_back(std::move(text));
    }
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION WarningHandler set_warning_handler(WarningHandler handler) {
    auto& warnings = detail::Warnings::all();
    std::lock_guard const lock(warnings.mutex);
    return std::exchange(warnings.handler, std::move(handler));
}

} // namespace xgrad
