// The bodies of optim.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/optim/lbfgs.ipp>
#include <xgrad/impl/optim/optimizer.ipp>
#include <xgrad/impl/optim/schedule.ipp>
#ifdef XGRAD_SEPARATE_COMPILATION
#    include <xgrad/impl/optim/instances.inc>
#endif

XGRAD_HAS_BODIES_HERE(optim_hpp)

#include <xgrad/core/end_headers.inc> // last
