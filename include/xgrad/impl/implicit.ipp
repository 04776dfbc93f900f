// The bodies of implicit.hpp, which includes this file where it includes its bodies:
// core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/implicit/problem.ipp>

XGRAD_HAS_BODIES_HERE(implicit_hpp)

#include <xgrad/core/end_headers.inc> // last
