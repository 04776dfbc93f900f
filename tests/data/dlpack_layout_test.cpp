// The structures of DLPack have the layout of dlpack.h.
#include <cstddef>

#include <dlpack/dlpack.h>
#include <doctest/doctest.h>
#include <xgrad/data.hpp>

namespace xg = xgrad;
namespace raw = xg::data::detail::dlpack;
using D = xg::Tensor<double>;
using xg::data::to_dlpack;

TEST_CASE("the structures have the layout of dlpack.h") {
    static_assert(sizeof(raw::Managed) == sizeof(::DLManagedTensor));
    static_assert(offsetof(raw::Managed, context) == offsetof(::DLManagedTensor, manager_ctx));
    static_assert(offsetof(raw::Managed, deleter) == offsetof(::DLManagedTensor, deleter));
    static_assert(sizeof(raw::Array) == sizeof(::DLTensor));
    static_assert(offsetof(raw::Array, device) == offsetof(::DLTensor, device));
    static_assert(offsetof(raw::Array, axes) == offsetof(::DLTensor, ndim));
    static_assert(offsetof(raw::Array, type) == offsetof(::DLTensor, dtype));
    static_assert(offsetof(raw::Array, shape) == offsetof(::DLTensor, shape));
    static_assert(offsetof(raw::Array, strides) == offsetof(::DLTensor, strides));
    static_assert(offsetof(raw::Array, byte_offset) == offsetof(::DLTensor, byte_offset));

    D const x({{1., 2.}, {3., 4.}});
    ::DLManagedTensor* const m = to_dlpack(x.t());
    CHECK(m->dl_tensor.device.device_type == kDLCPU);
    CHECK(m->dl_tensor.ndim == 2);
    CHECK(m->dl_tensor.dtype.code == kDLFloat);
    CHECK(m->dl_tensor.dtype.bits == 64);
    CHECK(m->dl_tensor.strides[0] == 1);
    CHECK(m->dl_tensor.strides[1] == 2);
    CHECK(static_cast<double*>(m->dl_tensor.data)[2] == 3);
    m->deleter(m);
}
