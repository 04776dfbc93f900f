# Tests of the sources themselves. Python is there.

xgrad_add_test(check LABEL source COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/check")
xgrad_add_test(amalgamation LABEL source COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/amalgamate" --check)
xgrad_add_test(tools LABEL source COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/tools_test.py")
set_property(TEST tools APPEND PROPERTY ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
xgrad_add_test(versions LABEL source COMMAND Python3::Interpreter
    "${CMAKE_CURRENT_SOURCE_DIR}/packages/versions_test.py" "${PROJECT_SOURCE_DIR}" "${PROJECT_VERSION}" "${CMAKE_CXX_COMPILER}")

# The compiler's whole command line, as our tests get it, is needed by tests that call the compiler themselves. Probes that
# nobody builds have it in compile_commands.json, with the precompiled header and without; asking there keeps us from
# repeating what CMake knows.
add_library(xgrad_probe OBJECT EXCLUDE_FROM_ALL headers/probe.cpp)
target_link_libraries(xgrad_probe PRIVATE xgrad_own_native)
add_library(xgrad_precompiled_probe OBJECT EXCLUDE_FROM_ALL headers/precompiled_probe.cpp)
target_link_libraries(xgrad_precompiled_probe PRIVATE xgrad_own_compiled)
target_precompile_headers(xgrad_precompiled_probe REUSE_FROM xgrad_own_compiled)
if(TARGET MPI::MPI_CXX)
    target_link_libraries(xgrad_probe PRIVATE MPI::MPI_CXX)
    target_link_libraries(xgrad_precompiled_probe PRIVATE MPI::MPI_CXX)
endif()
set_target_properties(xgrad_probe xgrad_precompiled_probe PROPERTIES EXPORT_COMPILE_COMMANDS ON CXX_COMPILER_LAUNCHER "")
set(xgrad_compile_commands "${CMAKE_BINARY_DIR}/compile_commands.json")

if(XGRAD_LONE_HEADERS)
    xgrad_add_test(header_self_containment LABEL source TIMEOUT 1800 PROCESSORS 2 COMMAND
        Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/headers/self_contained.py"
        "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}/include")
endif()

xgrad_add_test(natvis LABEL source COMMAND
    Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/packages/natvis_test.py"
    "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}/packaging/xgrad.natvis")

# The module, by a clang that knows enough of modules; without one, 77 is skipped.
find_program(XGRAD_MODULE_CLANG NAMES clang++-16 clang++-17 clang++-18 clang++-19)
mark_as_advanced(XGRAD_MODULE_CLANG)
set(module_clang "${XGRAD_MODULE_CLANG}")
if(NOT module_clang)
    set(module_clang "")
endif()
xgrad_add_test(module LABEL source COMMAND
    Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/packages/module_test.py" "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}" "${module_clang}")
set_property(TEST module PROPERTY SKIP_RETURN_CODE 77)

# gdb need not be there: 77 is skipped.
xgrad_add_test(gdb_printers LABEL source COMMAND
    Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/gdb/printers_test.py"
    "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}/tools/gdb/xgrad_printers.py")
set_property(TEST gdb_printers PROPERTY SKIP_RETURN_CODE 77)

# NumPy need not be there: 77 is skipped. The interpreter that CMake found may be one without it beside one with it.
set(numpy_python "${Python3_EXECUTABLE}")
foreach(python "${Python3_EXECUTABLE}" /usr/bin/python3)
    execute_process(COMMAND "${python}" -c "import numpy" RESULT_VARIABLE without_numpy OUTPUT_QUIET ERROR_QUIET)
    if(without_numpy EQUAL 0)
        set(numpy_python "${python}")
        break()
    endif()
endforeach()

# A package is read without xgrad.
xgrad_add_test(read_package LABEL source COMMAND
    "${numpy_python}" "${CMAKE_CURRENT_SOURCE_DIR}/package/read_package_test.py"
    "${PROJECT_SOURCE_DIR}/examples/package_model/read_package.py" "${CMAKE_CURRENT_SOURCE_DIR}/package/format_1.package")
set_property(TEST read_package PROPERTY SKIP_RETURN_CODE 77)

# Memory that NumPy and PyTorch have, or get, by DLPack.
add_library(dlpack_module MODULE data/dlpack_module.cpp)
target_link_libraries(dlpack_module PRIVATE xgrad_own_program)
xgrad_add_test(dlpack LABEL source COMMAND "${numpy_python}" "${CMAKE_CURRENT_SOURCE_DIR}/data/dlpack.py" $<TARGET_FILE:dlpack_module>)
set_property(TEST dlpack PROPERTY SKIP_RETURN_CODE 77)

# A module of Python by xtensor-python, as a document shows it.
find_path(XGRAD_XTENSOR_PYTHON xtensor-python/pyarray.hpp)
find_path(XGRAD_PYBIND11 pybind11/pybind11.h)
mark_as_advanced(XGRAD_XTENSOR_PYTHON XGRAD_PYBIND11)
if(XGRAD_XTENSOR_PYTHON AND XGRAD_PYBIND11 AND EXISTS /usr/include/xtensor/xarray.hpp)
    xgrad_add_test(numpy_module LABEL source COMMAND "${numpy_python}" "${CMAKE_CURRENT_SOURCE_DIR}/docs/numpy_module.py"
        "${PROJECT_SOURCE_DIR}/docs/from_xtensor.md" "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/include" "${XGRAD_XTENSOR_PYTHON}" "${XGRAD_PYBIND11}")
    set_property(TEST numpy_module PROPERTY SKIP_RETURN_CODE 77)
endif()

# What the documents show is what happens: their examples are test cases, made by docs/examples.py.
set(documents README.md docs/architecture.md docs/complex.md docs/data.md docs/from_jax.md docs/from_numpy.md docs/from_pytorch.md docs/from_xtensor.md docs/functional.md docs/functions.md docs/layers.md docs/nn.md docs/package.md
    docs/tutorial.md docs/versions.md)
if(xgrad_with_lapack)
    list(APPEND documents docs/linalg.md)
endif()
function(xgrad_add_document_source name sources)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/docs/${name}.cpp")
    list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
    add_custom_command(OUTPUT "${source}"
        COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/examples.py" "${source}" ${ARGN}
        DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/docs/examples.py" ${ARGN}
        COMMENT "Taking the examples out of the document ${name}")
    set(${sources} ${${sources}} "${source}" PARENT_SCOPE)
endfunction()
foreach(document IN LISTS documents)
    get_filename_component(name "${document}" NAME_WE)
    xgrad_add_document_source(${name} document_sources "${document}")
endforeach()
xgrad_add_document_source(autograd document_sources docs/autograd.md docs/autograd/saved_tensors.md docs/autograd/modes.md docs/autograd/in_place.md
    docs/autograd/hooks.md docs/autograd/kinks.md docs/autograd/complex.md docs/autograd/threads.md docs/autograd/errors.md)
xgrad_add_test_program(docs ${xgrad_test_headers} ${document_sources})
if(TARGET MPI::MPI_CXX)
    xgrad_add_document_source(distributed distributed_document docs/distributed.md)
    xgrad_add_distributed_program(docs_distributed RANKS 2 SOURCES ${distributed_document})
endif()

# What README.md shows as wrong does not compile, and its first program compiles with the line beside it.
xgrad_add_test(readme.mistakes LABEL source COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/mistakes.py"
    "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}/README.md")
if(EXISTS /usr/include/xtensor/xarray.hpp)
    xgrad_add_test(readme.first_program LABEL source COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/first_program.py"
        "${PROJECT_SOURCE_DIR}/README.md" "${CMAKE_CXX_COMPILER}")
endif()

# The site, as tools/docs builds it, in a browser. mkdocs-material, doxygen and Chromium need not be there: 77 is skipped.
xgrad_add_test(site LABEL source COMMAND
    Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/site_test.py" "${CMAKE_CURRENT_BINARY_DIR}/site")
set_property(TEST site PROPERTY SKIP_RETURN_CODE 77)

# Counts of instructions, unlike times, can be tested: benchmarks/instructions.txt has those that were recorded. They belong to
# one compiler.
find_program(XGRAD_VALGRIND valgrind)
mark_as_advanced(XGRAD_VALGRIND)
file(STRINGS "${PROJECT_SOURCE_DIR}/benchmarks/instructions.txt" recorded REGEX "^# built with ")
string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
if(NOT XGRAD_VALGRIND)
    message(STATUS "xgrad: no valgrind, so the instruction counts are not tested")
elseif(NOT recorded MATCHES "built with ${CMAKE_CXX_COMPILER_ID} ${major},")
    message(STATUS "xgrad: instruction counts were recorded with another compiler, so they are not tested")
else()
    if(NOT TARGET counted)
        add_subdirectory("${PROJECT_SOURCE_DIR}/benchmarks/programs" "${PROJECT_BINARY_DIR}/benchmarks/programs")
    endif()
    xgrad_add_test(instructions LABEL source COMMAND "${PROJECT_SOURCE_DIR}/benchmarks/instructions" "${PROJECT_BINARY_DIR}")
    set_tests_properties(instructions PROPERTIES SKIP_RETURN_CODE 77)
endif()
