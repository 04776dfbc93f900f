// Bodies of error.hpp, choice.hpp and warning.hpp.
#pragma once

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

#include <xgrad/core/choice.hpp>
#include <xgrad/core/error.hpp>
#include <xgrad/core/warning.hpp>

namespace xgrad::detail {

[[gnu::cold]] inline void append_number(std::string& message, char const* format, auto n) {
    char digits[32];
    int const length = std::snprintf(digits, sizeof digits, format, n);
    message.append(digits, static_cast<std::size_t>(length));
}

/// A NUL, where what() would end, becomes two characters.
[[gnu::cold]] inline void append_text(std::string& message, std::string_view text) {
    for (char const c : text) {
        if (c != 0) message += c;
        else message += "\\0";
    }
}

XGRAD_FUNCTION void Piece::append_to(std::string& message) const {
    auto const count = static_cast<std::size_t>(value_);
    switch (kind_) {
    case Kind::text:
        return append_text(message, {static_cast<char const*>(from_), count});
    case Kind::natural:
        return append_number(message, "%llu", static_cast<unsigned long long>(value_));
    case Kind::integer:
        return append_number(message, "%lld", static_cast<long long>(value_));
    case Kind::real: // never "-nan"
        if (double const v = std::bit_cast<double>(value_); v == v)
            return append_number(message, "%g", v);
        return append_text(message, "nan");
    default:
        message += '[';
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0) message += ", ";
            Piece(static_cast<std::ptrdiff_t const*>(from_)[i]).append_to(message);
        }
        message += ']';
    }
}

XGRAD_FUNCTION std::string message_of(std::initializer_list<Piece> pieces) {
    std::string message;
    for (auto const& piece : pieces) piece.append_to(message);
    return message;
}

XGRAD_FUNCTION std::string failure_of(std::initializer_list<Piece> pieces) {
    return message_of(pieces) +
           (vmap_examples ? message_of({" (inside vmap(), for ", vmap_examples, " examples)"})
                          : "");
}

XGRAD_NOINLINE XGRAD_FUNCTION void fail_undefined(
    std::string_view operation, std::string_view what) {
    auto const name =
        operation.starts_with("operator") ? operation : operation.substr(0, operation.find('<', 1));
    fail<Error>(name, ": ", what,
        " is undefined: it was default-constructed, moved from or released, or it is the grad() "
        "of a tensor that no backward pass has reached");
}

XGRAD_NOINLINE XGRAD_FUNCTION void fail_undefined(
    std::string_view operation, std::string_view kind, std::size_t index) {
    fail_undefined(operation, message_of({kind, " ", index}));
}

XGRAD_FUNCTION std::size_t choice_named(std::string_view names, std::string_view name) {
    auto const colon = names.find(':');
    std::string_view const option = names.substr(0, colon);
    std::string all;
    for (std::size_t i = 0, at = colon + 2; at < names.size(); ++i) {
        auto const end = std::min(names.find(' ', at), names.size());
        auto const candidate = names.substr(at, end - at);
        if (candidate == name) return i;
        all += (all.empty() ? "" : ", ") + std::string(candidate);
        at = end + 1;
    }
    fail(option, ": there is no '", name, "', only ", all);
}

struct Warnings {
    std::mutex mutex;
    WarningHandler handler;
    std::vector<std::string> printed;
};
inline Warnings& all_warnings() {
    static Warnings all;
    return all;
}

XGRAD_FUNCTION void warn_of(std::string text) {
    auto& warnings = all_warnings();
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
    auto& warnings = detail::all_warnings();
    std::lock_guard const lock(warnings.mutex);
    return std::exchange(warnings.handler, std::move(handler));
}

} // namespace xgrad
