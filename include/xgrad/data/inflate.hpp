// inflate: the decompression of zip files (the format "deflate", RFC 1951).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <xgrad/core/config.hpp>

namespace xgrad::data::detail {

/// Bits of a stream, the lowest one of each byte first. Bits after the end are 0, and failed() is
/// true then.
class BitReader {
public:
    explicit BitReader(std::span<std::byte const> bytes)
        : at_(bytes.data()), end_(at_ + bytes.size()) {}

    /// The next n bits, up to 16, without consuming them.
    std::uint32_t peek(unsigned n) noexcept;
    void drop(unsigned n) noexcept { bits_ >>= n, count_ -= n; }
    std::uint32_t take(unsigned n) noexcept {
        auto const v = peek(n);
        drop(n);
        return v;
    }
    /// Advances to the next byte boundary.
    void align() noexcept { drop(count_ % 8); }
    /// True if bits after the end were consumed.
    bool failed() const noexcept { return beyond_ * 8 > count_; }
    /// True if all bytes were consumed.
    bool at_end() const noexcept { return at_ == end_ && count_ / 8 == beyond_; }

private:
    std::byte const *at_, *end_;
    std::uint64_t bits_ = 0;
    unsigned count_ = 0, beyond_ = 0;
};

/// A prefix code, given by the lengths of its codes: a table whose index is the next bits, a code
/// and whatever follows it.
class PrefixCode {
public:
    static constexpr unsigned longest = 15;

    /// False if no prefix code has these lengths. A code may be incomplete only if it has a single
    /// symbol of one bit and `may_be_incomplete` is true.
    bool build(std::span<std::uint8_t const> lengths, bool may_be_incomplete = true);
    /// Reads the next symbol; false if the bits are no code.
    bool take(BitReader& in, unsigned& symbol) const noexcept;

private:
    unsigned bits_ = 1;
    std::vector<std::uint16_t> table_;
};

class Inflation {
public:
    Inflation(std::span<std::byte const> in, std::span<std::byte> out) : in_(in), out_(out) {}

    bool run();

private:
    bool stored();
    bool fixed_codes();
    /// Reads the prefix codes of a block, whose lengths are coded, too.
    bool codes();
    /// Decodes a block: literal bytes, and copies of earlier output.
    bool coded();
    /// The base values of symbols with extra bits: `steps` symbols for each power of 2.
    std::uint32_t scaled(unsigned symbol, unsigned steps) noexcept;

    BitReader in_;
    std::span<std::byte> out_;
    std::size_t done_ = 0;
    PrefixCode literals_, distances_;
};

/// Decompresses `in` to `out`; false if it is malformed or has another size than `out`.
inline bool inflate(std::span<std::byte const> in, std::span<std::byte> out) {
    return Inflation(in, out).run();
}

} // namespace xgrad::data::detail
