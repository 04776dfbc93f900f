# A toolchain file, because a preset cannot ask which compilers there are. 16 first: it compiles every xtensor we know.
find_program(XGRAD_CLANG NAMES clang++-16 clang++-17 clang++-18 clang++ clang++-20 clang++-19 clang++-15 clang++-14)
if(NOT XGRAD_CLANG)
    message(FATAL_ERROR "xgrad: the preset libcxx needs clang++ (Debian and Ubuntu: the package clang)")
endif()
set(CMAKE_CXX_COMPILER "${XGRAD_CLANG}")
