# xgrad_single_compiled: the single header, as tools/amalgamate makes it now. (That the one in the repository is up to date is the
# business of the test "amalgamation"; an old one should not break the build.) Tests name headers that exist beside xgrad.hpp
# only in the tree, hence --internal. They link xgrad::compiled, which is made of the tree: the test install.single_header compiles
# the other half of the single header.

set(single "${CMAKE_CURRENT_BINARY_DIR}/single_include")
file(GLOB_RECURSE header_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.hpp" "${PROJECT_SOURCE_DIR}/include/*.ipp" "${PROJECT_SOURCE_DIR}/include/*.inc")
add_custom_command(OUTPUT "${single}/xgrad/xgrad.hpp" "${single}/xgrad/nn.hpp" "${single}/xgrad/optim.hpp" "${single}/xgrad/data.hpp" "${single}/xgrad/linalg.hpp" "${single}/xgrad/sparse.hpp" "${single}/xgrad/package.hpp" "${single}/xgrad/distributed.hpp" "${single}/xgrad/xtensor_functions.hpp" "${single}/xgrad/higher_order.hpp" "${single}/xgrad/interop.hpp" "${single}/xgrad/dual.hpp" "${single}/xgrad/map.hpp" "${single}/xgrad/implicit.hpp" "${single}/xgrad/least_squares.hpp" "${single}/xgrad/manifold.hpp" "${single}/xgrad/sum_over.hpp" "${single}/xgrad/vmap.hpp"
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/amalgamate" --internal --output "${single}/xgrad/xgrad.hpp"
    DEPENDS "${PROJECT_SOURCE_DIR}/tools/amalgamate" "${PROJECT_SOURCE_DIR}/tools/cpp_source.py" ${header_files}
    COMMENT "Generating the single headers")
add_custom_target(xgrad_single_header DEPENDS "${single}/xgrad/xgrad.hpp")

add_library(xgrad_single_compiled STATIC EXCLUDE_FROM_ALL headers/precompiled.cpp)
target_link_libraries(xgrad_single_compiled PUBLIC xgrad_own_program xgrad::compiled)
target_precompile_headers(xgrad_single_compiled PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<xgrad/xgrad.hpp$<ANGLE-R>>")
target_include_directories(xgrad_single_compiled BEFORE PUBLIC "${single}")
add_dependencies(xgrad_single_compiled xgrad_single_header)
