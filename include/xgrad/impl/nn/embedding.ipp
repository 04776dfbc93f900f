// Bodies of embedding.hpp.
#pragma once

#include <xgrad/nn/embedding.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION std::int64_t padding_row(
    std::string_view name, std::optional<std::int64_t> index, std::size_t count) {
    auto const n = static_cast<std::int64_t>(count);
    if (index && (*index < -n || *index >= n))
        xgrad::detail::fail<IndexError>(
            name, ": padding_idx ", *index, " must be within ", n, " rows");
    return !index ? -1 : *index < 0 ? *index + n : *index;
}

} // namespace xgrad::nn::detail
