// Zip files (PKWARE's APPNOTE 6.3): a directory of entries, stored or deflated, of any size. Only
// stored entries are written.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include <xgrad/data/checksum.hpp>
#include <xgrad/data/file.hpp>
#include <xgrad/data/inflate.hpp>
#include <xgrad/data/scanner.hpp>

namespace xgrad::data::detail {

/// Signatures: of an entry, of an entry of the directory, of the end of the directory (also the
/// zip64 one, and the locator of that).
inline constexpr std::uint32_t zip_entry = 0x04034b50, zip_directory = 0x02014b50,
                               zip_end = 0x06054b50, zip64_end = 0x06064b50,
                               zip64_locator = 0x07064b50;

struct ZipEntry {
    std::string name;
    bool deflated = false;
    std::uint32_t crc = 0;
    std::uint64_t stored = 0, bytes = 0, header = 0, begin = 0;
};

class ZipReader {
public:
    explicit ZipReader(Input const& in);

    std::vector<ZipEntry> const& entries() const noexcept { return entries_; }

    std::vector<std::byte> read(ZipEntry const& e) const;

private:
    struct Directory {
        std::uint64_t begin, bytes, count;
    };

    /// Searches from the end of the file, since a comment may follow.
    Directory find_directory() const;
    std::uint64_t find_large_directory(std::uint64_t place, Directory& d) const;

    ZipEntry read_entry(std::uint64_t place, std::string_view& rest) const;
    /// Values that do not fit into 32 bits are in an extra field, in this order.
    void read_large_numbers(ZipEntry& e, std::uint64_t place, std::string_view extra) const;
    void find_data(ZipEntry& e) const;
    void check_overlaps(std::uint64_t directory) const;

    Input const& in_;
    std::vector<ZipEntry> entries_;
};

/// Writes stored entries one after the other. Values from `large` on are written as zip64 fields.
class ZipWriter {
public:
    explicit ZipWriter(AtomicFile& file, std::uint64_t large = 0xffffffff)
        : file_(file), large_(large) {}

    /// Writes an entry: a head, and what follows it piece by piece.
    void add(std::string name, std::string_view head,
        std::span<std::span<std::byte const> const> pieces);
    /// Writes an entry of two pieces.
    void add(std::string name, std::string_view head, std::span<std::byte const> body = {});
    void finish();

private:
    template <class... U> static void put(std::string& s, U... values) {
        (put_little_endian(s, values), ...);
    }
    std::uint32_t small(std::uint64_t n) const noexcept {
        return n >= large_ ? 0xffffffff : static_cast<std::uint32_t>(n);
    }

    /// The fields of an entry, before it or in the directory. The date is the earliest possible
    /// one, so that equal tensors give equal files.
    std::string header(ZipEntry const& e, std::uint32_t kind) const;

    AtomicFile& file_;
    std::uint64_t large_;
    std::vector<ZipEntry> entries_;
};

} // namespace xgrad::data::detail
