# xgrad_compile_once(<target>) shortens the compilation of a program or library that uses xgrad: what is the same for all of its files is
# compiled once, in a file that joins the target and so has its flags, and <xgrad/xgrad.hpp> is precompiled.

function(xgrad_compile_once target)
    set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/source.cpp")
    target_compile_definitions(${target} PRIVATE XGRAD_SEPARATE_COMPILATION)
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<xgrad/xgrad.hpp$<ANGLE-R>>")
    target_sources(${target} PRIVATE "${source}")
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
