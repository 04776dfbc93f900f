// npz: NumPy's format of several named arrays, a zip file of npy files.
//
// Shapes: those of the arrays, in row-major order; at most 64 axes.
// Errors: a malformed file, and arrays of more than max_bytes, are a FormatError; more than 64 axes
// are a ShapeError; a name that is not UTF-8, an undefined tensor, and a file that cannot be read
// or written are an Error.
#pragma once

#include <xgrad/data/npy.hpp>
#include <xgrad/data/zip.hpp>

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
StateDict load_npz(Input const& in, NpzOptions const& options = {});

/// Writes the values of named tensors, not compressed.
void save_npz(std::filesystem::path const& path, StateDict const& state);

} // namespace xgrad::data
