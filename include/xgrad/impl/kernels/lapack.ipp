// Bodies of lapack.hpp.
#pragma once

#include <xgrad/kernels/lapack.hpp>

namespace xgrad::detail::lapack {

XGRAD_FUNCTION int count(std::size_t n) {
    if (n > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        fail<ShapeError>("linalg: LAPACK does not count to ", n);
    return static_cast<int>(n);
}

} // namespace xgrad::detail::lapack
