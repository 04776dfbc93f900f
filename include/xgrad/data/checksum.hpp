// Cyclic redundancy checks of 32 bits: CRC-32 as in zip files, CRC-32C as in TensorBoard's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace xgrad::data::detail {

/// The reversed polynomials: of IEEE 802.3, and Castagnoli's.
inline constexpr std::uint32_t crc32_polynomial = 0xedb88320u, crc32c_polynomial = 0x82f63b78u;

/// slices[k][b]: the remainder of a byte b that k zero bytes follow.
template <std::uint32_t polynomial>
inline constexpr auto crc_slices = [] {
    std::array<std::array<std::uint32_t, 256>, 8> slices{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t r = b;
        for (int i = 0; i < 8; ++i) r = (r >> 1) ^ (r & 1 ? polynomial : 0);
        slices[0][b] = r;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t b = 0; b < 256; ++b)
            slices[k][b] = (slices[k - 1][b] >> 8) ^ slices[0][slices[k - 1][b] & 255];
    return slices;
}();

/// The check of these bytes; with the check of the bytes before them, that of all bytes.
template <std::uint32_t polynomial>
std::uint32_t crc(void const* from, std::size_t n, std::uint32_t before = 0) noexcept {
    auto const& slices = crc_slices<polynomial>;
    auto const* p = static_cast<unsigned char const*>(from);
    std::uint32_t r = ~before;
    for (; n >= 8; n -= 8, p += 8) {
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < 4; ++i) next ^= slices[7 - i][(r >> (8 * i) & 255) ^ p[i]];
        for (std::size_t i = 4; i < 8; ++i) next ^= slices[7 - i][p[i]];
        r = next;
    }
    for (; n; --n, ++p) r = (r >> 8) ^ slices[0][(r & 255) ^ *p];
    return ~r;
}

} // namespace xgrad::data::detail
