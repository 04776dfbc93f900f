# One way from xgrad to a program that uses it, from an empty directory to a run; called by CMakeLists.txt here.

function(must)
    string(REPLACE ";" " " line "${ARGV}")
    message(STATUS "${line}")
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "failed (${result}): ${line}")
    endif()
endfunction()

set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")
file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}")

if(WAY STREQUAL "single_header")
    set(includes "")
    string(REPLACE "|" ";" directories "${INCLUDES}")
    foreach(directory IN LISTS directories)
        if(NOT directory STREQUAL "/usr/include")       # as a system directory it would hide the compiler's own
            list(APPEND includes -isystem "${directory}")
        endif()
    endforeach()
    set(compile "${COMPILER}" -std=c++20 -DXGRAD_SEPARATE_COMPILATION -I "${SOURCE}/single_include" ${includes})
    file(WRITE "${SCRATCH}/xgrad_source.cpp" "#define XGRAD_SOURCE\n#include <xgrad/xgrad.hpp>\n")
    must(${compile} -c "${SCRATCH}/xgrad_source.cpp" -o "${SCRATCH}/xgrad_source.o")
    must(${compile} "${consumer}/main.cpp" "${consumer}/second.cpp" "${SCRATCH}/xgrad_source.o" -o "${SCRATCH}/consumer" -pthread)
    must("${SCRATCH}/consumer")

    # The same two lines serve a program of each header.
    string(REPLACE "|" ";" lapack "${LAPACK}")
    file(GLOB programs "${CMAKE_CURRENT_LIST_DIR}/programs/*.cpp")
    foreach(program IN LISTS programs)
        get_filename_component(name "${program}" NAME_WE)
        if(NOT name STREQUAL "linalg" OR lapack)
            must(${compile} "${program}" "${SCRATCH}/xgrad_source.o" -o "${SCRATCH}/${name}" ${lapack} -pthread)
            must("${SCRATCH}/${name}" "${SCRATCH}/${name}.file")
        endif()
    endforeach()
    return()
endif()

set(common -G "${GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
set(prefixes "${PREFIX_PATH}")

if(WAY STREQUAL "find_package")
    set(prefix "${SCRATCH}/prefix")
    list(APPEND prefixes "${prefix}")
    must("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
else()
    list(APPEND common "-DXGRAD_USE_BLAS=${USE_BLAS}"
        "-DXGRAD_FETCH_DEPENDENCIES=${FETCH}" "-DFETCHCONTENT_SOURCE_DIR_XGRAD=${SOURCE}")
    foreach(library XTL XTENSOR)
        if(FETCHED_${library})
            list(APPEND common "-DFETCHCONTENT_SOURCE_DIR_${library}=${FETCHED_${library}}")
        endif()
    endforeach()
endif()

must("${CMAKE_COMMAND}" ${common} -S "${consumer}" -B "${SCRATCH}/build" "-DCMAKE_PREFIX_PATH=${prefixes}"
    "-DWAY=${WAY}" "-DXGRAD_SOURCE=${SOURCE}" "-DXGRAD_VERSION=${VERSION}")
must("${CMAKE_COMMAND}" --build "${SCRATCH}/build")
must("${SCRATCH}/build/consumer")
