// Derivatives of solutions: root(), fixed_point(), argmin(), linear_solve() and implicit(). Not
// part of xgrad.hpp, so that a program without them compiles faster.
#ifndef XGRAD_IMPLICIT_HPP
#define XGRAD_IMPLICIT_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/implicit/solution.hpp>
#include <xgrad/xgrad.hpp>

XGRAD_HAS_BODIES_ELSEWHERE(implicit_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/implicit.ipp>
#endif
