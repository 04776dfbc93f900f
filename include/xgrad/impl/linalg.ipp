// The bodies of linalg.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/kernels/lapack.ipp>
#include <xgrad/impl/linalg/matrices.ipp>

XGRAD_HAS_BODIES_HERE(linalg_hpp)

#include <xgrad/core/end_headers.inc> // last
