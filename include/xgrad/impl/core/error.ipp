// Bodies of error.hpp.
#pragma once

#include <xgrad/core/error.hpp>

namespace xgrad::detail {

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

} // namespace xgrad::detail
