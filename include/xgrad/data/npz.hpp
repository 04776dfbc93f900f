// npz: NumPy's format of several named arrays, a zip file of npy files.
#pragma once

#include <xgrad/data/npy.hpp>
#include <xgrad/data/zip.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::data {

namespace detail {
inline constexpr std::string_view npy_suffix = ".npy";
}

/// Options of load_npz().
struct NpzOptions {
    /// The largest size, in bytes, of all arrays after decompression: a file of a megabyte may
    /// become a gigabyte.
    std::uint64_t max_bytes = ~std::uint64_t{0};
};

/// The arrays of an npz file (of numpy.savez or numpy.savez_compressed) with their names. Throws
/// FormatError if they are larger than `max_bytes`, before any of them is read.
inline StateDict load_npz(Input const& in, NpzOptions const& options = {}) {
    detail::ZipReader const zip(in);
    std::uint64_t left = options.max_bytes;
    for (auto const& e : zip.entries()) {
        if (e.bytes > left)
            in.fail_at(e.header, "with the entry '", e.name, "' of ", e.bytes,
                " bytes the file is larger than the ", options.max_bytes,
                " bytes that are allowed");
        left -= e.bytes;
    }
    StateDict state;
    for (auto const& e : zip.entries()) {
        if (!e.name.ends_with(detail::npy_suffix))
            in.fail_at(e.header, "the entry '", e.name, "' is no npy file");
        auto const bytes = zip.read(e);
        state.set(e.name.substr(0, e.name.size() - detail::npy_suffix.size()),
            load_npy(Input(bytes, in.name() + ": " + e.name)));
    }
    return state;
}

/// Writes the values of named tensors, not compressed.
inline void save_npz(std::filesystem::path const& path, StateDict const& state) {
    AtomicFile file(path);
    detail::ZipWriter zip(file);
    for (auto const& [name, tensor] : state) {
        if (detail::utf8_until(name) != name.size())
            detail::fail("save_npz: the name '", name, "' is not UTF-8");
        if (!tensor.defined()) detail::fail("save_npz: the tensor '", name, "' is undefined");
        auto const values = detail::contiguous(tensor);
        zip.add(name + std::string(detail::npy_suffix), detail::npy_header(values),
            {values.impl().array.data, values.numel() * values.impl().type->size});
    }
    zip.finish();
    file.commit();
}

} // namespace xgrad::data
