# clang++ with its own standard library.
include("${CMAKE_CURRENT_LIST_DIR}/clang.cmake")
set(CMAKE_CXX_FLAGS_INIT "-stdlib=libc++")
