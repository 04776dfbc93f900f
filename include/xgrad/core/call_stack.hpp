// The call stack as text, for anomaly mode. It has files and lines if the program has debug
// information and addr2line is installed; else it has function names.
#pragma once

#include <string>
#include <vector>

#include <xgrad/core/config.hpp>

namespace xgrad::detail {

/// The return addresses of the functions that are being called; empty where they are not known.
XGRAD_LAZY [[gnu::cold]] std::vector<void*> call_stack();
/// For each stack up to eight functions outside of xgrad and the runtime libraries, innermost
/// first. Starts one shell, which calls addr2line once for each executable and library with such
/// frames.
XGRAD_LAZY [[gnu::cold]] std::vector<std::string> call_stack_texts(
    std::vector<std::vector<void*>> const& stacks);

} // namespace xgrad::detail
