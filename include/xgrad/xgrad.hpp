// xgrad: reverse-mode automatic differentiation for xtensor arrays. This header is everything but
// testing/, which programs include where they want it.
#ifndef XGRAD_XGRAD_HPP
#define XGRAD_XGRAD_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/core/parallel.hpp>
#include <xgrad/functional/checkpoint.hpp>
#include <xgrad/functional/hvp.hpp>
#include <xgrad/ops/counting.hpp>
#include <xgrad/ops/cumulative.hpp>
#include <xgrad/ops/flipping.hpp>
#include <xgrad/ops/fourier.hpp>
#include <xgrad/ops/gamma.hpp>
#include <xgrad/ops/linalg.hpp>
#include <xgrad/ops/padding.hpp>
#include <xgrad/ops/repeating.hpp>
#include <xgrad/ops/rounding.hpp>
#include <xgrad/ops/special.hpp>
#include <xgrad/ops/triangle.hpp>
#include <xgrad/ops/trigonometric.hpp>
#include <xgrad/tensor/backward.hpp>
#include <xgrad/tensor/composed.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/from_memory.hpp>
#include <xgrad/tensor/function.hpp>
#include <xgrad/tensor/inplace.hpp>
#include <xgrad/tensor/join.hpp>
#include <xgrad/tensor/ordering.hpp>
#include <xgrad/tensor/print.hpp>
#include <xgrad/tensor/quantile.hpp>
#include <xgrad/tensor/refused_operators.hpp>
#include <xgrad/tensor/state_dict.hpp>
#include <xgrad/tensor/tensor_indexing.hpp>

XGRAD_HAS_BODIES_ELSEWHERE(xgrad_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/xgrad.ipp>
#endif
