// Bodies of choice.hpp.
#pragma once

#include <xgrad/core/choice.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::size_t choice_named(std::string_view names, std::string_view name) {
    auto const colon = names.find(':');
    std::string_view const option = names.substr(0, colon);
    std::string all;
    for (std::size_t i = 0, at = colon + 2; at < names.size(); ++i) {
        auto const end = std::min(names.find(' ', at), names.size());
        auto const candidate = names.substr(at, end - at);
        if (candidate == name) return i;
        all += (all.empty() ? "" : ", ") + std::string(candidate);
        at = end + 1;
    }
    fail(option, ": there is no '", name, "', only ", all);
}

} // namespace xgrad::detail
