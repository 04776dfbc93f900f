// The bodies of data.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/data/csv.ipp>
#include <xgrad/impl/data/file.ipp>
#include <xgrad/impl/data/json.ipp>
#include <xgrad/impl/data/npy.ipp>
#include <xgrad/impl/data/safetensors.ipp>
#include <xgrad/impl/data/zip.ipp>

XGRAD_HAS_BODIES_HERE(data_hpp)

#include <xgrad/core/end_headers.inc> // last
