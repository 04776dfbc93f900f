// SourceLocation: std::source_location, or a replacement where the compiler does not support the
// library's (clang 14 with libstdc++ 12). And the call stack as text, for anomaly mode: it has
// files and lines if the program has debug information and addr2line is installed; else it has
// function names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>
#include <version>

#include <xgrad/core/config.hpp>

#if defined(__cpp_lib_source_location)
#    include <source_location>
#endif

namespace xgrad::detail {

#if defined(__cpp_lib_source_location)
using SourceLocation = std::source_location;
#else
class SourceLocation {
public:
    static constexpr SourceLocation current(char const* file = __builtin_FILE(),
        char const* function = __builtin_FUNCTION(),
        std::uint_least32_t line = __builtin_LINE()) noexcept {
        SourceLocation here;
        here.file_ = file;
        here.function_ = function;
        here.line_ = line;
        return here;
    }
    constexpr char const* file_name() const noexcept { return file_; }
    constexpr char const* function_name() const noexcept { return function_; }
    constexpr std::uint_least32_t line() const noexcept { return line_; }

private:
    char const* file_ = "";
    char const* function_ = "";
    std::uint_least32_t line_ = 0;
};
#endif

/// The return addresses of the functions that are being called; empty where they are not known.
XGRAD_LAZY [[gnu::cold]] std::vector<void*> call_stack();
/// For each stack up to eight functions outside of xgrad and the runtime libraries, innermost
/// first. Starts one shell, which calls addr2line once for each executable and library with such
/// frames.
XGRAD_LAZY [[gnu::cold]] std::vector<std::string> call_stack_texts(
    std::vector<std::vector<void*>> const& stacks);

} // namespace xgrad::detail
