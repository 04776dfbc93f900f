// The bodies of sparse.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/sparse/coloring.ipp>
#include <xgrad/impl/sparse/pattern.ipp>
#include <xgrad/impl/sparse/plan.ipp>

XGRAD_HAS_BODIES_HERE(sparse_hpp)

#include <xgrad/core/end_headers.inc> // last
