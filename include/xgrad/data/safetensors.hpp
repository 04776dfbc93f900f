// safetensors: named tensors as PyTorch's users exchange them: the length of a header, the header
// in JSON, the elements.
//
// Shapes: those of the tensors, in row-major order; a complex tensor is written with a last axis of
// 2, which reading removes.
// Errors: a malformed file is a FormatError with the offset; a name that the format cannot have, an
// undefined tensor, and a file that cannot be read or written are an Error. load() throws what
// load_state_dict() throws.
#pragma once

#include <map>

#include <xgrad/data/element.hpp>
#include <xgrad/data/json.hpp>

namespace xgrad::data {

/// Named texts, stored beside the tensors.
using Metadata = std::map<std::string, std::string>;

namespace detail {

/// With this prefix and its name, __metadata__ has the type of a complex tensor, whose elements are
/// written as pairs of real elements.
inline constexpr std::string_view complex_note = "xgrad.complex.";

struct SafetensorsEntry {
    std::string name;
    Element const* element = nullptr;
    Shape shape;
    std::uint64_t begin = 0, end = 0;
};

/// `[1, 2]`: integers that are not negative.
Shape read_json_numbers(Scanner& s);

SafetensorsEntry read_safetensors_entry(Scanner& s, std::string name);

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries;
    Metadata metadata;
    std::uint64_t end = 0;
};

/// The elements must follow each other without gaps and overlaps, up to the end of the file.
void check_offsets(Input const& in, SafetensorsHeader const& header);

SafetensorsHeader read_safetensors_header(Input const& in);

/// Converts pairs of real elements back to complex ones.
AnyTensor complex_of_pairs(
    Input const& in, std::string const& name, AnyTensor const& pairs, std::string_view type);

/// What a safetensors file consists of: the length of the header and the header, then the elements
/// of each of these tensors, which are contiguous and in the byte order of the file.
struct SafetensorsImage {
    std::string head;
    std::vector<AnyTensor> values;

    static std::span<std::byte const> bytes(AnyTensor const& t);
};
SafetensorsImage safetensors_image(StateDict const& state, Metadata metadata);

} // namespace detail

/// The tensors of a safetensors file. float16 and bfloat16 become float32, integers int64. Complex
/// tensors are read from the format's C64, and from pairs of real elements with the entry in
/// __metadata__ that save_safetensors() writes. The texts of __metadata__ are stored in `metadata`.
StateDict load_safetensors(Input const& in, Metadata* metadata = nullptr);

/// Writes the values of tensors, which PyTorch loads by safetensors.torch.load_file(). A complex
/// tensor is written as pairs of real elements, along a new last axis, with the entry
/// "xgrad.complex.NAME": "complex64" or "complex128" in __metadata__; torch.view_as_complex()
/// converts it back.
void save_safetensors(
    std::filesystem::path const& path, StateDict const& state, Metadata metadata = {});

} // namespace xgrad::data

namespace xgrad {

/// Saves what has a state_dict() (a module, an optimiser, a schedule) as a safetensors file.
template <class M>
    requires requires(M const& m) { StateDict(m.state_dict()); }
void save(M const& m, std::filesystem::path const& path) {
    data::save_safetensors(path, m.state_dict());
}
/// Loads a state that save() wrote into an object of the same kind; an error leaves it unchanged.
template <class M>
    requires requires(M& m, StateDict const& state) { m.load_state_dict(state); }
void load(M& m, std::filesystem::path const& path) {
    m.load_state_dict(data::load_safetensors(path));
}

} // namespace xgrad
