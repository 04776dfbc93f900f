// Names in packages, "acme.vision.Block": identifiers with dots between them; and patterns of
// names.
//
// Errors: a pattern with an empty segment, or with ** in a part of one, is a PackageError. Both
// exceptions of packages are here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/core/error.hpp>

namespace xgrad::package {

/// A package that cannot be written or used as it was asked for.
struct PackageError : Error {
    using Error::Error;
};
/// A rule with `.allow_empty = false` that matched nothing.
struct EmptyMatchError : PackageError {
    using PackageError::PackageError;
};

/// A string literal as a template argument.
template <std::size_t N> struct Name {
    char text[N]; // with the terminating zero
    consteval Name(char const (&literal)[N]) {
        for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
    }
    /// The characters without the terminating zero.
    constexpr std::string_view view() const { return {text, N - 1}; }
};

namespace detail {

using xgrad::detail::fail;

constexpr bool is_identifier(std::string_view s) {
    auto const begins = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (s.empty() || !begins(s[0])) return false;
    for (char const c : s)
        if (!begins(c) && !(c >= '0' && c <= '9')) return false;
    return true;
}
/// Where this character is, or the size. std::string_view::find is no constant expression with the
/// undefined behaviour sanitizer of g++ 12.
constexpr std::size_t position_of(char c, std::string_view s) {
    std::size_t at = 0;
    while (at < s.size() && s[at] != c) ++at;
    return at;
}
/// Calls f(segment) for each part between dots; false as soon as f is.
template <class F> constexpr bool every_segment(std::string_view s, char separator, F f) {
    for (;;) {
        auto const end = position_of(separator, s);
        if (!f(s.substr(0, end))) return false;
        if (end == s.size()) return true;
        s.remove_prefix(end + 1);
    }
}
/// Identifiers with dots between them; at least one dot in the name of a type.
constexpr bool is_dotted(std::string_view s) { return every_segment(s, '.', is_identifier); }
constexpr bool is_type_name(std::string_view s) {
    return is_dotted(s) && position_of('.', s) < s.size();
}

} // namespace detail

/// A pattern of names: `*` stands for any part of one segment, the segment `**` for any number of
/// segments (none included). "torch.**" matches "torch" and all below it.
class Pattern {
public:
    explicit Pattern(std::string text, char separator = '.');
    Pattern(Pattern const& o) : Pattern(o.text_, o.separator_) {}
    Pattern& operator=(Pattern const&) = delete;

    /// The pattern as it was written.
    std::string const& text() const noexcept { return text_; }
    /// True where the whole name fits the pattern.
    bool matches(std::string_view name) const { return matches(0, split(name), 0); }

private:
    using Segments = std::vector<std::string_view>;

    Segments split(std::string_view s) const;
    bool matches(std::size_t i, Segments const& name, std::size_t j) const;
    /// The last `*` takes one more character each time that what follows it does not match.
    static bool matches_segment(std::string_view pattern, std::string_view text);

    std::string text_;
    char separator_;
    Segments segments_;
};

/// One pattern, or several in braces.
struct Patterns : std::vector<std::string> {
    Patterns() = default;
    Patterns(char const* one) : vector{one} {}
    Patterns(std::string one) : vector{std::move(one)} {}
    Patterns(std::initializer_list<char const*> several) : vector(several.begin(), several.end()) {}
    Patterns(std::vector<std::string> several) : vector(std::move(several)) {}
};

namespace detail {

/// Whether any of these patterns matches, and none of those that are excluded.
class Glob {
public:
    Glob(Patterns const& include, Patterns const& exclude, char separator = '.');
    bool matches(std::string_view name) const {
        return any(include_, name) && !any(exclude_, name);
    }
    /// As it was written in a call: `"a.**", "b"`.
    std::string text() const;

private:
    static bool any(std::vector<Pattern> const& patterns, std::string_view name);
    std::vector<Pattern> include_, exclude_;
};

} // namespace detail
} // namespace xgrad::package
