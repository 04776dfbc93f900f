// npy: NumPy's format of one array (versions 1 to 3 of NEP 1).
//
// Shapes: those of the file, in row-major order; at most 64 axes.
// Gradients: none are recorded: values are written, and leaves are read.
// Errors: a malformed file is a FormatError with the offset; elements that do not convert to T are
// a TypeError; more than 64 axes are a ShapeError; a file that cannot be read or written, and an
// undefined tensor, are an Error.
#pragma once

#include <xgrad/data/element.hpp>
#include <xgrad/data/scanner.hpp>

namespace xgrad::data {

namespace detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

struct NpyHeader {
    Element const* element = nullptr;
    bool swapped = false, fortran = false;
    Shape shape;
    std::uint64_t end = 0;
};

/// "<f8": byte order and element.
void read_descr(Scanner& s, NpyHeader& header);
/// "(2, 3)", "(2,)", "()"; Python 2 wrote 2L.
Shape read_tuple(Scanner& s);

NpyHeader read_npy_header(Input const& in);

/// The header before the elements, which follow in row-major order; its length is a multiple of 64.
std::string npy_header(AnyTensor const& t);

} // namespace detail

/// The array of an npy file, in C or Fortran order and either byte order. Integers become int64,
/// float16 becomes float32.
AnyTensor load_npy(Input const& in);
/// The array as a tensor of T: precision is converted, and real elements become complex. Any other
/// type is a TypeError.
template <Scalar T> Tensor<T> load_npy(Input const& in) {
    return detail::converted<T>(load_npy(in), in.name());
}

/// Writes a tensor's values, in C order.
void save_npy(std::filesystem::path const& path, AnyTensor const& t);

} // namespace xgrad::data
