// Nonlinear least squares, of real and complex parameters and residuals. Not part of xgrad.hpp, so
// that a program without it compiles faster. No LAPACK is needed.
#ifndef XGRAD_LEAST_SQUARES_HPP
#define XGRAD_LEAST_SQUARES_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/least_squares/by_rows.hpp>
#include <xgrad/xgrad.hpp>

XGRAD_HAS_BODIES_ELSEWHERE(least_squares_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/least_squares.ipp>
#endif
