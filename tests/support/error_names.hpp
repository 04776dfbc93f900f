// What an error says: the function as the program writes it, and the shapes that matter.
#pragma once

#include <doctest/doctest.h>

#include <support/values.hpp>

namespace support {

using Parts = std::initializer_list<std::string_view>;

/// Nothing where f's error begins with "name: " and has all the parts; else what it says.
template <class F> std::string complaint(std::string const& name, Parts parts, F f) {
    auto const text = message_of(f);
    if (!text.starts_with(name + ": ")) return text;
    for (auto const part : parts)
        if (text.find(part) == text.npos) return text;
    return "";
}
/// NAMES("sum", ({"axis 5", "[2, 3]"}), sum(x, {5})): an error with this name and these parts.
#define NAMES(name, parts, ...) CHECK(complaint(name, Parts parts, [&] { __VA_ARGS__; }) == "")
/// UNDEFINED("exp", D(exp(u))): the error of a call says what it is undefined for.
#define UNDEFINED(name, ...)                                                                       \
    NAMES(name, ({"is undefined: it was default-constructed"}), __VA_ARGS__)

} // namespace support
