// The exceptions of xgrad, one type for each kind of mistake, and the functions that compose
// messages and throw.
//
// Shapes: messages have them in PyTorch's form: [2, 3].
// Gradients: none are recorded. VersionError protects them: backward() throws it where a saved
// tensor was changed.
// Errors: each type derives from Error, and Error derives from std::runtime_error.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
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

/// True for an element of a list that a message may have.
template <class N>
inline constexpr bool is_listed = std::same_as<std::remove_cvref_t<N>, std::size_t> ||
                                  std::same_as<std::remove_cvref_t<N>, std::ptrdiff_t>;

/// Guesses whether a count was a negative number before it became unsigned: no memory has as many
/// elements as the last quarter of these numbers.
constexpr bool was_negative(std::size_t n) noexcept { return n > ~(~std::size_t(0) / 4); }

/// A part of a message: text, a number, or integers that lie in memory, which are printed in
/// PyTorch's form "[2, 3]". It refers to text and lists, and must not outlive them.
class Piece {
public:
    Piece(std::string_view text) noexcept
        : kind_(Kind::text), from_(text.data()), value_(text.size()) {}
    Piece(std::string const& text) noexcept : Piece(std::string_view(text)) {}
    Piece(char const* text) noexcept : Piece(std::string_view(text)) {}
    template <std::integral N>
    Piece(N n) noexcept
        : kind_(std::is_signed_v<N> || (sizeof(N) == sizeof(std::size_t) &&
                                           was_negative(static_cast<std::size_t>(n)))
                    ? Kind::integer
                    : Kind::natural),
          value_(static_cast<std::uint64_t>(n)) {}
    Piece(double v) noexcept : kind_(Kind::real), value_(std::bit_cast<std::uint64_t>(v)) {}
    template <class List>
        requires requires(List const& list) { requires is_listed<decltype(*list.data())>; }
    Piece(List const& list) noexcept
        : kind_(Kind::integers), from_(list.data()), value_(list.size()) {}

    [[gnu::cold]] void append_to(std::string& message) const;

private:
    enum class Kind : std::uint8_t { text, natural, integer, real, integers };

    Kind kind_;
    void const* from_ = nullptr;
    std::uint64_t value_; // of a list or text, its length
};
[[gnu::cold]] std::string message_of(std::initializer_list<Piece> pieces);

/// How many examples the vmap() has that this thread is in: shapes in a message may be of all.
inline constinit thread_local std::size_t vmap_examples = 0;
[[gnu::cold]] std::string failure_of(std::initializer_list<Piece> pieces);

/// Throws E with the concatenated pieces. Cold and not inlined: a check costs its caller one
/// branch.
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(std::initializer_list<Piece> pieces) {
    throw E(failure_of(pieces));
}
#ifdef XGRAD_SEPARATE_COMPILATION
extern template void fail_with<Error>(std::initializer_list<Piece> pieces);
extern template void fail_with<ShapeError>(std::initializer_list<Piece> pieces);
extern template void fail_with<IndexError>(std::initializer_list<Piece> pieces);
extern template void fail_with<TypeError>(std::initializer_list<Piece> pieces);
extern template void fail_with<GraphError>(std::initializer_list<Piece> pieces);
#endif
template <class E = Error, class... Parts>
[[noreturn]] XGRAD_INLINE void fail(Parts const&... parts) {
    fail_with<E>({parts...});
}

/// Throws an Error that says which operand ("argument 1") is undefined and what makes a tensor
/// undefined. `operation` may have template arguments, which are cut:
/// "transpose<xgrad::Tensor<double> >".
[[noreturn, gnu::cold]] void fail_undefined(std::string_view operation, std::string_view what);
[[noreturn, gnu::cold]] void fail_undefined(
    std::string_view operation, std::string_view kind, std::size_t index);

} // namespace detail
} // namespace xgrad
