// The bodies of nn.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/nn/activation_modules.ipp>
#include <xgrad/impl/nn/any_module.ipp>
#include <xgrad/impl/nn/attention.ipp>
#include <xgrad/impl/nn/backward_hooks.ipp>
#include <xgrad/impl/nn/convolution_lines.ipp>
#include <xgrad/impl/nn/convolution_plan.ipp>
#include <xgrad/impl/nn/embedding.ipp>
#include <xgrad/impl/nn/functional.ipp>
#include <xgrad/impl/nn/initializers.ipp>
#include <xgrad/impl/nn/live_modules.ipp>
#include <xgrad/impl/nn/load_report.ipp>
#include <xgrad/impl/nn/module_hooks.ipp>
#include <xgrad/impl/nn/module_text.ipp>
#include <xgrad/impl/nn/normalization.ipp>
#include <xgrad/impl/nn/pooling.ipp>
#include <xgrad/impl/nn/pooling_windows.ipp>
#include <xgrad/impl/nn/standardize.ipp>
#ifdef XGRAD_SEPARATE_COMPILATION
#    include <xgrad/impl/nn/instances.inc>
#endif

XGRAD_HAS_BODIES_HERE(nn_hpp)

#include <xgrad/core/end_headers.inc> // last
