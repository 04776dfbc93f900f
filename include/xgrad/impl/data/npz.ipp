// Bodies of npz.hpp.
#pragma once

#include <xgrad/data/npz.hpp>

namespace xgrad::data {

XGRAD_FUNCTION StateDict load_npz(Input const& in, NpzOptions const& options) {
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

XGRAD_FUNCTION void save_npz(std::filesystem::path const& path, StateDict const& state) {
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
