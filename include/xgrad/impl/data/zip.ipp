// Bodies of zip.hpp.
#pragma once

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

} // namespace xgrad::data::detail
