#include <image.hpp>

#include <stdexcept>
#include <string>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>

namespace examples {

GreyImage read_photograph(std::filesystem::path const& path) {
    int width = 0, height = 0, channels = 0;
    auto* const pixels = stbi_load(path.string().c_str(), &width, &height, &channels, STBI_grey);
    if (pixels == nullptr)
        throw std::runtime_error(
            "cannot read '" + path.string() + "' as a picture: " + stbi_failure_reason());
    GreyImage image{static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
    std::copy_n(pixels, image.values.size(), image.values.begin());
    stbi_image_free(pixels);
    return image;
}

namespace {

template <std::size_t Channels>
void write(std::filesystem::path const& path, Image<Channels> const& image) {
    auto const width = static_cast<int>(image.width), height = static_cast<int>(image.height);
    constexpr int channels = Channels;
    if (!stbi_write_png(
            path.string().c_str(), width, height, channels, image.values.data(), width * channels))
        throw std::runtime_error("cannot write '" + path.string() + "'");
}

} // namespace

void write_png(std::filesystem::path const& path, GreyImage const& image) { write(path, image); }
void write_png(std::filesystem::path const& path, ColourImage const& image) { write(path, image); }

} // namespace examples
