// The bodies of testing/to_dot.hpp, which includes this file where it includes its bodies:
// core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/testing/to_dot.ipp>

XGRAD_HAS_BODIES_HERE(testing_to_dot_hpp)

#include <xgrad/core/end_headers.inc> // last
