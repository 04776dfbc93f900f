// SourceLocation: std::source_location, or a replacement where the compiler does not support the
// library's (clang 14 with libstdc++ 12).
#pragma once

#include <cstdint>
#include <version>

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

} // namespace xgrad::detail
