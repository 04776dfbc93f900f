include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(xgrad_package_directory "${CMAKE_INSTALL_DATADIR}/cmake/xgrad")
install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp" PATTERN "*.inc")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/xgrad")
install(FILES packaging/xgrad.natvis packaging/xgrad.cppm DESTINATION "${CMAKE_INSTALL_DATADIR}/xgrad")
if(XGRAD_BUILD_COMPILED)
    install(TARGETS xgrad_compiled EXPORT xgradTargets)
endif()
install(TARGETS xgrad EXPORT xgradTargets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT xgradTargets NAMESPACE xgrad:: DESTINATION "${xgrad_package_directory}")

# Installs the libraries that were fetched: a program that finds xgrad on this machine would not find them.
set(xgrad_bundled "")
foreach(name xtl xtensor)
    if(xgrad_fetched_${name})
        list(APPEND xgrad_bundled ${name})
        install(DIRECTORY "${xgrad_fetched_${name}}/include/" DESTINATION "${CMAKE_INSTALL_DATADIR}/xgrad/${name}"
            FILES_MATCHING PATTERN "*.hpp")
        install(FILES "${xgrad_fetched_${name}}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/xgrad/${name}")
    endif()
endforeach()

# Below 1.0 a minor version may break programs. Headers have no word size, hence ARCH_INDEPENDENT; the library has.
set(independent ARCH_INDEPENDENT)
if(XGRAD_BUILD_COMPILED)
    set(independent "")
endif()
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/xgradConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion ${independent})
configure_package_config_file(cmake/xgradConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/xgradConfig.cmake"
    INSTALL_DESTINATION "${xgrad_package_directory}" PATH_VARS CMAKE_INSTALL_DATADIR)
install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/xgradConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/xgradConfigVersion.cmake"
    cmake/xtensor_flags.cmake
    cmake/compile_once.cmake
    DESTINATION "${xgrad_package_directory}")
install(DIRECTORY cmake/compiled DESTINATION "${xgrad_package_directory}")
include(cmake/pkg_config.cmake)
include(cmake/cpack.cmake)
