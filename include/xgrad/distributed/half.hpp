// The two formats of 16 bits in which gradients travel, and their sum as an operation of MPI.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <xgrad/distributed/mpi.hpp>

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

/// The sum of numbers in this format, rounded after each addition.
template <class Format> MPI_Op sum_op() {
    static MPI_Op const op = [] {
        MPI_Op made = MPI_OP_NULL;
        auto* const add = +[](void* in, void* inout, int* n, MPI_Datatype*) {
            auto const* const from = static_cast<std::uint16_t const*>(in);
            auto* const to = static_cast<std::uint16_t*>(inout);
            for (int i = 0; i < *n; ++i)
                to[i] = Format::encode(Format::decode(to[i]) + Format::decode(from[i]));
        };
        check(MPI_Op_create(add, 1, &made), "MPI_Op_create");
        return made;
    }();
    return op;
}

} // namespace xgrad::distributed::detail
