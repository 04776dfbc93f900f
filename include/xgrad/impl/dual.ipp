// The bodies of dual.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/core/error.ipp>
#include <xgrad/impl/ops/gamma.ipp>

#include <xgrad/core/end_headers.inc> // last
