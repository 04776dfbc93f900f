// The element types of arrays in files, and the scalar types that they become: integers of any
// width become int64, floating-point types narrower than float32 become float32.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include <xgrad/data/file.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::data::detail {

/// An element type of files: its names in the formats (empty if a format does not have it), its
/// size, and the scalar type that it becomes.
struct Element {
    std::string_view numpy, safetensors;
    std::size_t size;
    DType dtype;
    std::size_t unit; // the unit of byte order: half of a complex element
    /// Converts elements of the file, in the byte order of this machine, to elements of a tensor;
    /// returns the index of an element without a value of that type.
    std::optional<std::size_t> (*convert)(std::byte const* from, std::byte* to, std::size_t n);
};

template <class From, class To>
std::optional<std::size_t> convert_numbers(std::byte const* from, std::byte* to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        From v;
        std::memcpy(&v, from + i * sizeof(From), sizeof v);
        if constexpr (std::same_as<From, std::uint64_t>)
            if (v > std::uint64_t(std::numeric_limits<std::int64_t>::max())) return i;
        auto const converted = static_cast<To>(v);
        std::memcpy(to + i * sizeof(To), &converted, sizeof converted);
    }
    return {};
}
std::optional<std::size_t> convert_bool(std::byte const* from, std::byte* to, std::size_t n);
/// binary16 of IEEE 754: a sign, 5 bits of exponent, 10 of mantissa.
float float_of_half(std::uint16_t h) noexcept;
/// The upper half of a binary32.
inline float float_of_bfloat16(std::uint16_t h) noexcept {
    return std::bit_cast<float>(std::uint32_t(h) << 16);
}
template <float (*convert)(std::uint16_t) noexcept>
std::optional<std::size_t> convert_halves(std::byte const* from, std::byte* to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t h;
        std::memcpy(&h, from + 2 * i, 2);
        float const v = convert(h);
        std::memcpy(to + 4 * i, &v, 4);
    }
    return {};
}

inline constexpr std::array elements{
    Element{"b1", "BOOL", 1, DType::boolean, 1, convert_bool},
    Element{"i1", "I8", 1, DType::int64, 1, convert_numbers<std::int8_t, std::int64_t>},
    Element{"u1", "U8", 1, DType::int64, 1, convert_numbers<std::uint8_t, std::int64_t>},
    Element{"i2", "I16", 2, DType::int64, 2, convert_numbers<std::int16_t, std::int64_t>},
    Element{"u2", "U16", 2, DType::int64, 2, convert_numbers<std::uint16_t, std::int64_t>},
    Element{"i4", "I32", 4, DType::int64, 4, convert_numbers<std::int32_t, std::int64_t>},
    Element{"u4", "U32", 4, DType::int64, 4, convert_numbers<std::uint32_t, std::int64_t>},
    Element{"i8", "I64", 8, DType::int64, 8, nullptr},
    Element{"u8", "U64", 8, DType::int64, 8, convert_numbers<std::uint64_t, std::int64_t>},
    Element{"f2", "F16", 2, DType::float32, 2, convert_halves<float_of_half>},
    Element{"", "BF16", 2, DType::float32, 2, convert_halves<float_of_bfloat16>},
    Element{"f4", "F32", 4, DType::float32, 4, nullptr},
    Element{"f8", "F64", 8, DType::float64, 8, nullptr},
    Element{"c8", "C64", 8, DType::complex64, 4, nullptr},
    Element{"c16", "", 16, DType::complex128, 8, nullptr},
};

/// The element type of this name in a format; null if there is none.
Element const* element_of(std::string_view Element::*format, std::string_view name) noexcept;
/// The element type with which a tensor's elements are written without conversion.
Element const& element_of(DType t) noexcept;

xgrad::detail::TypeInfo const& type_info_of(DType t) noexcept;

/// The largest number of axes in a file, as in NumPy.
inline constexpr std::size_t max_axes = 64;

/// The bytes of an array. Throws if a stride of it, also of an empty array, would overflow.
std::optional<std::uint64_t> bytes_of(Shape const& shape, std::size_t element) noexcept;

void swap_bytes(std::byte* at, std::size_t unit, std::size_t bytes) noexcept;

/// A new tensor from elements in row-major order at an offset. The caller has checked that the file
/// has them.
AnyTensor read_tensor(
    Input const& in, std::uint64_t offset, Element const& e, bool swapped, Shape const& shape);

/// The elements in row-major order, in memory.
inline AnyTensor contiguous(AnyTensor const& t) {
    return t.is_contiguous() ? t : xgrad::detail::value_copy(t);
}

/// A tensor of a file as one of T: precision is converted, and real elements become complex.
template <Scalar T> Tensor<T> converted(AnyTensor const& t, std::string const& file) {
    if (!xgrad::detail::converts(t.dtype(), dtype_of<T>))
        fail<TypeError>(file, ": has elements of type ", name(t.dtype()), ", which do not become ",
            name(dtype_of<T>), " by themselves; load them as they are and cast");
    return t.dtype() == dtype_of<T>
               ? t.as<T>()
               : xgrad::detail::converted_copy(t, xgrad::detail::type_info<T>).template as<T>();
}

} // namespace xgrad::data::detail
