// The readers of files, under libFuzzer: whatever the bytes are, a reader returns tensors whose
// elements can be read, or throws xgrad::Error. Which reader it is says the name of the program.
// Decompression is compared with zlib's.
#include <cstdlib>
#include <string_view>

#include <xgrad/data.hpp>
#include <xgrad/package.hpp>
#include <zlib.h>

namespace data = xgrad::data;

namespace {

/// Reads all elements, so that a sanitizer reports those outside of the memory.
void read_elements(xgrad::AnyTensor const& t) {
    xgrad::detail::with_type(t, [](auto const& typed) {
        for (auto const& v : xgrad::detail::contiguous(typed.array_of())) [[maybe_unused]]
            auto const volatile copy = v;
    });
}
void read_elements(xgrad::StateDict const& state) {
    for (auto const& [name, tensor] : state) read_elements(tensor);
}

template <auto read> void reader(std::span<std::byte const> bytes) {
    try {
        read(data::Input(bytes, "fuzzed"));
    } catch (xgrad::Error const&) {}
}

void read_tables(data::Input const& in) {
    read_elements(data::read_csv(in, {.missing = data::Missing::nan}).values);
    read_elements(data::read_csv<std::int64_t>(in, {.delimiter = ';', .header = false}).values);
}

/// Loads all resources, with what a program provides that knows no type but those of xgrad.
void load_package(data::Input const& in) {
    xgrad::package::PackageImporter importer(in);
    importer.provide("acme.Outside", xgrad::nn::Tanh());
    for (auto const& [package, resource, kind] : importer.resources()) {
        try {
            if (kind == "module")
                read_elements(importer.load_module(package, resource)->state_dict());
            else if (kind == "tensor") read_elements(importer.load_tensor(package, resource));
            else if (kind == "tensors") read_elements(importer.load_tensors(package, resource));
            else importer.load_binary(package, resource);
        } catch (xgrad::Error const&) {}
    }
    static_cast<void>(importer.dependency_graph() + importer.file_structure());
}

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

struct {
    std::string_view name;
    void (*read)(std::span<std::byte const>);
} const readers[] = {
    {"npy", reader<[](data::Input const& in) { read_elements(data::load_npy(in)); }>},
    {"npz", reader<[](data::Input const& in) { read_elements(data::load_npz(in)); }>},
    {"safetensors",
        reader<[](data::Input const& in) { read_elements(data::load_safetensors(in)); }>},
    {"csv", reader<read_tables>},
    {"package", reader<load_package>},
    {"inflate", compare_with_zlib},
};
void (*chosen)(std::span<std::byte const>) = nullptr;

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
    std::string_view const program = **arguments;
    for (auto const& [name, read] : readers)
        if (program.substr(program.rfind('/') + 1) == name) chosen = read;
    if (!chosen) std::abort();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
    chosen(std::as_bytes(std::span(bytes, size)));
    return 0;
}
