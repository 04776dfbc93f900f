// The exceptions of xgrad, one type for each kind of mistake, and the functions that compose
// messages and throw.
//
// Shapes: messages have them in PyTorch's form: [2, 3].
// Gradients: none are recorded. VersionError protects them: backward() throws it where a saved
// tensor was changed.
// Errors: each type derives from Error, and Error derives from std::runtime_error.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <xgrad/core/link_check.hpp>

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
/// A graph that does not allow a call: of backward() and grad(), of hooks, of a change in place.
struct GraphError : Error {
    using Error::Error;
};
/// A tensor needed for the gradient was changed after it was saved.
struct VersionError : GraphError {
    using GraphError::GraphError;
};

namespace detail {

/// Appends text, a number, or a range of numbers in PyTorch's form "[2, 3]" to a message.
inline void append_piece(std::string& message, std::string_view text) { message += text; }
void append_piece(std::string& message, std::integral auto n) { message += std::to_string(n); }
template <std::ranges::input_range Range>
    requires std::integral<std::ranges::range_value_t<Range>> &&
             (!std::convertible_to<Range const&, std::string_view>)
[[gnu::cold]] void append_piece(std::string& message, Range const& range) {
    char const* separator = "[";
    for (auto const n : range) message += std::exchange(separator, ", ") + std::to_string(n);
    message += range.begin() == range.end() ? "[]" : "]";
}

/// A reference to an argument of a message, formatted only if the message is thrown. It must not
/// outlive the argument.
class Piece {
public:
    Piece(char const* text) noexcept
        : of_(text), append_([](std::string& message, void const* of) {
              append_piece(message, static_cast<char const*>(of));
          }) {}
    template <class T>
    Piece(T const& of) noexcept
        : of_(&of), append_([](std::string& message, void const* o) {
              append_piece(message, *static_cast<T const*>(o));
          }) {}

    void append_to(std::string& message) const { append_(message, of_); }

private:
    void const* of_;
    void (*append_)(std::string& message, void const* of);
};
[[gnu::cold]] std::string message_of(std::initializer_list<Piece> pieces);

/// Throws E with the concatenated pieces. Cold and not inlined: a check costs its caller one
/// branch.
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(std::initializer_list<Piece> pieces) {
    throw E(message_of(pieces));
}
template <class E = Error, class... Parts>
[[noreturn]] XGRAD_INLINE void fail(Parts const&... parts) {
    fail_with<E>({parts...});
}

/// The name of the calling function, for messages: the default argument of a parameter `Caller in =
/// {}`.
struct Caller {
    char const* name;
    constexpr Caller(char const* function = __builtin_FUNCTION()) noexcept : name(function) {}
};

/// Throws an Error that says which operand ("argument 1") is undefined and what makes a tensor
/// undefined. `operation` may have template arguments, which are cut:
/// "transpose<xgrad::Tensor<double> >".
[[noreturn, gnu::cold]] void fail_undefined(std::string_view operation, std::string_view what);
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_undefined(
    std::string_view operation, std::string_view kind, std::size_t index) {
    fail_undefined(operation, message_of({kind, " ", index}));
}

} // namespace detail
} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/core/error.ipp>
#endif
