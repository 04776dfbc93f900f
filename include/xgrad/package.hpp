// Packages: modules and what belongs to them in one file, by rules for what they depend on. Not
// part of xgrad.hpp, so that a program without them compiles faster.
#ifndef XGRAD_PACKAGE_HPP
#define XGRAD_PACKAGE_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/package/exporter.hpp>
#include <xgrad/package/importer.hpp>
#include <xgrad/xgrad.hpp>

XGRAD_HAS_BODIES_ELSEWHERE(package_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/package.ipp>
#endif
