// Bodies of error.hpp.
#pragma once

#include <xgrad/core/error.hpp>

namespace xgrad::detail {

template <class N>
[[gnu::cold]] void append_list(std::string& message, N const* first, std::size_t count) {
    message += '[';
    for (std::size_t i = 0; i < count; ++i)
        message += (i == 0 ? "" : ", ") + std::to_string(first[i]);
    message += ']';
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
        append_text(message, {static_cast<char const*>(from_), count});
        break;
    case Kind::natural:
        message += std::to_string(value_);
        break;
    case Kind::integer:
        message += std::to_string(static_cast<std::int64_t>(value_));
        break;
    case Kind::naturals:
        append_list(message, static_cast<std::size_t const*>(from_), count);
        break;
    case Kind::integers:
        append_list(message, static_cast<std::ptrdiff_t const*>(from_), count);
    }
}

XGRAD_FUNCTION std::string message_of(std::initializer_list<Piece> pieces) {
    std::string message;
    for (auto const& piece : pieces) piece.append_to(message);
    return message;
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

} // namespace xgrad::detail
