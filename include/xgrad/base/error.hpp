// What xgrad throws: one exception type for each kind of mistake that a caller may want to tell apart.
#pragma once

#include <concepts>
#include <initializer_list>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <xgrad/base/config.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// Base of every exception that xgrad itself throws.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Shapes that do not fit together, or a shape that an operation cannot take.
struct ShapeError : Error {
    using Error::Error;
};
/// An axis, position or index out of range.
struct IndexError : Error {
    using Error::Error;
};
/// A scalar type that an operation cannot take, or two that had to be equal.
struct TypeError : Error {
    using Error::Error;
};
/// A call of backward() or grad() that the recorded graph cannot answer.
struct GraphError : Error {
    using Error::Error;
};
/// A tensor needed for the gradient was changed after it was saved.
struct VersionError : GraphError {
    using GraphError::GraphError;
};

namespace detail {

/// A piece of a message: text, a number, or a range of numbers in PyTorch's form "[2, 3]".
struct Piece {
    std::string text;

    Piece(std::string s) : text(std::move(s)) {}
    Piece(std::string_view s) : text(s) {}
    Piece(char const* s) : text(s) {}
    Piece(std::integral auto n) : text(std::to_string(n)) {}
    template <std::ranges::input_range Range>
        requires std::integral<std::ranges::range_value_t<Range>> && (!std::convertible_to<Range const&, std::string_view>)
    Piece(Range const& range) : text("[")
    {
        for (auto const n : range) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
        text += "]";
    }
};

/// Throws E with the pieces joined. Cold, so that a check costs its caller one branch.
template <class E = Error> [[noreturn, gnu::cold, gnu::noinline]] void fail_with(std::initializer_list<Piece> pieces)
{
    std::string message;
    for (auto const& piece : pieces) message += piece.text;
    throw E(message);
}
template <class E = Error, class... Parts> [[noreturn, gnu::cold, gnu::noinline]] void fail(Parts const&... parts) { fail_with<E>({Piece(parts)...}); }

}  // namespace detail
}  // namespace xgrad
