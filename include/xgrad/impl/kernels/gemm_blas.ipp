// Bodies of gemm_blas.hpp.
#pragma once

#include <xgrad/kernels/gemm_blas.hpp>

namespace xgrad::detail::kernel {

XGRAD_FUNCTION bool blas_can_count(std::size_t n) {
    return n <= static_cast<std::size_t>(std::numeric_limits<int>::max());
}

XGRAD_FUNCTION bool blas_can_count(std::ptrdiff_t n) {
    return std::abs(n) <= std::numeric_limits<int>::max();
}

} // namespace xgrad::detail::kernel
