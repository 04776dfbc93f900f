// Pictures: reads 8-bit PGM, writes 8-bit PNG in grey or colour.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

/// Rows from top to bottom, pixels from left to right; a pixel has one value (Channels = 1) or red,
/// green, blue (3).
template <std::size_t Channels> struct Image {
    static_assert(Channels == 1 || Channels == 3, "an image is grey or RGB");
    std::size_t width = 0, height = 0;
    std::vector<std::uint8_t> values = std::vector<std::uint8_t>(width * height * Channels);
};

using GreyImage = Image<1>;
using ColourImage = Image<3>;

/// 0 is black and 1 is white; what lies outside, or is no number, is clipped.
inline std::uint8_t grey_level(double brightness) {
    return static_cast<std::uint8_t>(brightness > 0 ? std::min(brightness, 1.0) * 255 + 0.5 : 0);
}

namespace detail {

class PgmReader {
public:
    PgmReader(std::string path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}

    GreyImage read() {
        auto const magic = bytes_.substr(0, 2);
        if (magic != "P5" && magic != "P2")
            fail("is not a PGM image: it does not begin with P5 or P2");
        at_ = 2;
        auto const width = number("width", 1, 65535), height = number("height", 1, 65535);
        auto const white = number("largest grey value", 1, 65535);
        if (white > 255) fail("has 16-bit samples; only 8-bit images are read");
        if (width * height > bytes_.size())
            fail("ends before its last pixel"); // before memory is asked for

        GreyImage image{width, height};
        magic == "P5" ? read_binary(image) : read_plain(image, white);
        for (auto& value : image.values) {
            if (value > white) fail("has a sample above its largest grey value");
            value = static_cast<std::uint8_t>((value * std::size_t{255} + white / 2) / white);
        }
        return image;
    }

private:
    void read_binary(GreyImage& image) {
        if (at_ == bytes_.size() || !is_space(bytes_[at_]))
            fail("has no white space after its header");
        auto const samples =
            bytes_.substr(at_ + 1); // one space: the next byte may be a pixel that looks like one
        if (samples.size() < image.values.size()) fail("ends before its last pixel");
        if (samples.size() > image.values.size()) fail("goes on after its last pixel");
        std::ranges::transform(
            samples, image.values.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
    }

    void read_plain(GreyImage& image, std::size_t white) {
        for (auto& value : image.values)
            value = static_cast<std::uint8_t>(number("sample", 0, white));
        skip_space();
        if (at_ != bytes_.size()) fail("goes on after its last pixel");
    }

    std::size_t number(std::string const& name, std::size_t smallest, std::size_t largest) {
        auto const begin = at_;
        skip_space();
        if (at_ == bytes_.size()) fail("ends before its " + name);
        std::size_t value = 0;
        auto const [end, error] =
            std::from_chars(bytes_.data() + at_, bytes_.data() + bytes_.size(), value);
        if (at_ == begin || error != std::errc{} || value < smallest || value > largest)
            fail("has a bad " + name + ", not between " + std::to_string(smallest) + " and " +
                 std::to_string(largest));
        at_ = static_cast<std::size_t>(end - bytes_.data());
        return value;
    }

    void skip_space() {
        while (at_ < bytes_.size() && (is_space(bytes_[at_]) || bytes_[at_] == '#'))
            at_ = bytes_[at_] == '#' ? std::min(bytes_.find('\n', at_), bytes_.size()) : at_ + 1;
    }

    static bool is_space(char c) {
        return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
    }

    [[noreturn]] void fail(std::string const& what) const {
        throw std::runtime_error("'" + path_ + "' " + what);
    }

    std::string path_;
    std::string_view bytes_;
    std::size_t at_ = 0;
};

using Bytes = std::vector<std::uint8_t>;

inline void append_big_endian(Bytes& bytes, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline std::uint32_t crc32(std::span<std::uint8_t const> bytes) {
    static auto const table = [] {
        std::array<std::uint32_t, 256> entries{};
        for (std::uint32_t n = 0; n < 256; ++n) {
            entries[n] = n;
            for (int bit = 0; bit < 8; ++bit)
                entries[n] = (entries[n] >> 1) ^ (entries[n] & 1 ? 0xEDB88320u : 0u);
        }
        return entries;
    }();
    std::uint32_t crc = 0xFFFFFFFFu;
    for (auto const byte : bytes) crc = table[(crc ^ byte) & 0xFFu] ^ (crc >> 8);
    return ~crc;
}

inline std::uint32_t adler32(std::span<std::uint8_t const> bytes) {
    std::uint32_t a = 1, b = 0;
    for (auto const byte : bytes) {
        a = (a + byte) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/// A zlib stream of stored (uncompressed) deflate blocks.
inline Bytes zlib_stored(std::span<std::uint8_t const> data) {
    Bytes stream{0x78, 0x01};
    auto const checksum = adler32(data);
    do {
        auto const block = data.first(std::min<std::size_t>(data.size(), 65535));
        data = data.subspan(block.size());
        stream.push_back(data.empty() ? 1 : 0); // is this the last block?
        for (auto const size : {block.size(), ~block.size()}) {
            stream.push_back(static_cast<std::uint8_t>(size));
            stream.push_back(static_cast<std::uint8_t>(size >> 8));
        }
        stream.insert(stream.end(), block.begin(), block.end());
    } while (!data.empty());
    append_big_endian(stream, checksum);
    return stream;
}

inline void append_chunk(Bytes& png, std::string_view type, Bytes const& content) {
    append_big_endian(png, static_cast<std::uint32_t>(content.size()));
    auto const begin = png.size();
    png.insert(png.end(), type.begin(), type.end());
    png.insert(png.end(), content.begin(), content.end());
    append_big_endian(png,
        crc32(std::span(png).subspan(begin))); // of the type and the content, not of the length
}

} // namespace detail

inline GreyImage read_pgm(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path))
        throw std::runtime_error("cannot read '" + path.string() + "'");
    std::string const bytes{std::istreambuf_iterator<char>(file), {}};
    return detail::PgmReader(path.string(), bytes).read();
}

/// Shrinks to at most `side` pixels a side; each new pixel is the mean of the old ones that it
/// covers.
inline GreyImage shrink(GreyImage const& image, std::size_t side) {
    auto const longest = std::max(image.width, image.height);
    if (longest <= side) return image;
    auto const shorter = [&](std::size_t length) {
        return std::max<std::size_t>(length * side / longest, 1);
    };
    GreyImage small{shorter(image.width), shorter(image.height)};
    for (std::size_t row = 0; row < small.height; ++row)
        for (std::size_t column = 0; column < small.width; ++column) {
            auto const top = row * image.height / small.height,
                       bottom = (row + 1) * image.height / small.height;
            auto const left = column * image.width / small.width,
                       right = (column + 1) * image.width / small.width;
            std::size_t sum = 0, count = (bottom - top) * (right - left);
            for (auto y = top; y < bottom; ++y)
                for (auto x = left; x < right; ++x) sum += image.values[y * image.width + x];
            small.values[row * small.width + column] =
                static_cast<std::uint8_t>((sum + count / 2) / count);
        }
    return small;
}

template <std::size_t Channels>
void write_png(std::filesystem::path const& path, Image<Channels> const& image) {
    detail::Bytes header;
    detail::append_big_endian(header, static_cast<std::uint32_t>(image.width));
    detail::append_big_endian(header, static_cast<std::uint32_t>(image.height));
    header.insert(
        header.end(), {8, Channels == 1 ? 0 : 2, 0, 0, 0}); // 8 bit, grey or RGB, not interlaced

    detail::Bytes rows;
    auto const row_size = static_cast<std::ptrdiff_t>(image.width * Channels);
    for (auto row = image.values.begin(); row != image.values.end(); row += row_size) {
        rows.push_back(0); // no filter
        rows.insert(rows.end(), row, row + row_size);
    }

    detail::Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    detail::append_chunk(png, "IHDR", header);
    detail::append_chunk(png, "IDAT", detail::zlib_stored(rows));
    detail::append_chunk(png, "IEND", {});

    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<char const*>(png.data()), static_cast<std::streamsize>(png.size()));
    if (!file.flush()) throw std::runtime_error("cannot write '" + path.string() + "'");
}

} // namespace examples
