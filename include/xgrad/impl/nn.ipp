// The bodies of nn.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/nn/any_module.ipp>
#include <xgrad/impl/nn/backward_hooks.ipp>
#include <xgrad/impl/nn/convolution_plan.ipp>
#include <xgrad/impl/nn/modules.ipp>
#ifdef XGRAD_SEPARATE_COMPILATION
#    include <xgrad/impl/nn/instances.inc>
#endif

XGRAD_HAS_BODIES_HERE(nn_hpp)

#include <xgrad/core/end_headers.inc> // last
