// Bodies of call_stack.hpp. They use <execinfo.h> of glibc and addr2line, where these are.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#if __has_include(<execinfo.h>) && __has_include(<link.h>)
#    define XGRAD_CALL_STACK 1
#    include <execinfo.h>
#    include <link.h>
#else
#    define XGRAD_CALL_STACK 0
#endif

#include <xgrad/core/call_stack.hpp>

namespace xgrad::detail {

#if XGRAD_CALL_STACK

XGRAD_FUNCTION std::vector<void*> call_stack() {
    std::vector<void*> frames(64);
    frames.resize(static_cast<std::size_t>(::backtrace(frames.data(), 64)));
    return frames;
}

/// The executable or shared library that contains an address, and where it is loaded.
struct Module {
    std::uintptr_t address, base = 0;
    std::string file = {};

    explicit Module(void* frame)
        : address(reinterpret_cast<std::uintptr_t>(frame) - 1) // inside the call, not after it
    {
        ::dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* data) {
                auto& self = *static_cast<Module*>(data);
                for (int i = 0; i < info->dlpi_phnum; ++i) {
                    auto const start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
                    if (info->dlpi_phdr[i].p_type != PT_LOAD || self.address < start ||
                        self.address >= start + info->dlpi_phdr[i].p_memsz)
                        continue;
                    self.base = info->dlpi_addr;
                    self.file =
                        info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
                    return 1;
                }
                return 0;
            },
            this);
    }
};

/// The output of addr2line for an address: two lines "function" and "file:line" for each function
/// inlined there, innermost first.
inline std::vector<std::string> source_lines(Module const& m) {
    std::vector<std::string> lines;
    if (m.file.find('\'') != std::string::npos) return lines;
    char address[32];
    std::snprintf(
        address, sizeof address, "%llx", static_cast<unsigned long long>(m.address - m.base));
    auto const file =
        m.file == "/proc/self/exe" ? std::string("/proc/$PPID/exe") : "'" + m.file + "'";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(
        ::popen(("addr2line -Cfie " + file + " 0x" + address + " 2> /dev/null").c_str(), "r"),
        &::pclose);
    if (!pipe) return lines;
    std::string line;
    for (int c; (c = std::fgetc(pipe.get())) != EOF;) {
        if (c != '\n') line += static_cast<char>(c);
        else lines.push_back(std::exchange(line, {}));
    }
    return lines;
}

XGRAD_FUNCTION std::string call_stack_text(std::vector<void*> const& frames) {
    std::string text;
    std::size_t shown = 0;
    std::unique_ptr<char*, void (*)(void*)> const symbols(
        ::backtrace_symbols(frames.data(), static_cast<int>(frames.size())), &std::free);
    for (std::size_t i = 0; i < frames.size() && shown < 8; ++i) {
        auto const lines = source_lines(Module(frames[i]));
        bool known = false;
        for (std::size_t k = 0; k + 1 < lines.size(); k += 2) {
            if (lines[k].starts_with("??") || lines[k + 1].starts_with("??")) continue;
            known = true;
            if (lines[k].find("xgrad::") != std::string::npos ||
                lines[k].starts_with("__libc_start") ||
                lines[k + 1].find("/xgrad/") != std::string::npos)
                continue;
            text += "\n    " + lines[k + 1] + ", in " + lines[k];
            ++shown;
        }
        if (!known && symbols &&
            std::string_view(symbols.get()[i]).find("5xgrad") == std::string_view::npos) {
            text += std::string("\n    ") + symbols.get()[i];
            ++shown;
        }
    }
    return text.empty() ? "an unknown place" : text;
}

#else

XGRAD_FUNCTION std::vector<void*> call_stack() { return {}; }
XGRAD_FUNCTION std::string call_stack_text(std::vector<void*> const&) { return "an unknown place"; }

#endif

} // namespace xgrad::detail
