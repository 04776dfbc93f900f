// The bodies of package.hpp, which includes this file where it includes its bodies:
// core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/package/archive.ipp>
#include <xgrad/impl/package/builder.ipp>
#include <xgrad/impl/package/dependencies.ipp>
#include <xgrad/impl/package/exporter.ipp>

XGRAD_HAS_BODIES_HERE(package_hpp)

#include <xgrad/core/end_headers.inc> // last
