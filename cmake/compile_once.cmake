# What is the same for all files of a program can be compiled once: the files in compiled/ have it. A static library leaves out
# those of them that a program does not need.

file(GLOB xgrad_compiled_sources "${CMAKE_CURRENT_LIST_DIR}/compiled/*.cpp")
if(NOT xgrad_with_lapack)
    list(FILTER xgrad_compiled_sources EXCLUDE REGEX "linalg")
endif()
set(xgrad_compiled_sources "${xgrad_compiled_sources}" CACHE INTERNAL "")

# xgrad_compile_once(<target>) compiles those files with the flags of a program or library, and precompiles <xgrad/xgrad.hpp> for it.
# The library xgrad::compiled has the flags with which it was built.
function(xgrad_compile_once target)
    target_compile_definitions(${target} PRIVATE XGRAD_SEPARATE_COMPILATION)
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<xgrad/xgrad.hpp$<ANGLE-R>>")
    target_sources(${target} PRIVATE ${xgrad_compiled_sources})
endfunction()
