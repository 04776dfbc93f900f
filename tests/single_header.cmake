# xgrad_single_compiled: the single header, as tools/amalgamate makes it now. (That the one in the repository is up to date is the
# business of the test "amalgamation"; an old one should not break the build.) Tests name headers that exist beside xgrad.hpp
# only in the tree, hence the forwarding ones.

set(single "${CMAKE_CURRENT_BINARY_DIR}/single_include")
set(forward "${CMAKE_CURRENT_BINARY_DIR}/forward_include")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/*.hpp")
set(header_files "")
foreach(header IN LISTS headers)
    list(APPEND header_files "${PROJECT_SOURCE_DIR}/include/${header}")
    if(header MATCHES "^xgrad/(nn|optim|data|linalg)/")
        file(CONFIGURE OUTPUT "${forward}/${header}" CONTENT "#include <xgrad/${CMAKE_MATCH_1}.hpp>\n")
    elseif(header MATCHES "^xgrad/.*/")
        file(CONFIGURE OUTPUT "${forward}/${header}" CONTENT "#include <xgrad/xgrad.hpp>\n")
    endif()
endforeach()
add_custom_command(OUTPUT "${single}/xgrad/xgrad.hpp" "${single}/xgrad/nn.hpp" "${single}/xgrad/optim.hpp" "${single}/xgrad/data.hpp" "${single}/xgrad/linalg.hpp"
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/amalgamate" --output "${single}/xgrad/xgrad.hpp"
    DEPENDS "${PROJECT_SOURCE_DIR}/tools/amalgamate" "${PROJECT_SOURCE_DIR}/tools/cpp_source.py" ${header_files}
    COMMENT "Generating the single headers")
add_custom_target(xgrad_single_header DEPENDS "${single}/xgrad/xgrad.hpp")

xgrad_add_compiled(xgrad_single_compiled xgrad_own_program)
target_include_directories(xgrad_single_compiled BEFORE PUBLIC "${single}" "${forward}")
target_compile_options(xgrad_single_compiled PUBLIC $<$<CONFIG:Debug>:-O0>)
add_dependencies(xgrad_single_compiled xgrad_single_header)
