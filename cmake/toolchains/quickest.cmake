# Tests are compiled without optimisation, where clang++ takes half of the time that g++ takes. A compiler that CXX or CMAKE_CXX_COMPILER names is taken
# instead, and the default one where there is no clang++ that compiles every xtensor we know.
if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
    find_program(XGRAD_QUICKEST NAMES clang++-16 clang++-17 clang++-18)
    mark_as_advanced(XGRAD_QUICKEST)
    if(XGRAD_QUICKEST)
        set(CMAKE_CXX_COMPILER "${XGRAD_QUICKEST}" CACHE FILEPATH "The compiler")
    endif()
endif()
