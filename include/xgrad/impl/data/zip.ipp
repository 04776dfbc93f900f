// Bodies of zip.hpp and inflate.hpp.
#pragma once

#include <xgrad/data/inflate.hpp>
#include <xgrad/data/zip.hpp>

namespace xgrad::data::detail {

XGRAD_FUNCTION ZipReader::ZipReader(Input const& in) : in_(in) {
    auto const directory = find_directory();
    auto const text =
        in.text(directory.begin, static_cast<std::size_t>(directory.bytes), "the directory");
    std::string_view rest = text;
    std::set<std::string, std::less<>> names;
    for (std::uint64_t i = 0; i < directory.count; ++i) {
        entries_.push_back(read_entry(directory.begin + (text.size() - rest.size()), rest));
        auto& e = entries_.back();
        if (!names.insert(e.name).second)
            in.fail_at(e.header, "the name '", e.name, "' stands twice");
        find_data(e);
    }
    if (!rest.empty())
        in.fail_at(
            directory.begin + (text.size() - rest.size()), "something stands after the directory");
    check_overlaps(directory.begin);
}

XGRAD_FUNCTION std::vector<std::byte> ZipReader::read(ZipEntry const& e) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(e.stored));
    in_.read(e.begin, bytes.data(), bytes.size(), "an entry");
    if (e.deflated) {
        std::vector<std::byte> raw(static_cast<std::size_t>(e.bytes));
        if (!inflate(bytes, raw))
            in_.fail_at(e.begin, "the entry '", e.name, "' cannot be decompressed");
        bytes = std::move(raw);
    }
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION // the bytes of a fuzzer never have the right check
    if (crc<crc32_polynomial>(bytes.data(), bytes.size()) != e.crc)
        in_.fail_at(e.begin, "the entry '", e.name, "' does not have the check that is noted");
#endif
    return bytes;
}

XGRAD_FUNCTION auto ZipReader::find_directory() const -> Directory {
    constexpr std::size_t size = 22;
    auto const tail = static_cast<std::size_t>(std::min<std::uint64_t>(in_.size(), size + 0xffff));
    auto const text = in_.text(in_.size() - tail, tail, "");
    for (std::size_t at = tail < size ? tail : tail - size + 1; at-- > 0 && tail >= size;) {
        auto const* const p = text.data() + at;
        if (little_endian<std::uint32_t>(p) != zip_end ||
            at + size + little_endian<std::uint16_t>(p + 20) != tail)
            continue;
        std::uint64_t const place = in_.size() - tail + at;
        if (little_endian<std::uint32_t>(p + 4)) in_.fail_at(place, "a part of several files");
        Directory d{little_endian<std::uint32_t>(p + 16), little_endian<std::uint32_t>(p + 12),
            little_endian<std::uint16_t>(p + 10)};
        std::uint64_t end = place;
        if (d.begin == 0xffffffff || d.bytes == 0xffffffff || d.count == 0xffff)
            end = find_large_directory(place, d);
        if (d.begin > end || d.bytes != end - d.begin)
            in_.fail_at(place, "the directory is not where it should be");
        if (d.count > d.bytes / 46)
            in_.fail_at(place, "the directory is too small for ", d.count, " entries");
        return d;
    }
    in_.fail_at(in_.size(), "the file does not end as a zip file does");
}

XGRAD_FUNCTION std::uint64_t ZipReader::find_large_directory(
    std::uint64_t place, Directory& d) const {
    if (place < 20) return place;
    auto const locator = in_.text(place - 20, 20, "the end of the directory");
    if (little_endian<std::uint32_t>(locator.data()) != zip64_locator) return place;
    auto const end = little_endian<std::uint64_t>(locator.data() + 8);
    auto const record = in_.text(end, 56, "the end of the directory");
    if (little_endian<std::uint32_t>(record.data()) != zip64_end)
        in_.fail_at(end, "here should be the end of the directory");
    d = {little_endian<std::uint64_t>(record.data() + 48),
        little_endian<std::uint64_t>(record.data() + 40),
        little_endian<std::uint64_t>(record.data() + 32)};
    return end;
}

XGRAD_FUNCTION ZipEntry ZipReader::read_entry(std::uint64_t place, std::string_view& rest) const {
    auto const need = [&](std::size_t n) {
        if (rest.size() < n) in_.fail_at(place, "the directory ends within an entry");
    };
    need(46);
    auto const* const p = rest.data();
    if (little_endian<std::uint32_t>(p) != zip_directory)
        in_.fail_at(place, "here should be an entry of the directory");
    std::size_t const name = little_endian<std::uint16_t>(p + 28),
                      extra = little_endian<std::uint16_t>(p + 30),
                      comment = little_endian<std::uint16_t>(p + 32);
    need(46 + name + extra + comment);
    ZipEntry e;
    e.name = rest.substr(46, name);
    if (utf8_until(e.name) != name) in_.fail_at(place + 46, "a name that is not UTF-8");
    if (little_endian<std::uint16_t>(p + 8) & 1)
        in_.fail_at(place, "the entry '", e.name, "' is encrypted");
    auto const method = little_endian<std::uint16_t>(p + 10);
    if (method != 0 && method != 8)
        in_.fail_at(place, "the entry '", e.name, "' is compressed by the method ", method,
            "; only deflate (8) is known");
    e.deflated = method == 8;
    e.crc = little_endian<std::uint32_t>(p + 16);
    e.stored = little_endian<std::uint32_t>(p + 20), e.bytes = little_endian<std::uint32_t>(p + 24),
    e.header = little_endian<std::uint32_t>(p + 42);
    read_large_numbers(e, place, rest.substr(46 + name, extra));
    rest.remove_prefix(46 + name + extra + comment);
    return e;
}

XGRAD_FUNCTION void ZipReader::read_large_numbers(
    ZipEntry& e, std::uint64_t place, std::string_view extra) const {
    while (extra.size() >= 4) {
        auto const kind = little_endian<std::uint16_t>(extra.data()),
                   size = little_endian<std::uint16_t>(extra.data() + 2);
        if (size > extra.size() - 4) break;
        auto field = extra.substr(4, size);
        extra.remove_prefix(4u + size);
        if (kind != 1) continue;
        for (auto* const number : {&e.bytes, &e.stored, &e.header}) {
            if (*number != 0xffffffff) continue;
            if (field.size() < 8)
                in_.fail_at(place, "the sizes of the entry '", e.name, "' are not there");
            *number = little_endian<std::uint64_t>(field.data());
            field.remove_prefix(8);
        }
    }
}

XGRAD_FUNCTION void ZipReader::find_data(ZipEntry& e) const {
    auto const header = in_.text(e.header, 30, "an entry");
    if (little_endian<std::uint32_t>(header.data()) != zip_entry)
        in_.fail_at(e.header, "here should be the entry '", e.name, "'");
    std::size_t const name = little_endian<std::uint16_t>(header.data() + 26),
                      extra = little_endian<std::uint16_t>(header.data() + 28);
    if (in_.text(e.header + 30, name, "an entry") != e.name)
        in_.fail_at(e.header, "the entry has another name than '", e.name, "' in the directory");
    e.begin = e.header + 30 + name + extra;
    if (e.begin > in_.size() || e.stored > in_.size() - e.begin)
        in_.fail_at(e.header, "the file ends within the entry '", e.name, "'");
    if (!e.deflated && e.stored != e.bytes)
        in_.fail_at(e.header, "the entry '", e.name, "' has two different sizes");
    if (e.deflated && e.bytes / 1032 > e.stored)
        in_.fail_at(e.header, "the entry '", e.name,
            "' cannot become as large as is noted"); // 258 bytes take at least two bits
}

XGRAD_FUNCTION void ZipReader::check_overlaps(std::uint64_t directory) const {
    std::vector<ZipEntry const*> order;
    for (auto const& e : entries_) order.push_back(&e);
    std::ranges::sort(order, {}, [](auto const* e) { return e->header; });
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto const end = order[i]->begin + order[i]->stored;
        if (end > (i + 1 < order.size() ? order[i + 1]->header : directory))
            in_.fail_at(order[i]->header, "the entry '", order[i]->name, "' overlaps what follows");
    }
}

XGRAD_FUNCTION void ZipWriter::add(
    std::string name, std::string_view head, std::span<std::span<std::byte const> const> pieces) {
    ZipEntry e{.name = std::move(name), .header = file_.position()};
    e.crc = crc<crc32_polynomial>(head.data(), head.size());
    e.bytes = head.size();
    for (auto const& piece : pieces) {
        e.crc = crc<crc32_polynomial>(piece.data(), piece.size(), e.crc);
        e.bytes += piece.size();
    }
    e.stored = e.bytes;
    file_.write(header(e, zip_entry));
    file_.write(head);
    for (auto const& piece : pieces) file_.write(piece.data(), piece.size());
    entries_.push_back(std::move(e));
}

XGRAD_FUNCTION void ZipWriter::add(
    std::string name, std::string_view head, std::span<std::byte const> body) {
    add(std::move(name), head, std::span(&body, 1));
}

XGRAD_FUNCTION void ZipWriter::finish() {
    auto const begin = file_.position();
    for (auto const& e : entries_) file_.write(header(e, zip_directory));
    auto const end = file_.position(), bytes = end - begin;
    std::uint64_t const count = entries_.size();
    std::string s;
    if (begin >= large_ || bytes >= large_ || count >= std::min<std::uint64_t>(large_, 0xffff)) {
        put(s, zip64_end, std::uint64_t{44}, std::uint16_t{45}, std::uint16_t{45}, std::uint32_t{0},
            std::uint32_t{0}, count, count, bytes, begin);
        put(s, zip64_locator, std::uint32_t{0}, end, std::uint32_t{1});
    }
    auto const entries = static_cast<std::uint16_t>(
        std::min<std::uint64_t>(count >= large_ ? 0xffff : count, 0xffff));
    put(s, zip_end, std::uint32_t{0}, entries, entries, small(bytes), small(begin),
        std::uint16_t{0});
    file_.write(s);
}

XGRAD_FUNCTION std::string ZipWriter::header(ZipEntry const& e, std::uint32_t kind) const {
    constexpr std::uint16_t utf8 = 1 << 11, first_of_january_1980 = 0x21;
    bool const in_directory = kind == zip_directory, large_size = e.bytes >= large_,
               large_place = in_directory && e.header >= large_;
    std::string extra;
    if (large_size || large_place) {
        put(extra, std::uint16_t{1}, static_cast<std::uint16_t>(16 * large_size + 8 * large_place));
        if (large_size) put(extra, e.bytes, e.stored);
        if (large_place) put(extra, e.header);
    }
    std::uint16_t const version = extra.empty() ? 20 : 45,
                        name = static_cast<std::uint16_t>(e.name.size()),
                        more = static_cast<std::uint16_t>(extra.size());
    if (name != e.name.size())
        fail("a name of ", e.name.size(), " bytes is too long for a zip file");
    std::string s;
    put(s, kind);
    if (in_directory) put(s, version);
    put(s, version, utf8, std::uint16_t{0}, std::uint16_t{0}, first_of_january_1980, e.crc,
        small(e.stored), small(e.bytes), name, more);
    if (in_directory)
        put(s, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, std::uint32_t{0},
            small(e.header));
    return s + e.name + extra;
}

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
