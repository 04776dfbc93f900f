// Pictures: reads a photograph of any common format as grey, writes 8-bit PNG in grey or colour.
// The formats are stb's (https://github.com/nothings/stb).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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

/// Reads JPEG, PNG, BMP, GIF, TGA, PSD or binary PGM and PPM; colours become grey.
GreyImage read_photograph(std::filesystem::path const& path);

void write_png(std::filesystem::path const& path, GreyImage const& image);
void write_png(std::filesystem::path const& path, ColourImage const& image);

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

} // namespace examples
