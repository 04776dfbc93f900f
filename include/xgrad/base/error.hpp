// What xgrad throws: one exception type for each kind of mistake that a caller may want to tell apart.
#pragma once

#include <concepts>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>

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

inline std::string text(std::string_view s) { return std::string(s); }
inline std::string text(char c) { return std::string(1, c); }
inline std::string text(std::integral auto n) { return std::to_string(n); }

/// "[2, 3]", as PyTorch prints a size.
template <std::ranges::input_range Range>
    requires std::integral<std::ranges::range_value_t<Range>> && (!std::convertible_to<Range, std::string_view>)
std::string text(Range const& range)
{
    std::string s = "[";
    for (auto const n : range) s += (s.size() > 1 ? ", " : "") + std::to_string(n);
    return s + "]";
}

/// Throws E with its parts joined; kept out of line so that a check costs its caller one branch.
template <class E = Error, class... Parts> [[noreturn, gnu::cold, gnu::noinline]] void fail(Parts const&... parts)
{
    throw E((text(parts) + ...));
}

}  // namespace detail
}  // namespace xgrad
