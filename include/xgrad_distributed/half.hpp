// The two formats of 16 bits in which gradients travel, and their reductions as operations of MPI.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <xgrad_distributed/future.hpp>

namespace xgrad::distributed::detail {

/// IEEE binary16: 10 bits of fraction, up to 65504.
struct Float16 {
    static constexpr std::string_view name = "float16";

    /// Rounds to the nearest, to even in a tie. All cases are computed and one is selected, so that
    /// loops are vectorised.
    static std::uint16_t encode(float value) noexcept {
        constexpr std::uint32_t infinity = 0x7f800000, overflow = 0x477ff000 /* 65520 */,
                                min_normal = 0x38800000 /* 2^-14 */;
        auto const bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffffu;
        // beside 0.5 a float has steps of 2^-24, as binary16 has below its normal numbers
        auto const subnormal =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
            std::bit_cast<std::uint32_t>(0.5f);
        auto const normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
        std::uint32_t rest = magnitude < min_normal ? subnormal : normal;
        rest = magnitude >= overflow ? 0x7c00u : rest;
        rest = magnitude > infinity ? 0x7e00u : rest;
        return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | rest);
    }
    static float decode(std::uint16_t h) noexcept {
        std::uint32_t const exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
        auto const subnormal = std::bit_cast<std::uint32_t>(
            static_cast<float>(static_cast<std::int32_t>(fraction)) * 0x1p-24f);
        auto const normal = (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
        auto const magnitude = exponent == 0 ? subnormal : normal;
        return std::bit_cast<float>((h & 0x8000u) << 16 | magnitude);
    }
};

/// The upper half of a float: 7 bits of fraction, and its range.
struct BFloat16 {
    static constexpr std::string_view name = "bfloat16";

    static std::uint16_t encode(float value) noexcept {
        auto const bits = std::bit_cast<std::uint32_t>(value);
        if (xgrad::detail::is_nan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
        return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    static float decode(std::uint16_t h) noexcept {
        return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
    }
};

/// A reduction of numbers in this format, rounded after each step.
template <class Format, Reduction by> MPI_Op half_op() {
    static MPI_Op const op = [] {
        MPI_Op made = MPI_OP_NULL;
        auto* const reduce = +[](void* in, void* inout, int* n, MPI_Datatype*) {
            auto const* const from = static_cast<std::uint16_t const*>(in);
            auto* const to = static_cast<std::uint16_t*>(inout);
            for (int i = 0; i < *n; ++i) {
                float const a = Format::decode(to[i]), b = Format::decode(from[i]);
                if constexpr (by == Reduction::sum) to[i] = Format::encode(a + b);
                else if constexpr (by == Reduction::product) to[i] = Format::encode(a * b);
                else if constexpr (by == Reduction::min) to[i] = b < a ? from[i] : to[i];
                else to[i] = b > a ? from[i] : to[i];
            }
        };
        check(MPI_Op_create(reduce, 1, &made), "MPI_Op_create");
        return made;
    }();
    return op;
}

template <class Format, class T> void encode_all(T const* x, std::size_t n, std::uint16_t* codes) {
    for (std::size_t i = 0; i < n; ++i) codes[i] = Format::encode(static_cast<float>(x[i]));
}
template <class Format, class T> void decode_all(std::uint16_t const* codes, std::size_t n, T* x) {
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(Format::decode(codes[i]));
}

/// A format of 16 bits, as tables of its functions.
struct HalfFormat {
    std::string_view name;
    void (*encode_float)(float const*, std::size_t, std::uint16_t*);
    void (*encode_double)(double const*, std::size_t, std::uint16_t*);
    void (*decode_float)(std::uint16_t const*, std::size_t, float*);
    void (*decode_double)(std::uint16_t const*, std::size_t, double*);
    MPI_Op (*ops[4])(); // by Reduction

    void encode(float const* x, std::size_t n, std::uint16_t* to) const { encode_float(x, n, to); }
    void encode(double const* x, std::size_t n, std::uint16_t* to) const {
        encode_double(x, n, to);
    }
    void decode(std::uint16_t const* x, std::size_t n, float* to) const { decode_float(x, n, to); }
    void decode(std::uint16_t const* x, std::size_t n, double* to) const {
        decode_double(x, n, to);
    }
};
template <class Format>
inline constexpr HalfFormat half_format = {Format::name, encode_all<Format, float>,
    encode_all<Format, double>, decode_all<Format, float>, decode_all<Format, double>,
    {half_op<Format, Reduction::sum>, half_op<Format, Reduction::product>,
        half_op<Format, Reduction::min>, half_op<Format, Reduction::max>}};

} // namespace xgrad::distributed::detail
