// The bodies of testing/gradcheck.hpp, which includes this file where it includes its bodies:
// core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/testing/gradcheck.ipp>

XGRAD_HAS_BODIES_HERE(testing_gradcheck_hpp)

#include <xgrad/core/end_headers.inc> // last
