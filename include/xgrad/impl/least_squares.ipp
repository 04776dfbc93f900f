// The bodies of least_squares.hpp, which includes this file where it includes its bodies:
// core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/least_squares/by_rows.ipp>
#include <xgrad/impl/least_squares/fit.ipp>

XGRAD_HAS_BODIES_HERE(least_squares_hpp)

#include <xgrad/core/end_headers.inc> // last
