// Bodies of dlpack.hpp.
#pragma once

#include <xgrad/data/dlpack.hpp>

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

namespace xgrad::data {

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
