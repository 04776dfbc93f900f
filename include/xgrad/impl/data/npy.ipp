// Bodies of npy.hpp and dlpack.hpp.
#pragma once

#include <xgrad/data/dlpack.hpp>
#include <xgrad/data/npy.hpp>
#include <xgrad/data/npz.hpp>

namespace xgrad::data::detail::dlpack {

inline constexpr std::int32_t on_processor = 1;
inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint64_t is_read_only = 1;

XGRAD_FUNCTION DataType data_type(DType t) {
    switch (t) {
    case DType::boolean:
        return {6, 8, 1};
    case DType::int64:
        return {0, 64, 1};
    case DType::float32:
        return {2, 32, 1};
    case DType::float64:
        return {2, 64, 1};
    case DType::complex64:
        return {5, 64, 1};
    case DType::complex128:
        break;
    }
    return {5, 128, 1};
}

XGRAD_FUNCTION DType type_of(Array const& array, DType const* wanted) {
    if (array.device.type != on_processor)
        xgrad::detail::fail<TypeError>("from_dlpack: the memory is that of device ",
            array.device.type, ", and tensors are in the memory of the processor (device 1)");
    for (auto const t : {DType::boolean, DType::int64, DType::float32, DType::float64,
             DType::complex64, DType::complex128})
        if (auto const has = data_type(t);
            has.code == array.type.code && has.bits == array.type.bits && array.type.lanes == 1) {
            if (wanted && t != *wanted)
                xgrad::detail::fail<TypeError>("from_dlpack: the elements are of type ",
                    xgrad::name(t), ", and ", xgrad::name(*wanted), " was asked for");
            return t;
        }
    xgrad::detail::fail<TypeError>("from_dlpack: no tensor has elements of DLPack's type code ",
        array.type.code, " with ", array.type.bits, " bits in ", array.type.lanes,
        " lanes: convert them first, to bool, int64, float32, float64, complex64 or complex128");
}

/// What an exported structure keeps.
template <class M> struct Exported {
    M managed{};
    AnyTensor tensor;
    std::vector<std::int64_t> extents;

    explicit Exported(AnyTensor const& t) : tensor(t) {
        auto const& array = t.impl().array;
        for (auto const n : array.shape) extents.push_back(static_cast<std::int64_t>(n));
        for (auto const s : array.strides) extents.push_back(s);
        auto const rank = array.shape.size();
        managed.array = {array.data, {on_processor, 0}, static_cast<std::int32_t>(rank),
            data_type(t.dtype()), extents.data(), extents.data() + rank, 0};
        managed.context = this;
        managed.deleter = [](M* m) { delete static_cast<Exported*>(m->context); };
    }
};

template <class M> M* give(AnyTensor const& t) {
    if (!t.defined()) xgrad::detail::fail_undefined("to_dlpack", "the tensor");
    if (t.requires_grad())
        xgrad::detail::fail<GraphError>("to_dlpack: the tensor requires a gradient, and other "
                                        "libraries record nothing: export x.detach()");
    return &(new Exported<M>(t))->managed;
}

template <class T> AnyTensor tensor_of(Array const& array) {
    if (array.axes < 0 || (array.axes > 0 && !array.shape))
        xgrad::detail::fail<ShapeError>("from_dlpack: the structure has no shape");
    auto const axes = static_cast<std::size_t>(array.axes);
    Shape shape;
    for (std::size_t i = 0; i < axes; ++i) {
        if (array.shape[i] < 0 ||
            static_cast<std::uint64_t>(array.shape[i]) > xgrad::detail::max_elements)
            xgrad::detail::fail<ShapeError>(
                "from_dlpack: an extent is negative, or more than any memory holds");
        shape.push_back(static_cast<std::size_t>(array.shape[i]));
    }
    if (numel(shape) == 0) return Tensor<T>(xgrad::detail::Array<T>(shape));
    if (!array.data) xgrad::detail::fail<Error>("from_dlpack: the pointer to the elements is null");
    auto strides = xgrad::detail::row_major(shape);
    for (std::size_t i = 0; array.strides && i < axes; ++i)
        if (shape[i] > 1) { // others are never taken
            auto const in_range = std::in_range<std::ptrdiff_t>(array.strides[i]);
            if (!in_range) xgrad::detail::fail<ShapeError>("from_dlpack: a stride is too large");
            std::copy_n(array.strides + i, 1, strides.begin() + static_cast<std::ptrdiff_t>(i));
        }
    auto* const data = static_cast<std::byte*>(array.data) + array.byte_offset;
    return xgrad::detail::external_tensor<T>(
        {"from_dlpack", shape, strides}, reinterpret_cast<T*>(data));
}

XGRAD_FUNCTION AnyTensor tensor_of(Array const& array, DType type) {
    switch (type) {
    case DType::boolean:
        return tensor_of<bool>(array);
    case DType::int64:
        return tensor_of<std::int64_t>(array);
    case DType::float32:
        return tensor_of<float>(array);
    case DType::float64:
        return tensor_of<double>(array);
    case DType::complex64:
        return tensor_of<std::complex<float>>(array);
    case DType::complex128:
        break;
    }
    return tensor_of<std::complex<double>>(array);
}

template <class M> void release(void* managed) noexcept {
    if (auto* const m = static_cast<M*>(managed); m->deleter) m->deleter(m);
}

template <class M> AnyTensor take_any(M* managed, DType const* wanted) {
    if (!managed) xgrad::detail::fail<Error>("from_dlpack: the pointer is null");
    bool read_only = false;
    if constexpr (requires { managed->flags; }) {
        if (managed->major != major_version)
            xgrad::detail::fail<Error>("from_dlpack: the structure is of version ", managed->major,
                ".", managed->minor, ", and xgrad knows version 1");
        read_only = managed->flags & is_read_only;
    }
    auto tensor = tensor_of(managed->array, type_of(managed->array, wanted));
    if (read_only || tensor.numel() == 0) {
        NoGradGuard const off;
        tensor = tensor.impl().type->copy(tensor);
        release<M>(managed);
    } else tensor.impl().array.storage->release_with(&release<M>, managed);
    return tensor;
}
XGRAD_FUNCTION AnyTensor take(Managed* managed, DType const* wanted) {
    return take_any(managed, wanted);
}
XGRAD_FUNCTION AnyTensor take(ManagedVersioned* managed, DType const* wanted) {
    return take_any(managed, wanted);
}

} // namespace xgrad::data::detail::dlpack

namespace xgrad::data::detail {

XGRAD_FUNCTION void read_descr(Scanner& s, NpyHeader& header) {
    if (s.accept('[')) s.fail("a structured type; load its fields one by one");
    auto const before = s;
    auto const descr = s.plain_string();
    auto const order = descr.empty() ? '?' : descr[0];
    header.element =
        element_of(&Element::numpy, descr.substr(std::min<std::size_t>(1, descr.size())));
    bool const known = order == '<' || order == '>' || order == '=' ||
                       (order == '|' && header.element && header.element->size == 1);
    if (!known || !header.element)
        before.fail("elements of type '", descr.substr(0, 40), "' cannot be read");
    header.swapped = order == (std::endian::native == std::endian::little ? '>' : '<');
}

XGRAD_FUNCTION Shape read_tuple(Scanner& s) {
    Shape shape;
    s.expect('(');
    s.skip(" ");
    while (!s.accept(')')) {
        if (shape.size() == max_axes) s.fail("more than ", max_axes, " axes");
        shape.push_back(s.extent());
        s.accept('L');
        s.skip(" ");
        bool const comma = s.accept(',');
        s.skip(" ");
        if (!comma && shape.size() == 1) s.fail("here should be ','");
        if (!comma) {
            s.expect(')');
            break;
        }
    }
    return shape;
}

XGRAD_FUNCTION NpyHeader read_npy_header(Input const& in) {
    NpyHeader header;
    if (in.size() < npy_magic.size() || in.text(0, npy_magic.size(), "") != npy_magic)
        in.fail_at(0, "this is no npy file");
    unsigned char start[6] = {};
    in.read(6, start, 2, "the version");
    int const version = start[0];
    if (version < 1 || version > 3 || start[1] != 0)
        in.fail_at(6, "version ", version, ".", int{start[1]}, " of the format is not known");
    std::size_t const width = version == 1 ? 2 : 4;
    in.read(8, start, width, "the length of the header");
    std::uint32_t const length =
        version == 1 ? little_endian<std::uint16_t>(start) : little_endian<std::uint32_t>(start);
    header.end = 8 + width + length;
    auto const text = in.text(8 + width, length, "the header");
    Scanner s(in, text, 8 + width);
    bool has_descr = false, has_order = false, has_shape = false;
    s.expect('{');
    s.skip(" ");
    while (!s.accept('}')) {
        auto const before = s;
        auto const key = s.plain_string();
        bool* const seen = key == "descr"           ? &has_descr
                           : key == "fortran_order" ? &has_order
                           : key == "shape"         ? &has_shape
                                                    : nullptr;
        if (!seen || *seen)
            before.fail("the key '", key.substr(0, 40), seen ? "' stands twice" : "' is not known");
        *seen = true;
        s.skip(" ");
        s.expect(':');
        s.skip(" ");
        if (seen == &has_descr) read_descr(s, header);
        else if (seen == &has_shape) header.shape = read_tuple(s);
        else if (!(header.fortran = s.accept("True")) && !s.accept("False"))
            s.fail("here should be True or False");
        s.skip(" ");
        if (!s.accept(',')) {
            s.expect('}');
            break;
        }
        s.skip(" ");
    }
    if (!(has_descr && has_order && has_shape))
        s.fail("the header has no '",
            !has_descr   ? "descr"
            : !has_order ? "fortran_order"
                         : "shape",
            "'");
    s.skip(" \n");
    if (!s.at_end()) s.fail("something stands after the header");
    auto const bytes = bytes_of(header.shape, header.element->size);
    if (!bytes) in.fail_at(header.end, "an array of shape ", header.shape, " is too large");
    if (in.size() - header.end != *bytes)
        in.fail_at(header.end, "an array of shape ", header.shape, " has ", *bytes,
            " bytes, and the file has ", in.size() - header.end, " for it");
    return header;
}

XGRAD_FUNCTION std::string npy_header(AnyTensor const& t) {
    auto const& e = element_of(t.dtype());
    char const order = e.size == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
    std::string text =
        "{'descr': '" + (order + std::string(e.numpy)) + "', 'fortran_order': False, 'shape': (";
    for (auto const n : t.shape()) text += (text.back() == '(' ? "" : ", ") + std::to_string(n);
    if (t.dim() == 1) text += ",";
    text += "), }";
    if (text.size() > 65000)
        fail<ShapeError>("save_npy: a tensor of ", t.dim(), " axes cannot be written");
    std::size_t const before = npy_magic.size() + 4;
    text.resize((before + text.size() + 1 + 63) / 64 * 64 - before, ' ');
    text.back() = '\n';
    std::string header(npy_magic);
    header += '\1';
    header += '\0';
    put_little_endian(header, static_cast<std::uint16_t>(text.size()));
    return header + text;
}

} // namespace xgrad::data::detail

namespace xgrad::data {

XGRAD_FUNCTION AnyTensor load_npy(Input const& in) {
    auto const header = detail::read_npy_header(in);
    bool const column_major = header.fortran && header.shape.size() > 1;
    if (!column_major)
        return detail::read_tensor(in, header.end, *header.element, header.swapped, header.shape);
    auto const transposed = detail::read_tensor(in, header.end, *header.element, header.swapped,
        Shape(header.shape.rbegin(), header.shape.rend()));
    auto view = transposed.impl().array;
    view.set_view(header.shape, Strides(view.strides.rbegin(), view.strides.rend()));
    AnyTensor t(xgrad::detail::TensorImpl::make(*transposed.impl().type, header.shape));
    t.impl().type->copy_elements(t.impl().array, view);
    return t;
}

XGRAD_FUNCTION void save_npy(std::filesystem::path const& path, AnyTensor const& t) {
    auto const values = detail::contiguous(t);
    AtomicFile file(path);
    file.write(detail::npy_header(values));
    file.write(values.impl().array.data, values.numel() * values.impl().type->size);
    file.commit();
}

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

XGRAD_FUNCTION ::DLManagedTensor* to_dlpack(AnyTensor const& t) {
    return reinterpret_cast<::DLManagedTensor*>(detail::dlpack::give<detail::dlpack::Managed>(t));
}
XGRAD_FUNCTION ::DLManagedTensorVersioned* to_dlpack_versioned(AnyTensor const& t) {
    auto* const managed = detail::dlpack::give<detail::dlpack::ManagedVersioned>(t);
    managed->major = detail::dlpack::major_version;
    return reinterpret_cast<::DLManagedTensorVersioned*>(managed);
}
XGRAD_FUNCTION AnyTensor from_dlpack(::DLManagedTensor* managed) {
    return detail::dlpack::take(reinterpret_cast<detail::dlpack::Managed*>(managed), nullptr);
}
XGRAD_FUNCTION AnyTensor from_dlpack(::DLManagedTensorVersioned* managed) {
    return detail::dlpack::take(
        reinterpret_cast<detail::dlpack::ManagedVersioned*>(managed), nullptr);
}

} // namespace xgrad::data
