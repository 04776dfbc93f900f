// Bodies of names.hpp.
#pragma once

#include <xgrad/package/names.hpp>

namespace xgrad::package {

XGRAD_FUNCTION Pattern::Pattern(std::string text, char separator)
    : text_(std::move(text)), separator_(separator) {
    segments_ = split(text_);
    for (auto const segment : segments_) {
        if (segment.empty())
            detail::fail<PackageError>("the pattern '", text_, "' has an empty segment");
        if (segment.find("**") != segment.npos && segment != "**")
            detail::fail<PackageError>("the pattern '", text_, "': ** must be a whole segment");
    }
}

XGRAD_FUNCTION auto Pattern::split(std::string_view s) const -> Segments {
    Segments all;
    detail::every_segment(s, separator_, [&](std::string_view segment) {
        all.push_back(segment);
        return true;
    });
    return all;
}

XGRAD_FUNCTION bool Pattern::matches(std::size_t i, Segments const& name, std::size_t j) const {
    for (; i < segments_.size(); ++i, ++j) {
        if (segments_[i] == "**") {
            while (i + 1 < segments_.size() && segments_[i + 1] == "**") ++i;
            for (; j <= name.size(); ++j)
                if (matches(i + 1, name, j)) return true;
            return false;
        }
        if (j == name.size() || !matches_segment(segments_[i], name[j])) return false;
    }
    return j == name.size();
}

XGRAD_FUNCTION bool Pattern::matches_segment(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = pattern.npos, taken = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') star = p++, taken = t;
        else if (p < pattern.size() && pattern[p] == text[t]) ++p, ++t;
        else if (star != pattern.npos) p = star + 1, t = ++taken;
        else return false;
    }
    return pattern.find_first_not_of('*', p) == pattern.npos;
}

} // namespace xgrad::package

namespace xgrad::package::detail {

XGRAD_FUNCTION Glob::Glob(Patterns const& include, Patterns const& exclude, char separator) {
    for (auto const& text : include) include_.emplace_back(text, separator);
    for (auto const& text : exclude) exclude_.emplace_back(text, separator);
}

XGRAD_FUNCTION std::string Glob::text() const {
    std::string all;
    for (auto const& p : include_) all += (all.empty() ? "\"" : ", \"") + p.text() + '"';
    return all;
}

XGRAD_FUNCTION bool Glob::any(std::vector<Pattern> const& patterns, std::string_view name) {
    for (auto const& p : patterns)
        if (p.matches(name)) return true;
    return false;
}

} // namespace xgrad::package::detail
