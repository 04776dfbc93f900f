// parse_number(): std::from_chars, also for floating-point numbers where the standard library has
// it for integers only (libc++ before version 20).
#pragma once

#include <charconv>
#include <concepts>
#include <version>

#if !defined(__cpp_lib_to_chars)
#    include <algorithm>
#    include <cerrno>
#    include <clocale>
#    include <cstdlib>
#    include <cstring>
#    include <string>
#    include <string_view>
#    include <utility>
#endif

namespace xgrad::data::detail {

#if !defined(__cpp_lib_to_chars)
/// The end of the number that begins a text in the syntax of std::from_chars; the beginning where
/// there is none.
inline char const* end_of_number(char const* first, char const* last) {
    auto const digits = [last](char const* p) {
        return std::find_if_not(p, last, [](char c) { return c >= '0' && c <= '9'; });
    };
    char const* p = first + (first != last && *first == '-');
    for (std::string_view const name : {"infinity", "inf", "nan"})
        if (static_cast<std::size_t>(last - p) >= name.size() &&
            std::equal(name.begin(), name.end(), p, [](char a, char b) { return a == (b | 32); }))
            return p + name.size();
    char const* end = digits(p);
    bool any = end != p;
    if (end != last && *end == '.') {
        char const* const point = end;
        end = digits(point + 1);
        any = any || end != point + 1;
        if (!any) return first;
    }
    if (!any) return first;
    if (end != last && (*end == 'e' || *end == 'E')) {
        char const* e = end + 1;
        if (e != last && (*e == '+' || *e == '-')) ++e;
        if (char const* const exponent = digits(e); exponent != e) end = exponent;
    }
    return end;
}

/// The C library converts, which reads the decimal point of the current locale.
template <std::floating_point T>
std::from_chars_result parse_number(char const* first, char const* last, T& value) {
    char const* const end = end_of_number(first, last);
    if (end == first) return {first, std::errc::invalid_argument};
    std::string text(first, end);
    if (auto const point = text.find('.'); point != text.npos)
        text.replace(point, 1, std::localeconv()->decimal_point);
    int const before = std::exchange(errno, 0);
    T const found = std::same_as<T, float> ? static_cast<T>(std::strtof(text.c_str(), nullptr))
                                           : static_cast<T>(std::strtod(text.c_str(), nullptr));
    // For a subnormal number, which is inside, the C library may report ERANGE, too.
    bool const is_outside =
        std::exchange(errno, before) == ERANGE && (found == 0 || found - found != 0);
    if (is_outside) return {end, std::errc::result_out_of_range};
    value = found;
    return {end, std::errc()};
}
template <std::integral T>
std::from_chars_result parse_number(char const* first, char const* last, T& value) {
    return std::from_chars(first, last, value);
}
#else
template <class T>
std::from_chars_result parse_number(char const* first, char const* last, T& value) {
    return std::from_chars(first, last, value);
}
#endif

} // namespace xgrad::data::detail
