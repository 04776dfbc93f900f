# Tests of the sources themselves. Python is there.

xgrad_add_test(check LABEL source COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/check")
xgrad_add_test(check.format LABEL source NEEDS clang_format COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/check" format)
xgrad_add_test(check.forge LABEL source NEEDS yaml COMMAND "${yaml_python}" "${PROJECT_SOURCE_DIR}/tools/check" forge)
xgrad_add_test(amalgamation LABEL source COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/amalgamate" --check)
# What tools_test.py leaves out where a tool is missing are tests of their own, so that this is told.
set(tools_test "${CMAKE_CURRENT_SOURCE_DIR}/tools/tools_test.py")
xgrad_add_test(tools LABEL source COMMAND Python3::Interpreter "${tools_test}")
set_property(TEST tools APPEND PROPERTY ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
xgrad_add_test(tools.format LABEL source NEEDS clang_format COMMAND Python3::Interpreter "${tools_test}" Check.test_format)
xgrad_add_test(tools.forge LABEL source NEEDS yaml COMMAND "${yaml_python}" "${tools_test}" Check.test_forge)
xgrad_add_test(tools.doxygen LABEL source NEEDS doxygen COMMAND Python3::Interpreter "${tools_test}" Docs.test_entries_of_members
    Docs.test_entries_without_comment)
if(UNIX)
    xgrad_add_test(tools.hidden LABEL source COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/hidden_tools_test.py"
        "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/hidden")
    xgrad_add_test(tools.commands LABEL source COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/commands_test.py"
        "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
    xgrad_add_test(tools.fresh LABEL source NEEDS mounts COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/fresh_test.py"
        "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
endif()
# Counts of lines and of what compiling costs: those in tools/ratchets/size.txt are not exceeded. Those of compiling are of g++.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    xgrad_add_test(size LABEL source COST 1 COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/size")
    set_property(TEST size APPEND PROPERTY ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
else()
    xgrad_add_test(size.lines LABEL source COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/size" --lines)
endif()
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

# The module: its lists of headers, and a program by a clang that knows enough of modules.
set(module_test "${CMAKE_CURRENT_SOURCE_DIR}/packages/module_test.py" "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}")
xgrad_add_test(module.headers LABEL source COMMAND Python3::Interpreter ${module_test})
xgrad_add_test(module LABEL source NEEDS clang COMMAND Python3::Interpreter ${module_test} "${XGRAD_OTHER_CLANG}")

xgrad_add_test(gdb_printers LABEL source NEEDS gdb COMMAND
    Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/gdb/printers_test.py"
    "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}/tools/gdb/xgrad_printers.py")

# A package is read without xgrad.
xgrad_add_test(read_package LABEL source NEEDS numpy COMMAND
    "${numpy_python}" "${CMAKE_CURRENT_SOURCE_DIR}/package/read_package_test.py"
    "${PROJECT_SOURCE_DIR}/examples/package_model/read_package.py" "${CMAKE_CURRENT_SOURCE_DIR}/package/format_1.package")

# Memory that NumPy and PyTorch have, or get, by DLPack.
xgrad_missing_tools(without_numpy numpy)
if(NOT without_numpy)
    add_library(dlpack_module MODULE data/dlpack_module.cpp)
    target_link_libraries(dlpack_module PRIVATE xgrad_own_program)
endif()
xgrad_add_test(dlpack LABEL source NEEDS numpy COMMAND
    "${numpy_python}" "${CMAKE_CURRENT_SOURCE_DIR}/data/dlpack.py" $<TARGET_FILE:dlpack_module>)

# A module of Python by xtensor-python, as a document shows it.
xgrad_add_test(numpy_module LABEL source NEEDS numpy xtensor_python pybind11 system_xtensor COMMAND
    "${numpy_python}" "${CMAKE_CURRENT_SOURCE_DIR}/docs/numpy_module.py" "${PROJECT_SOURCE_DIR}/docs/from_xtensor.md" "${CMAKE_CXX_COMPILER}"
    "${PROJECT_SOURCE_DIR}/include" "${XGRAD_XTENSOR_PYTHON}" "${XGRAD_PYBIND11}")

# What the documents show is what happens: their examples are test cases, made by docs/examples.py. Documents that need the same headers share
# a file: parsing the headers, and instances of the same templates, are most of what it takes to compile one.
function(xgrad_add_document_source name sources)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/docs/${name}.cpp")
    list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
    add_custom_command(OUTPUT "${source}"
        COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/examples.py" "${source}" ${ARGN}
        DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/docs/examples.py" ${ARGN}
        COMMENT "Taking the examples out of the document ${name}")
    set(${sources} ${${sources}} "${source}" PARENT_SCOPE)
endfunction()
xgrad_add_document_source(core document_sources README.md docs/architecture.md docs/from_jax.md docs/from_numpy.md docs/from_xtensor.md
    docs/functional.md docs/functions.md docs/many.md docs/map.md docs/versions.md docs/autograd.md docs/autograd/saved_tensors.md
    docs/autograd/modes.md docs/autograd/in_place.md docs/autograd/hooks.md docs/autograd/kinks.md docs/autograd/complex.md
    docs/autograd/threads.md docs/autograd/errors.md)
xgrad_add_document_source(nn document_sources docs/complex.md docs/data.md docs/from_pytorch.md docs/hooks.md docs/layers.md docs/nn.md
    docs/package.md docs/tutorial.md)
xgrad_add_test_program(docs ${xgrad_test_headers} SOURCES ${document_sources})
# Those that need what a machine may lack are programs of their own.
xgrad_add_document_source(linalg linalg_document docs/linalg.md docs/manifolds.md)
xgrad_add_test_program(docs.linalg ${xgrad_test_headers} NEEDS lapack SOURCES ${linalg_document})
xgrad_add_document_source(from_eigen eigen_document docs/from_eigen.md)
xgrad_add_test_program(docs.eigen ${xgrad_test_headers} NEEDS eigen SOURCES ${eigen_document})
xgrad_add_document_source(distributed distributed_document docs/distributed.md)
xgrad_add_distributed_program(docs_distributed RANKS 2 SOURCES ${distributed_document})

# What README.md shows as wrong does not compile, and its first program compiles with the line beside it.
xgrad_add_test(readme.mistakes LABEL source COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/mistakes.py"
    "${xgrad_compile_commands}" "${PROJECT_SOURCE_DIR}/README.md")
xgrad_add_test(readme.first_program LABEL source NEEDS system_xtensor COMMAND Python3::Interpreter
    "${CMAKE_CURRENT_SOURCE_DIR}/docs/first_program.py" "${PROJECT_SOURCE_DIR}/README.md" "${CMAKE_CXX_COMPILER}")

# The site, as tools/docs builds it, in a browser.
xgrad_add_test(site LABEL source NEEDS mkdocs doxygen chromium COMMAND
    Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/docs/site_test.py" "${CMAKE_CURRENT_BINARY_DIR}/site")

# Counts of instructions, unlike times, can be tested: benchmarks/instructions.txt has those that were recorded. They belong to
# one compiler.
file(STRINGS "${PROJECT_SOURCE_DIR}/benchmarks/instructions.txt" recorded REGEX "^# built with ")
string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
string(FIND "${recorded}" "built with ${CMAKE_CXX_COMPILER_ID} ${major}," at)
string(COMPARE NOTEQUAL "${at}" -1 is_recorded)
xgrad_set_tool(recorded_compiler ${is_recorded} "the counts were recorded with another compiler")
xgrad_missing_tools(missing valgrind recorded_compiler)
if(NOT missing AND NOT TARGET counted)
    add_subdirectory("${PROJECT_SOURCE_DIR}/benchmarks/programs" "${PROJECT_BINARY_DIR}/benchmarks/programs")
endif()
if(NOT missing)
    add_custom_target(test_instructions DEPENDS counted)
endif()
xgrad_add_test(instructions LABEL source NEEDS valgrind recorded_compiler COMMAND
    "${PROJECT_SOURCE_DIR}/benchmarks/instructions" "${PROJECT_BINARY_DIR}")
