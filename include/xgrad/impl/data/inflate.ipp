// Bodies of inflate.hpp.
#pragma once

#include <xgrad/data/inflate.hpp>

namespace xgrad::data::detail {

XGRAD_FUNCTION std::uint32_t BitReader::peek(unsigned n) noexcept {
    for (; count_ < n; count_ += 8) {
        if (at_ == end_) ++beyond_;
        else bits_ |= std::uint64_t{static_cast<std::uint8_t>(*at_++)} << count_;
    }
    return static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << n) - 1));
}

XGRAD_FUNCTION bool PrefixCode::build(
    std::span<std::uint8_t const> lengths, bool may_be_incomplete) {
    std::array<std::uint32_t, longest + 2> first{};
    for (auto const n : lengths)
        if (n) ++first[n + 1u];
    bits_ = 1;
    std::uint32_t symbols = 0, used = 0;
    for (unsigned n = 1; n <= longest; ++n) {
        auto const of_this_length = first[n + 1];
        if (of_this_length) bits_ = n;
        symbols += of_this_length, used += of_this_length << (longest - n);
    }
    bool const incomplete = symbols && used < 1u << longest;
    if (used > 1u << longest || (incomplete && !(may_be_incomplete && symbols == 1 && bits_ == 1)))
        return false;
    std::uint32_t code = 0;
    for (unsigned n = 1; n <= longest; ++n) {
        auto const of_this_length = first[n + 1];
        first[n] = code;
        code = (code + of_this_length) << 1;
    }
    table_.assign(std::size_t{1} << bits_, 0);
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
        unsigned const n = lengths[symbol];
        if (!n) continue;
        std::uint32_t code_bits = first[n]++, reversed = 0;
        for (unsigned i = 0; i < n; ++i, code_bits >>= 1)
            reversed = reversed << 1 | (code_bits & 1);
        for (std::size_t i = reversed; i < table_.size(); i += std::size_t{1} << n)
            table_[i] = static_cast<std::uint16_t>(symbol << 4 | n);
    }
    return true;
}

XGRAD_FUNCTION bool PrefixCode::take(BitReader& in, unsigned& symbol) const noexcept {
    auto const entry = table_[in.peek(bits_)];
    in.drop(entry & 15);
    symbol = entry >> 4;
    return entry != 0;
}

XGRAD_FUNCTION bool Inflation::run() {
    for (bool last = false; !last;) {
        last = in_.take(1);
        auto const kind = in_.take(2);
        bool const good = kind == 0   ? stored()
                          : kind == 1 ? fixed_codes() && coded()
                                      : kind == 2 && codes() && coded();
        if (!good || in_.failed()) return false;
    }
    return done_ == out_.size() && in_.at_end();
}

XGRAD_FUNCTION bool Inflation::stored() {
    in_.align();
    auto const length = in_.take(16), complement = in_.take(16);
    if (in_.failed() || length != (complement ^ 0xffffu) || length > out_.size() - done_)
        return false;
    for (std::uint32_t i = 0; i < length; ++i) out_[done_++] = static_cast<std::byte>(in_.take(8));
    return true;
}

XGRAD_FUNCTION bool Inflation::fixed_codes() {
    std::array<std::uint8_t, 288> lengths;
    std::fill_n(lengths.begin(), 144, std::uint8_t{8});
    std::fill_n(lengths.begin() + 144, 112, std::uint8_t{9});
    std::fill_n(lengths.begin() + 256, 24, std::uint8_t{7});
    std::fill_n(lengths.begin() + 280, 8, std::uint8_t{8});
    std::array<std::uint8_t, 32> distances;
    distances.fill(5);
    return literals_.build(lengths) && distances_.build(distances);
}

XGRAD_FUNCTION bool Inflation::codes() {
    static constexpr std::uint8_t order[] = {
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::size_t const literals = in_.take(5) + 257, distances = in_.take(5) + 1,
                      known = in_.take(4) + 4;
    if (literals > 286 || distances > 30) return false;
    std::array<std::uint8_t, 19> of_lengths{};
    for (std::size_t i = 0; i < known; ++i)
        of_lengths[order[i]] = static_cast<std::uint8_t>(in_.take(3));
    PrefixCode code;
    if (!code.build(of_lengths, false)) return false;
    std::array<std::uint8_t, 286 + 30> lengths{};
    for (std::size_t i = 0; i < literals + distances;) {
        unsigned symbol = 0;
        if (!code.take(in_, symbol)) return false;
        if (symbol < 16) {
            lengths[i++] = static_cast<std::uint8_t>(symbol);
            continue;
        }
        if (symbol == 16 && i == 0) return false;
        std::uint8_t const value = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
        std::size_t const repeat = symbol == 16   ? 3 + in_.take(2)
                                   : symbol == 17 ? 3 + in_.take(3)
                                                  : 11 + in_.take(7);
        if (repeat > literals + distances - i) return false;
        std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), repeat, value);
        i += repeat;
    }
    std::span const all(lengths);
    return lengths[256] && literals_.build(all.first(literals)) &&
           distances_.build(all.subspan(literals, distances));
}

XGRAD_FUNCTION bool Inflation::coded() {
    for (;;) {
        unsigned symbol = 0;
        if (!literals_.take(in_, symbol) || in_.failed()) return false;
        if (symbol == 256) return true;
        if (symbol < 256) {
            if (done_ == out_.size()) return false;
            out_[done_++] = static_cast<std::byte>(symbol);
            continue;
        }
        if (symbol > 285) return false;
        std::size_t const length = symbol == 285 ? 258 : 3 + scaled(symbol - 257, 4);
        if (!distances_.take(in_, symbol) || symbol > 29) return false;
        std::size_t const distance = 1 + scaled(symbol, 2);
        if (distance > done_ || length > out_.size() - done_) return false;
        for (std::size_t i = 0; i < length; ++i, ++done_) out_[done_] = out_[done_ - distance];
    }
}

XGRAD_FUNCTION std::uint32_t Inflation::scaled(unsigned symbol, unsigned steps) noexcept {
    if (symbol < 2 * steps) return symbol;
    unsigned const extra = symbol / steps - 1;
    return ((steps + symbol % steps) << extra) + in_.take(extra);
}

} // namespace xgrad::data::detail
