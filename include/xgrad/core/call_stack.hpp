// The call stack as text, for anomaly mode. It has files and lines if the program has debug
// information and addr2line is installed; else it has function names.
#pragma once

#include <string>
#include <vector>

#include <xgrad/core/config.hpp>

namespace xgrad::detail {

/// The return addresses of the functions that are being called; empty where they are not known.
[[gnu::cold]] std::vector<void*> call_stack();
/// Up to eight functions outside of xgrad, innermost first.
[[gnu::cold]] std::string call_stack_text(std::vector<void*> const& frames);

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/core/call_stack.ipp>
#endif
