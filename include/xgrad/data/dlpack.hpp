// DLPack (https://dmlc.github.io/dlpack): tensors for other libraries of the process, and of them,
// without a copy: NumPy, PyTorch, JAX. to_dlpack() makes the structure of a capsule,
// from_dlpack() takes one.
//
// The structures below have the layout of dlpack.h, version 1.0, which need not be there. A program
// that includes it, too, passes its DLManagedTensor to from_dlpack() as it is.
//
// Shapes: those of the other side, with its strides in elements.
// Gradients: none are passed: to_dlpack() takes tensors that require none, and from_dlpack() makes
// leaves.
// Errors: to_dlpack() throws GraphError for a tensor that requires a gradient. from_dlpack() throws
// TypeError for another device or element type, ShapeError for negative strides or extents, and
// Error for null pointers and a later major version. An undefined tensor is an Error.
#pragma once

#include <cstdint>
#include <string_view>

#include <xgrad/tensor/from_memory.hpp>

struct DLManagedTensor;          // of dlpack.h
struct DLManagedTensorVersioned; // of dlpack.h, from version 0.8 on

namespace xgrad::data {

namespace detail::dlpack {

struct XGRAD_MAY_ALIAS Device {
    std::int32_t type; // 1 is the memory of the processor
    std::int32_t id;
};
struct XGRAD_MAY_ALIAS DataType {
    std::uint8_t code; // 0: integer, 2: floating-point, 5: complex, 6: bool
    std::uint8_t bits; // of one element
    std::uint16_t lanes;
};
struct XGRAD_MAY_ALIAS Array {
    void* data;
    Device device;
    std::int32_t axes;
    DataType type;
    std::int64_t* shape;
    std::int64_t* strides; // in elements; null where the array is row-major
    std::uint64_t byte_offset;
};
struct XGRAD_MAY_ALIAS Managed {
    Array array;
    void* context;
    void (*deleter)(Managed*);
};
struct XGRAD_MAY_ALIAS ManagedVersioned {
    std::uint32_t major, minor;
    void* context;
    void (*deleter)(ManagedVersioned*);
    std::uint64_t flags; // bit 0: the elements must not be written to; bit 1: they are a copy
    Array array;
};

} // namespace detail::dlpack

/// The tensor for another library, which shares its memory; whoever takes it calls its deleter. The
/// elements live until then. Throws for a tensor that requires a gradient: export x.detach(). The
/// library does not notice what the other one writes: see tensor/from_memory.hpp.
[[nodiscard]] ::DLManagedTensor* to_dlpack(AnyTensor const& t);
/// The same as version 1.0 of the structure, in capsules with the name "dltensor_versioned".
[[nodiscard]] ::DLManagedTensorVersioned* to_dlpack_versioned(AnyTensor const& t);

/// A tensor of the memory of another library. It calls the deleter when its last tensor is gone.
/// Throws an Error, and leaves the structure to the caller, for memory of another device, an
/// element type that no tensor has (integers have 64 bits), negative strides, or a later major
/// version. Nothing is read before that. Elements that must not be written to are copied.
AnyTensor from_dlpack(::DLManagedTensor* managed);
AnyTensor from_dlpack(::DLManagedTensorVersioned* managed);
/// As a Tensor<T>; throws, and leaves the structure to the caller, for another element type.
template <Scalar T> Tensor<T> from_dlpack(::DLManagedTensor* managed);
template <Scalar T> Tensor<T> from_dlpack(::DLManagedTensorVersioned* managed);

namespace detail::dlpack {

/// A tensor that keeps the structure; of type `wanted`, or of any where that is null.
AnyTensor take(Managed* managed, DType const* wanted);
AnyTensor take(ManagedVersioned* managed, DType const* wanted);

} // namespace detail::dlpack

template <Scalar T> Tensor<T> from_dlpack(::DLManagedTensor* managed) {
    return detail::dlpack::take(
        reinterpret_cast<detail::dlpack::Managed*>(managed), &xgrad::dtype_of<T>)
        .template as<T>();
}
template <Scalar T> Tensor<T> from_dlpack(::DLManagedTensorVersioned* managed) {
    return detail::dlpack::take(
        reinterpret_cast<detail::dlpack::ManagedVersioned*>(managed), &xgrad::dtype_of<T>)
        .template as<T>();
}

} // namespace xgrad::data
