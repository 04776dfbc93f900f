// Choice: an argument that is one of several alternatives, given by its enumerator or by its name.
// Flag: an argument that is true or false.
//
// Errors: a name that is none of the alternatives is an Error, which lists them. A number in the
// place of a flag does not compile.
#pragma once

#include <xgrad/core/error.hpp>

namespace xgrad {

/// An argument that is true or false: a bool, and nothing that converts to one. In sum(x, 0, 1) the
/// 1 is meant as a second axis.
class Flag {
public:
    template <class B>
        requires std::is_arithmetic_v<B>
    XGRAD_INLINE constexpr Flag(B on) noexcept : on_(static_cast<bool>(on)) {
        static_assert(std::is_same_v<B, bool>,
            "a flag (keepdims, descending, upper, training) is true or false, and this is a "
            "number: several axes are a list, sum(x, {0, 1}); a correction comes after the flag, "
            "var(x, 0, false, 0)");
    }
    XGRAD_INLINE constexpr operator bool() const noexcept { return on_; }

private:
    bool on_;
};

namespace detail {
/// The position of a name in "option: first second third"; throws where it is not there.
std::size_t choice_named(std::string_view names, std::string_view name);
} // namespace detail

/// One of the alternatives of an enumeration E: `Reduction::sum` or "sum". A function
/// choice_names(E), found by its argument, returns the name of the option and those of the
/// enumerators, in their order: "reduction: none mean sum". Another name is an Error.
template <class E> class Choice {
public:
    using value_type = E;

    constexpr Choice(E value) noexcept : value_(value) {}
    template <std::convertible_to<std::string_view> Text>
    Choice(Text const& name)
        : value_(static_cast<E>(detail::choice_named(choice_names(E()), name))) {}
    constexpr operator E() const noexcept { return value_; }

private:
    E value_;
};

} // namespace xgrad
