# Finds what xgrad stands on, or fetches it, and leaves the targets xtl, xtensor, BLAS::BLAS, LAPACK::LAPACK,
# Threads::Threads, the variables xgrad_with_{blas,lapack}, and xgrad_need, with which the tests get doctest, and the examples CLI11 and stb.

include(FetchContent)

foreach(option XGRAD_FETCH_DEPENDENCIES XGRAD_USE_BLAS)
    if(NOT "${${option}}" STREQUAL "AUTO")
        if(${option})
            set(${option} ON)
        else()
            set(${option} OFF)
        endif()
    endif()
endforeach()

# Pinned by commit. The newest xtensor is the first choice, since it is free of the C++20 faults of the older ones, but
# clang 14 and 15 do not compile it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    set(xgrad_pin_xtl a7c1c5444dfc57f76620391af4c94785ff82c8d6)        # 0.7.7
    set(xgrad_pin_xtensor 3634f2ded19e0cf38208c8b86cea9e1d7c8e397d)    # 0.25.0
    set(xgrad_pinned_xtensor_version 0.25.0)
else()
    set(xgrad_pin_xtl ef84e9f27020ad54961c99acd293d80d4b775dd3)        # 0.8.0
    set(xgrad_pin_xtensor f115228a7fc277b9be1bef34572831f8fd53ac73)    # 0.27.1
    set(xgrad_pinned_xtensor_version 0.27.1)
endif()
set(xgrad_pin_doctest 1da23a3e8119ec5cce4f9388e91b065e20bf06f5)        # 2.4.12
set(xgrad_pin_CLI11 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9)        # 2.4.2
set(xgrad_pin_stb 8b5f1f37b5b75829fc72d38e7b5d4bcbf8a26d55)          # 2022-09-08
set(xgrad_home_xtl https://github.com/xtensor-stack/xtl.git)
set(xgrad_home_xtensor https://github.com/xtensor-stack/xtensor.git)
set(xgrad_home_doctest https://github.com/doctest/doctest.git)
set(xgrad_home_CLI11 https://github.com/CLIUtils/CLI11.git)
set(xgrad_home_stb https://github.com/nothings/stb.git)

# All of them are header-only, so an include directory is all we want. Naming a SOURCE_SUBDIR without a CMakeLists.txt
# keeps their own builds out of ours: some ask for a CMake older than today's accepts, and their targets would have to
# be installed along with ours.
function(xgrad_fetch name target include_directory)
    if(XGRAD_FETCH_DEPENDENCIES STREQUAL "OFF")
        message(FATAL_ERROR "xgrad: ${name} was not found, and XGRAD_FETCH_DEPENDENCIES is OFF. "
            "Install it (tools/install_dependencies does, on Debian and Ubuntu), or set CMAKE_PREFIX_PATH")
    endif()
    message(STATUS "xgrad: ${name} is fetched (commit ${xgrad_pin_${name}})")
    FetchContent_Declare(${name}
        GIT_REPOSITORY ${xgrad_home_${name}} GIT_TAG ${xgrad_pin_${name}} SOURCE_SUBDIR include)
    FetchContent_MakeAvailable(${name})
    string(TOLOWER ${name} lower)      # as FetchContent names its variables
    if(NOT TARGET ${target})      # it exists already where the program around us declared the same download
        add_library(${target} INTERFACE IMPORTED GLOBAL)
        target_include_directories(${target} SYSTEM INTERFACE "${${lower}_SOURCE_DIR}/${include_directory}")
    endif()
    set(xgrad_fetched_${name} "${${lower}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

macro(xgrad_look_for name target)
    if(NOT TARGET ${target} AND NOT XGRAD_FETCH_DEPENDENCIES STREQUAL "ON")
        find_package(${name} ${ARGN} QUIET)
    endif()
endmacro()

macro(xgrad_need name target include_directory)
    xgrad_look_for(${name} ${target})
    if(NOT TARGET ${target})
        xgrad_fetch(${name} ${target} ${include_directory})
    endif()
endmacro()

find_package(Threads REQUIRED)

# A good xtensor brings the xtl that fits it. Where there is none, both are fetched, as a pair.
xgrad_look_for(xtensor xtensor 0.24)
if(TARGET xtensor)
    xgrad_need(xtl xtl include)
else()
    if(NOT TARGET xtl)
        xgrad_fetch(xtl xtl include)
    endif()
    xgrad_fetch(xtensor xtensor include)
    set(xtensor_VERSION ${xgrad_pinned_xtensor_version})
endif()

set(xgrad_with_blas OFF)
set(xgrad_with_lapack OFF)
if(XGRAD_USE_BLAS)
    find_package(BLAS QUIET)
    if(TARGET BLAS::BLAS)
        set(xgrad_with_blas ON)
        find_package(LAPACK QUIET)
        if(TARGET LAPACK::LAPACK)
            set(xgrad_with_lapack ON)
        endif()
    elseif(XGRAD_USE_BLAS STREQUAL "ON")
        message(FATAL_ERROR "xgrad: XGRAD_USE_BLAS is ON, but no BLAS was found (libopenblas-dev is a good one)")
    endif()
endif()

message(STATUS "xgrad ${PROJECT_VERSION}: xtensor ${xtensor_VERSION}, "
    "BLAS ${xgrad_with_blas}, LAPACK ${xgrad_with_lapack}")
