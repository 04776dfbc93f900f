# WebAssembly by emscripten, with its exceptions. node runs the tests.
find_program(XGRAD_EMCC em++)
if(NOT XGRAD_EMCC)
    message(FATAL_ERROR "xgrad: the wasm presets need emscripten (Debian and Ubuntu: the package emscripten)")
endif()
get_filename_component(emscripten "${XGRAD_EMCC}" REALPATH)
get_filename_component(emscripten "${emscripten}" DIRECTORY)
include("${emscripten}/cmake/Modules/Platform/Emscripten.cmake")

# xgrad needs the algorithms of std::ranges. The libc++ of an emscripten that has none is as old as 13: its programs are compiled with the
# headers of libc++ 16, which are made for compilers from clang 14 on, and link emscripten's library. They agree in what both know of.
if(NOT EXISTS "${EMSCRIPTEN_SYSROOT}/include/c++/v1/__algorithm/ranges_find.h")
    find_path(XGRAD_LIBCXX NAMES __algorithm/ranges_find.h PATHS /usr/lib/llvm-16/include/c++/v1 NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    if(NOT XGRAD_LIBCXX)
        message(FATAL_ERROR "xgrad: this emscripten has no std::ranges::find, and needs newer headers (Debian: the package libc++-16-dev)")
    endif()
    add_compile_options(-nostdinc++ "SHELL:-isystem ${CMAKE_CURRENT_LIST_DIR}/wasm" "SHELL:-isystem ${XGRAD_LIBCXX}" "SHELL:-include xlocale.h")
endif()

find_program(XGRAD_NODE NAMES node nodejs)
set(CMAKE_CROSSCOMPILING_EMULATOR "${XGRAD_NODE}" --stack-size=7500)     # kB: nested passes need more than node gives
