# Runs packaging/vcpkg/xgrad/portfile.cmake without vcpkg: functions of the same names do what vcpkg's do, for a release build on this machine.
#
# cmake -DPORT_DIRECTORY=... -DPACKAGES=... -DBUILDTREES=... -DFEATURES=... -P vcpkg_steps.cmake

cmake_minimum_required(VERSION 3.22)

set(PORT xgrad)
set(CURRENT_PORT_DIR "${PORT_DIRECTORY}")
set(CURRENT_PACKAGES_DIR "${PACKAGES}")
file(REMOVE_RECURSE "${BUILDTREES}/rel")

function(must)
    execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Sets a list of -D for the features: on those that were asked for, off the others.
function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
    set(options "")
    while(arg_FEATURES)
        list(POP_FRONT arg_FEATURES feature variable)
        set(value OFF)
        if(feature IN_LIST FEATURES)
            set(value ON)
        endif()
        list(APPEND options "-D${variable}=${value}")
    endwhile()
    set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    must("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${BUILDTREES}/rel" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0
        "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
    must("${CMAKE_COMMAND}" --build "${BUILDTREES}/rel" --target install)
endfunction()

# Moves the files for CMake to share/<port>, and corrects how they find the prefix.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    set(to "${CURRENT_PACKAGES_DIR}/share/${PORT}")
    if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
        message(FATAL_ERROR "there is no ${arg_CONFIG_PATH} in the package")
    endif()
    file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
    file(COPY ${files} DESTINATION "${to}")
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
    file(GLOB files "${to}/*.cmake")
    foreach(file IN LISTS files)
        file(READ "${file}" text)
        string(REGEX REPLACE "get_filename_component\\(PACKAGE_PREFIX_DIR [^\n]*" [[get_filename_component(PACKAGE_PREFIX_DIR "${CMAKE_CURRENT_LIST_DIR}/../../" ABSOLUTE)]] text "${text}")
        string(REGEX REPLACE "(get_filename_component\\(_IMPORT_PREFIX \"\\\${CMAKE_CURRENT_LIST_FILE}\" PATH\\))(\nget_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\))*"
            "\\1\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)" text "${text}")
        file(WRITE "${file}" "${text}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
    file(GLOB files "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc" "${CURRENT_PACKAGES_DIR}/share/pkgconfig/*.pc")
    if(NOT files)
        message(FATAL_ERROR "there is no .pc file in the package")
    endif()
endfunction()

function(vcpkg_copy_pdbs)
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(COPY_FILE ${arg_FILE_LIST} "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${PORT_DIRECTORY}/portfile.cmake")
