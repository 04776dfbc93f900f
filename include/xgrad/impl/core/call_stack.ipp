// Bodies of source_location.hpp. They use <execinfo.h> of glibc and addr2line, where these are.
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

#include <xgrad/core/source_location.hpp>

namespace xgrad::detail {

#if XGRAD_CALL_STACK

XGRAD_LAZY_BODY std::vector<void*> call_stack() {
    std::vector<void*> frames(64);
    frames.resize(static_cast<std::size_t>(::backtrace(frames.data(), 64)));
    return frames;
}

/// The executable or shared library that contains an address, and where it is loaded.
struct Module {
    std::uintptr_t address, base = 0;
    std::string file = {};

    XGRAD_LAZY explicit Module(void* frame)
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

/// Of the C and C++ runtime: what they call a program by says nothing about it.
XGRAD_LAZY bool is_runtime(std::string const& file) {
    auto const name = std::string_view(file).substr(file.rfind('/') + 1);
    for (std::string_view const library :
        {"libc.", "libc-", "libstdc++.", "libc++.", "libpthread", "ld-"})
        if (name.starts_with(library)) return true;
    return false;
}

/// A return address, and what addr2line says about it: two lines "function" and "file:line" for
/// each function inlined there, innermost first.
struct Frame {
    Module module;
    std::vector<std::string> lines = {};
};

/// Asks addr2line about all frames at once.
XGRAD_LAZY void find_source_lines(std::vector<Frame>& frames) {
    std::vector<std::vector<Frame*>> modules;
    for (auto& frame : frames) {
        auto const& file = frame.module.file;
        if (file.empty() || file.find('\'') != std::string::npos || is_runtime(file)) continue;
        std::size_t i = 0;
        while (i < modules.size() && modules[i][0]->module.file != file) ++i;
        if (i == modules.size()) modules.emplace_back();
        modules[i].push_back(&frame);
    }
    if (modules.empty()) return;
    std::string command = "exec 2> /dev/null";
    for (auto const& module : modules) {
        auto const& file = module[0]->module.file;
        command += "; echo '#'; addr2line -aCfie " +
                   (file == "/proc/self/exe" ? "/proc/$PPID/exe" : "'" + file + "'");
        for (auto const* const frame : module) {
            char address[32];
            std::snprintf(address, sizeof address, " 0x%llx",
                static_cast<unsigned long long>(frame->module.address - frame->module.base));
            command += address;
        }
    }
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(
        ::popen(command.c_str(), "r"), &::pclose);
    if (!pipe) return;
    // "#" begins a module, and an address a frame.
    std::size_t module = 0, frame = 0;
    std::string line;
    for (int c; (c = std::fgetc(pipe.get())) != EOF;) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        if (line == "#") {
            ++module;
            frame = 0;
        } else if (line.starts_with("0x")) ++frame;
        else if (module > 0 && module <= modules.size() && frame > 0 &&
                 frame <= modules[module - 1].size())
            modules[module - 1][frame - 1]->lines.push_back(line);
        line.clear();
    }
}

/// The index behind a bracket and what it encloses. Parentheses may enclose "->", "<" and ">".
XGRAD_LAZY std::size_t behind_bracket(std::string_view text, std::size_t at) {
    char const open = text[at], close = open == '(' ? ')' : open == '<' ? '>' : '}';
    for (++at; at < text.size() && text[at] != close;)
        at = text[at] == open || (open == '<' && text[at] == '(') ? behind_bracket(text, at)
                                                                  : at + 1;
    return at + 1;
}

/// True for a function in namespace xgrad, and for one of the standard library, which calls it. Its
/// result, its template arguments and its parameters may be of any type. In what addr2line says,
/// `xgrad::Tensor<double> f<double>(int)`, a space outside of brackets ends the type of the result.
XGRAD_LAZY bool is_of_library(std::string_view function) {
    constexpr std::string_view unnamed = "(anonymous namespace)";
    std::size_t name = 0;
    for (std::size_t at = 0; at < function.size();) {
        auto const rest = function.substr(at);
        if (rest.starts_with("operator")) break; // "operator<" opens no bracket
        if (rest.starts_with(unnamed)) at += unnamed.size();
        else if (rest[0] == '<' || rest[0] == '{') at = behind_bracket(function, at);
        else if (rest[0] == '(') {
            auto const before = function.substr(0, at);
            if (!before.ends_with("decltype") && !before.ends_with("decltype ")) break;
            at = behind_bracket(function, at);
        } else if (++at; rest[0] == ' ') name = at;
    }
    function.remove_prefix(name);
    return function.starts_with("xgrad::") || function.starts_with("std::");
}

/// The functions outside of xgrad at a frame are appended to the text, and counted.
XGRAD_LAZY void append_functions(
    std::string& text, std::size_t& shown, Frame const& frame, char const* symbol) {
    auto const& lines = frame.lines;
    bool known = is_runtime(frame.module.file);
    for (std::size_t k = 0; k + 1 < lines.size(); k += 2) {
        if (lines[k].starts_with("??") || lines[k + 1].starts_with("??")) continue;
        known = true;
        if (is_of_library(lines[k]) || lines[k].starts_with("__libc_start") ||
            lines[k + 1].find("/xgrad/") != std::string::npos)
            continue;
        text += "\n    " + lines[k + 1] + ", in " + lines[k];
        ++shown;
    }
    if (!known && symbol && std::string_view(symbol).find("5xgrad") == std::string_view::npos) {
        text += std::string("\n    ") + symbol;
        ++shown;
    }
}

XGRAD_LAZY_BODY std::vector<std::string> call_stack_texts(
    std::vector<std::vector<void*>> const& stacks) {
    std::vector<Frame> frames;
    for (auto const& stack : stacks)
        for (void* const address : stack) frames.push_back({Module(address)});
    find_source_lines(frames);
    std::vector<std::string> texts;
    auto const* frame = frames.data();
    for (auto const& stack : stacks) {
        std::unique_ptr<char*, void (*)(void*)> const symbols(
            ::backtrace_symbols(stack.data(), static_cast<int>(stack.size())), &std::free);
        std::string text;
        std::size_t shown = 0;
        for (std::size_t i = 0; i < stack.size() && shown < 8; ++i)
            append_functions(text, shown, frame[i], symbols ? symbols.get()[i] : nullptr);
        frame += stack.size();
        texts.push_back(text.empty() ? "an unknown place" : text);
    }
    return texts;
}

#else

XGRAD_LAZY_BODY std::vector<void*> call_stack() { return {}; }
XGRAD_LAZY_BODY std::vector<std::string> call_stack_texts(
    std::vector<std::vector<void*>> const& stacks) {
    return {stacks.size(), "an unknown place"};
}

#endif

} // namespace xgrad::detail
