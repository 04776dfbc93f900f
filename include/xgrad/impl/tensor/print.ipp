// Bodies of print.hpp.
#pragma once

#include <cstdio>

#include <xgrad/tensor/print.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY NumberFormat format_of(std::ios_base const& out) {
    auto const style = out.flags() & std::ios_base::floatfield;
    return {static_cast<int>(out.precision()), style == std::ios_base::fixed        ? 'f'
                                               : style == std::ios_base::scientific ? 'e'
                                                                                    : 'g'};
}

XGRAD_LAZY_BODY std::string number_text(double v, NumberFormat format) {
    if (v != v) return "nan"; // never "-nan"
    char const pattern[] = {'%', '.', '*', format.style, '\0'};
    char digits[32];
    auto const write = [&](char* to, std::size_t n) {
        return static_cast<std::size_t>(std::snprintf(to, n, pattern, format.precision, v));
    };
    std::size_t const n = write(digits, sizeof digits);
    if (n < sizeof digits) return {digits, n};
    std::string text(n, '0'); // many digits after the point, or a large number as a fixed one
    write(text.data(), n + 1);
    return text;
}

XGRAD_LAZY_BODY std::string grad_fn_text(AnyTensor const& t) {
    try {
        if (auto const* const node = t.grad_fn()) return ", grad_fn=<" + node->name() + ">";
    } catch (GraphError const&) { return ", grad_fn=<Invalid>"; }
    return t.requires_grad() ? ", requires_grad=true" : "";
}

} // namespace xgrad::detail
