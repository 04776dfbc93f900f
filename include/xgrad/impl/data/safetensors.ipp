// Bodies of safetensors.hpp.
#pragma once

#include <xgrad/data/safetensors.hpp>

namespace xgrad::data::detail {

XGRAD_FUNCTION Shape read_json_numbers(Scanner& s) {
    Shape numbers;
    read_json_array(s, [&] {
        if (numbers.size() == max_axes) s.fail("more than ", max_axes, " axes");
        numbers.push_back(s.extent());
    });
    return numbers;
}

XGRAD_FUNCTION SafetensorsEntry read_safetensors_entry(Scanner& s, std::string name) {
    SafetensorsEntry entry{.name = std::move(name), .shape = {}};
    bool has_dtype = false, has_shape = false, has_offsets = false;
    auto const start = s;
    read_json_object(s, "key", [&](std::string const& key, Scanner const& before) {
        bool* const seen = key == "dtype"          ? &has_dtype
                           : key == "shape"        ? &has_shape
                           : key == "data_offsets" ? &has_offsets
                                                   : nullptr;
        if (!seen) before.fail("the key '", key, "' is not known");
        *seen = true;
        auto const at = s;
        if (seen == &has_dtype) {
            auto const dtype = s.json_string();
            entry.element = element_of(&Element::safetensors, dtype);
            if (!entry.element) at.fail("elements of type '", dtype, "' cannot be read");
        } else if (seen == &has_shape) entry.shape = read_json_numbers(s);
        else {
            auto const offsets = read_json_numbers(s);
            if (offsets.size() != 2 || offsets[0] > offsets[1])
                at.fail("here should be where the elements begin and end");
            entry.begin = offsets[0], entry.end = offsets[1];
        }
    });
    if (!(has_dtype && has_shape && has_offsets))
        start.fail("the tensor '", entry.name, "' has no '",
            !has_dtype   ? "dtype"
            : !has_shape ? "shape"
                         : "data_offsets",
            "'");
    auto const bytes = bytes_of(entry.shape, entry.element->size);
    if (!bytes) start.fail("the tensor '", entry.name, "' of shape ", entry.shape, " is too large");
    if (entry.end - entry.begin != *bytes)
        start.fail("the tensor '", entry.name, "' of shape ", entry.shape, " has ", *bytes,
            " bytes, and its offsets leave ", entry.end - entry.begin);
    return entry;
}

XGRAD_FUNCTION void check_offsets(Input const& in, SafetensorsHeader const& header) {
    std::vector<SafetensorsEntry const*> order;
    for (auto const& e : header.entries) order.push_back(&e);
    std::ranges::sort(order, {}, [](auto const* e) { return std::pair(e->begin, e->end); });
    std::uint64_t at = 0;
    for (auto const* const e : order) {
        if (e->begin != at)
            in.fail_at(header.end + at,
                e->begin < at ? "the elements of two tensors overlap, the second is '"
                              : "nobody's bytes stand before the tensor '",
                e->name, "'");
        at = e->end;
    }
    if (auto const there = in.size() - header.end; at != there)
        in.fail_at(
            header.end, "the tensors have ", at, " bytes, and the file has ", there, " for them");
}

XGRAD_FUNCTION SafetensorsHeader read_safetensors_header(Input const& in) {
    SafetensorsHeader header;
    unsigned char start[8] = {};
    in.read(0, start, sizeof start, "the length of the header");
    auto const length = little_endian<std::uint64_t>(start);
    if (length > 100'000'000)
        in.fail_at(
            0, "a header of ", std::to_string(length), " bytes; this is no safetensors file");
    auto const text = in.text(8, static_cast<std::size_t>(length), "the header");
    header.end = 8 + length;
    if (auto const good = utf8_until(text); good != text.size())
        in.fail_at(8 + good, "the header is not UTF-8");
    Scanner s(in, text, 8);
    read_json_object(s, "name", [&](std::string const& name, Scanner const&) {
        if (name != "__metadata__") header.entries.push_back(read_safetensors_entry(s, name));
        else
            read_json_object(s, "name", [&](std::string const& key, Scanner const&) {
                header.metadata.emplace(key, s.json_string());
            });
    });
    s.skip(json_space);
    if (!s.at_end()) s.fail("something stands after the header");
    check_offsets(in, header);
    return header;
}

XGRAD_FUNCTION AnyTensor complex_of_pairs(
    Input const& in, std::string const& name, AnyTensor const& pairs, std::string_view type) {
    auto const wanted =
        type == xgrad::name(DType::complex64) ? DType::complex64 : DType::complex128;
    bool const known = type == xgrad::name(wanted),
               fits = pairs.dtype() ==
                          (wanted == DType::complex64 ? DType::float32 : DType::float64) &&
                      pairs.dim() > 0 && pairs.shape().back() == 2;
    if (!known || !fits)
        in.fail_at(8, "the tensor '", name, "' is noted as ", type.substr(0, 40),
            ", and is no pairs of its parts");
    Shape shape = pairs.shape();
    shape.erase(shape.size() - 1);
    AnyTensor t(xgrad::detail::TensorImpl::make(type_info_of(wanted), shape));
    if (pairs.numel())
        std::memcpy(
            t.impl().array.data, pairs.impl().array.data, pairs.numel() * pairs.impl().type->size);
    return t;
}

XGRAD_FUNCTION std::span<std::byte const> SafetensorsImage::bytes(AnyTensor const& t) {
    return {t.impl().array.data, t.numel() * t.impl().type->size};
}

XGRAD_FUNCTION SafetensorsImage safetensors_image(StateDict const& state, Metadata metadata) {
    for (auto const& [key, text] : metadata) {
        if (key.starts_with(complex_note))
            fail("save_safetensors: names of metadata that begin with '", complex_note,
                "' are taken");
        if (utf8_until(key) != key.size() || utf8_until(text) != text.size())
            fail("save_safetensors: the metadata under '", key, "' are not UTF-8");
    }
    struct Entry {
        AnyTensor values;
        std::uint64_t begin = 0, bytes = 0;
    };
    std::vector<Entry> entries;
    std::vector<std::size_t> order;
    for (auto const& [name, tensor] : state) {
        if (name == "__metadata__" || utf8_until(name) != name.size())
            fail("save_safetensors: no tensor can have the name '", name, "'");
        if (!tensor.defined()) fail("save_safetensors: the tensor '", name, "' is undefined");
        if (is_complex(tensor.dtype()))
            metadata.emplace(std::string(complex_note) + name, xgrad::name(tensor.dtype()));
        order.push_back(entries.size());
        entries.push_back({tensor, 0, tensor.numel() * tensor.impl().type->size});
    }
    auto const element = [](AnyTensor const& t) -> auto const& {
        return element_of(t.dtype() == DType::complex64    ? DType::float32
                          : t.dtype() == DType::complex128 ? DType::float64
                                                           : t.dtype());
    };
    // larger elements first, so that each is aligned
    std::ranges::stable_sort(order, std::ranges::greater(),
        [&](std::size_t i) { return element(entries[i].values).size; });
    std::uint64_t at = 0;
    for (auto const i : order) entries[i].begin = std::exchange(at, at + entries[i].bytes);

    std::string header = "{";
    auto const separate = [&] { header += header.size() > 1 ? "," : ""; };
    if (!metadata.empty()) {
        header += "\"__metadata__\":{";
        for (auto const& [key, text] : metadata)
            header += (header.back() == '{' ? "" : ",") + json(key) + ":" + json(text);
        header += "}";
    }
    auto entry = entries.begin();
    for (auto const& [name, tensor] : state) {
        separate();
        header += json(name) + ":{\"dtype\":\"" + std::string(element(tensor).safetensors) +
                  "\",\"shape\":[";
        for (auto const n : tensor.shape()) {
            if (header.back() != '[') header += ',';
            header += std::to_string(n);
        }
        if (is_complex(tensor.dtype())) header += tensor.dim() ? ",2" : "2";
        header += "],\"data_offsets\":[" + std::to_string(entry->begin) + "," +
                  std::to_string(entry->begin + entry->bytes) + "]}";
        ++entry;
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');

    SafetensorsImage image;
    put_little_endian(image.head, std::uint64_t{header.size()});
    image.head += header;
    for (auto const i : order) {
        auto values = contiguous(entries[i].values);
        if constexpr (std::endian::native != std::endian::little) {
            values = xgrad::detail::value_copy(values);
            swap_bytes(values.impl().array.data, element_of(values.dtype()).unit, entries[i].bytes);
        }
        image.values.push_back(std::move(values));
    }
    return image;
}

} // namespace xgrad::data::detail

namespace xgrad::data {

XGRAD_FUNCTION StateDict load_safetensors(Input const& in, Metadata* metadata) {
    auto header = detail::read_safetensors_header(in);
    StateDict state;
    constexpr bool swapped = std::endian::native != std::endian::little;
    for (auto const& e : header.entries) {
        auto t = detail::read_tensor(in, header.end + e.begin, *e.element, swapped, e.shape);
        auto const note = header.metadata.find(std::string(detail::complex_note) + e.name);
        if (note != header.metadata.end()) {
            t = detail::complex_of_pairs(in, e.name, t, note->second);
            header.metadata.erase(note);
        }
        state.set(e.name, std::move(t));
    }
    for (auto const& [key, text] : header.metadata)
        if (key.starts_with(detail::complex_note))
            in.fail_at(8, "the metadata '", key, "' are of a tensor that is not there");
    if (metadata) *metadata = std::move(header.metadata);
    return state;
}

XGRAD_FUNCTION void save_safetensors(
    std::filesystem::path const& path, StateDict const& state, Metadata metadata) {
    auto const image = detail::safetensors_image(state, std::move(metadata));
    AtomicFile file(path);
    file.write(image.head);
    for (auto const& values : image.values) {
        auto const bytes = image.bytes(values);
        file.write(bytes.data(), bytes.size());
    }
    file.commit();
}

} // namespace xgrad::data
