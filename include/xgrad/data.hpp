// Data and files: arrays and states in files, tables, datasets and their batches, progress and
// logs. Not part of xgrad.hpp, so that a program without them compiles faster.
#ifndef XGRAD_DATA_HPP
#define XGRAD_DATA_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/data/csv.hpp>
#include <xgrad/data/csv_log.hpp>
#include <xgrad/data/dlpack.hpp>
#include <xgrad/data/event_log.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/data/npz.hpp>
#include <xgrad/data/progress.hpp>
#include <xgrad/data/safetensors.hpp>
#include <xgrad/xgrad.hpp>

XGRAD_HAS_BODIES_ELSEWHERE(data_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/data.ipp>
#endif
