// Packages: modules and what belongs to them in one file, by rules for what they depend on. Not
// part of xgrad.hpp, so that a program without them compiles faster.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/package/exporter.hpp>
#include <xgrad/package/importer.hpp>
#include <xgrad/xgrad.hpp>

#include <xgrad/core/end_headers.inc> // last
