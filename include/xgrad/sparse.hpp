// Sparse Jacobians and Hessians: their patterns, colourings and entries. Not part of xgrad.hpp, so
// that a program without them compiles faster.
#ifndef XGRAD_SPARSE_HPP
#define XGRAD_SPARSE_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/sparse/plan.hpp>
#include <xgrad/xgrad.hpp>

XGRAD_HAS_BODIES_ELSEWHERE(sparse_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/sparse.ipp>
#endif
