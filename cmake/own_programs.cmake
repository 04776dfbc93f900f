# What tests, examples and benchmarks share, and what never reaches a program that uses xgrad: xgrad_own_program, with the
# warnings under which the headers must stay silent, and xgrad_own_native, the same for the processor of this machine
# where that is wanted. xgrad_own_compiled is xgrad_own_native, with what is the same for all programs compiled once.

include(CheckCXXCompilerFlag)

# MPI is asked for by programs that include <xgrad/distributed.hpp>, and by no others: they link MPI::MPI_CXX themselves.
find_package(MPI COMPONENTS CXX QUIET)
if(NOT TARGET MPI::MPI_CXX)
    message(STATUS "xgrad: no MPI, so the examples and benchmarks of <xgrad/distributed.hpp> are left out, and its tests are skipped")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/optional_tests.cmake")
xgrad_set_tool(mpi "${MPI_CXX_FOUND}" "MPI is not installed")
xgrad_set_tool(lapack "${xgrad_with_lapack}" "no LAPACK was found")

add_library(xgrad_own_program INTERFACE)
target_link_libraries(xgrad_own_program INTERFACE xgrad::xgrad)
target_compile_options(xgrad_own_program INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 suspects std::string's operator+, at -O3 by two names.
    target_compile_options(xgrad_own_program INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ collects garbage from 128 MB on: from 1 GB on, a file of tests takes 8 % less time and 0.6 GB more memory.
    target_compile_options(xgrad_own_program INTERFACE --param=ggc-min-heapsize=1048576)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")     # -Wconversion of g++ does not have it
    target_compile_options(xgrad_own_program INTERFACE -Wno-sign-conversion)
endif()
if(XGRAD_WARNINGS_AS_ERRORS)
    target_compile_options(xgrad_own_program INTERFACE -Werror)
endif()
add_library(xgrad_own_native INTERFACE)
target_link_libraries(xgrad_own_native INTERFACE xgrad_own_program)
if(XGRAD_NATIVE)
    check_cxx_compiler_flag(-march=native XGRAD_HAS_MARCH_NATIVE)
    if(XGRAD_HAS_MARCH_NATIVE)
        target_compile_options(xgrad_own_native INTERFACE -march=native)
    else()      # some compilers for ARM only know this one
        target_compile_options(xgrad_own_native INTERFACE -mcpu=native)
    endif()
    # The AVX-512 intrinsics of g++ 12 and older leave a register uninitialised on purpose, and it warns wherever they are inlined.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(xgrad_own_native INTERFACE -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
    # clang 19 complains of what it itself makes of -march=native on processors newer than it.
    check_cxx_compiler_flag(-Winvalid-feature-combination XGRAD_HAS_INVALID_FEATURE_COMBINATION)
    if(XGRAD_HAS_INVALID_FEATURE_COMBINATION)
        target_compile_options(xgrad_own_native INTERFACE -Wno-invalid-feature-combination)
    endif()
endif()

# Tests and examples are many programs, and GNU ld takes two to three seconds for one: lld takes a quarter of that, and gold half. The
# benchmarks are linked as a user's program is.
add_library(xgrad_quick_linker INTERFACE)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
    include(CheckLinkerFlag)
    foreach(linker lld gold)
        check_linker_flag(CXX -fuse-ld=${linker} XGRAD_HAS_${linker})
        if(XGRAD_HAS_${linker})
            target_link_options(xgrad_quick_linker INTERFACE -fuse-ld=${linker})
            break()
        endif()
    endforeach()
endif()

# A precompiled header carries times and paths that make ccache miss for no reason, unless it is told.
find_program(XGRAD_CCACHE ccache)
mark_as_advanced(XGRAD_CCACHE)
if(XGRAD_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${XGRAD_CCACHE}")
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        target_compile_options(xgrad_own_program INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
endif()

# xgrad::compiled with the flags of `kind`. Parsing xtensor costs more than most of our programs do, so they also share its
# precompiled header: REUSE_FROM it.
function(xgrad_add_compiled name kind)
    add_library(${name} STATIC EXCLUDE_FROM_ALL)
    target_link_libraries(${name} PUBLIC ${kind})
    target_compile_definitions(${name} INTERFACE XGRAD_SEPARATE_COMPILATION)
    xgrad_compile_once(${name})
    if(XGRAD_BATCH_BYTES)     # as tests are: two files take 20 % less time than eleven
        set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
endfunction()
xgrad_add_compiled(xgrad_own_compiled xgrad_own_native)
