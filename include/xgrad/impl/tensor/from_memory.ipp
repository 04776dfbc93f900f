// Bodies of from_memory.hpp.
#pragma once

#include <cstdint>

#include <xgrad/tensor/from_memory.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void check_available(MemoryLayout const& layout, std::size_t available) {
    if (auto const needed = numel(layout.shape); needed > available)
        fail<ShapeError>(layout.operation, ": shape ", layout.shape, " needs ", needed,
            " elements, and there are ", available);
}

XGRAD_LAZY_BODY AnyArray external_array(MemoryLayout const& layout, std::byte* data,
    std::size_t element, std::size_t alignment, std::size_t available) {
    auto const& [operation, shape, strides] = layout;
    if (strides.size() != shape.size())
        fail<ShapeError>(operation, ": ", strides.size(), " strides for shape ", shape);
    for (auto const stride : strides)
        if (stride < 0)
            fail<ShapeError>(operation, ": strides ", strides,
                " are negative; read the elements forwards, and reverse the tensor with flip()");
    AnyArray a(shape);
    a.set_view(shape, strides);
    std::size_t extent = a.numel == 0 ? 0 : 1; // elements from the first to the last
    for (std::size_t d = 0; a.numel && d < shape.size(); ++d) {
        auto const more =
            multiply_extents(operation, shape[d] - 1, static_cast<std::size_t>(strides[d]));
        if (extent + more < extent)
            fail<ShapeError>(
                operation, ": shape ", shape, " and strides ", strides, " reach too far");
        extent += more;
    }
    if (extent > available)
        fail<ShapeError>(operation, ": shape ", shape, " needs ", extent,
            " elements, and there are ", available);
    multiply_extents(operation, extent, 4 * element);
    if (!data && extent) fail(operation, ": the pointer is null");
    if (reinterpret_cast<std::uintptr_t>(data) % alignment)
        fail(operation, ": the pointer is not aligned to the ", alignment,
            " bytes that elements of this type need");
    a.storage = Storage::make_external({data, nullptr, nullptr}, extent * element);
    a.data = data;
    return a;
}

} // namespace xgrad::detail
