// Bodies of element.hpp.
#pragma once

#include <xgrad/data/element.hpp>

namespace xgrad::data::detail {

XGRAD_FUNCTION std::optional<std::size_t> convert_bool(
    std::byte const* from, std::byte* to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        if (from[i] > std::byte{1}) return i;
        to[i] = from[i];
    }
    return {};
}

XGRAD_FUNCTION float float_of_half(std::uint16_t h) noexcept {
    std::uint32_t const sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u,
                        mantissa = h & 1023u;
    if (exponent == 0) return (sign ? -1.f : 1.f) * static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(
        sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}

XGRAD_FUNCTION Element const* element_of(
    std::string_view Element::*format, std::string_view name) noexcept {
    for (auto const& e : elements)
        if (!name.empty() && e.*format == name) return &e;
    return nullptr;
}

XGRAD_FUNCTION Element const& element_of(DType t) noexcept {
    for (auto const& e : elements)
        if (e.dtype == t && (!e.convert || t == DType::boolean)) return e;
    return elements.back();
}

XGRAD_FUNCTION xgrad::detail::TypeInfo const& type_info_of(DType t) noexcept {
    switch (t) {
    case DType::boolean:
        return xgrad::detail::type_info<bool>;
    case DType::int64:
        return xgrad::detail::type_info<std::int64_t>;
    case DType::float32:
        return xgrad::detail::type_info<float>;
    case DType::float64:
        return xgrad::detail::type_info<double>;
    case DType::complex64:
        return xgrad::detail::type_info<std::complex<float>>;
    default:
        return xgrad::detail::type_info<std::complex<double>>;
    }
}

XGRAD_FUNCTION std::optional<std::uint64_t> bytes_of(
    Shape const& shape, std::size_t element) noexcept {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
    std::uint64_t bytes = 16 * element; // elements may become wider, hence 16 times
    for (std::uint64_t const extent : shape) {
        if (extent > 1 && bytes > most / extent) return {};
        if (extent > 1) bytes *= extent;
    }
    return xgrad::numel(shape) == 0 ? 0 : bytes / 16;
}

XGRAD_FUNCTION void swap_bytes(std::byte* at, std::size_t unit, std::size_t bytes) noexcept {
    for (auto const* const end = at + bytes; unit > 1 && at != end; at += unit)
        std::reverse(at, at + unit);
}

XGRAD_FUNCTION AnyTensor read_tensor(
    Input const& in, std::uint64_t offset, Element const& e, bool swapped, Shape const& shape) {
    AnyTensor t(xgrad::detail::TensorImpl::make(type_info_of(e.dtype), shape));
    auto* to = t.impl().array.data;
    std::size_t const n = t.numel();
    if (!e.convert) {
        in.read(offset, to, n * e.size, "the elements");
        if (swapped) swap_bytes(to, e.unit, n * e.size);
        return t;
    }
    std::vector<std::byte> part(std::min<std::size_t>(n, 1 << 14) * e.size);
    std::size_t const width = t.impl().type->size;
    for (std::size_t done = 0, count = 0; done < n; done += count) {
        count = std::min<std::size_t>(n - done, 1 << 14);
        in.read(offset + done * e.size, part.data(), count * e.size, "the elements");
        if (swapped) swap_bytes(part.data(), e.unit, count * e.size);
        if (auto const wrong = e.convert(part.data(), to + done * width, count))
            in.fail_at(offset + (done + *wrong) * e.size,
                e.dtype == DType::boolean ? "a truth value that is neither 0 nor 1"
                                          : "an integer that is too large for int64");
    }
    return t;
}

} // namespace xgrad::data::detail
