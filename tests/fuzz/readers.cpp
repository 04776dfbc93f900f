// The readers of files, under libFuzzer: whatever the bytes are, a reader returns tensors whose
// elements can be read, or throws xgrad::Error. Which reader it is says the name of the program.
// Decompression is compared with zlib's. First the time of the reader is measured for files that
// grow: it must be linear.
#include <cstdlib>
#include <string_view>

#include <zlib.h>

#include "support/readers.hpp"

namespace data = xgrad::data;

namespace {

/// How many bytes zlib makes of these, where they are one whole stream.
std::ptrdiff_t decompressed_by_zlib(std::span<std::byte const> bytes, std::span<std::byte> out) {
    z_stream stream{};
    if (inflateInit2(&stream, -15) != Z_OK) std::abort();
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<Bytef const*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    bool const whole = ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
    inflateEnd(&stream);
    return whole ? static_cast<std::ptrdiff_t>(out.size() - stream.avail_out) : -1;
}
/// Both refuse, or both give the same bytes.
void compare_with_zlib(std::span<std::byte const> bytes) {
    static std::byte expected[1 << 16], got[1 << 16];
    auto const n = decompressed_by_zlib(bytes, expected);
    std::span const out(got, n < 0 ? sizeof got : static_cast<std::size_t>(n));
    bool const good = data::detail::inflate(bytes, out);
    if (good != (n >= 0) || (good && std::memcmp(got, expected, out.size()) != 0)) std::abort();
}

std::string_view chosen;
readers::Reader chosen_reader = nullptr;

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
    chosen = **arguments;
    chosen.remove_prefix(chosen.rfind('/') + 1);
    chosen_reader = readers::find(chosen);
    if (!chosen_reader) std::abort();
    for (auto const& file : readers::growing_files) {
        if (file.reader != chosen) continue;
        auto const growth = readers::growth_of(file);
        std::fprintf(stderr, "%.*s: four times as many %.*s take %.1f times as long\n",
            static_cast<int>(chosen.size()), chosen.data(), static_cast<int>(file.pieces.size()),
            file.pieces.data(), growth);
        if (growth > readers::max_growth) std::abort();
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
    auto const input = std::as_bytes(std::span(bytes, size));
    if (chosen == "inflate") compare_with_zlib(input);
    else try {
            chosen_reader(data::Input(input, "fuzzed"));
        } catch (xgrad::Error const&) {}
    return 0;
}
