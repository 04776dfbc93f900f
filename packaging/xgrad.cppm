// The module xgrad: "import xgrad;" in place of the headers; all but distributed.hpp, and
// linalg.hpp where XGRAD_USE_LAPACK is 0. It exports no macros: XGRAD_VERSION stands in
// core/config.hpp.
//
// What a module declares is attached to it. That is wanted for our headers, which therefore stand
// in the exported part, and must not happen to other libraries', whose headers come before. The
// test "module" compares this list with what our headers include. The types of the module are not
// those of the headers: all files of a program either import xgrad or include it.
module;

#define XGRAD_HIGHER_ORDER 1 // derivatives of any order: nobody who imports xgrad can ask for them
#include <xgrad/core/xtensor.hpp>

#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <clocale>
#include <cmath>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <ranges>
#include <set>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>
#include <version>

#if __has_include(<unistd.h>) && !defined(_WIN32)
#    include <fcntl.h>
#    include <pthread.h>
#    include <sys/file.h>
#    include <sys/stat.h>
#    include <unistd.h>
#endif
#if __has_include(<execinfo.h>) && __has_include(<link.h>)
#    include <execinfo.h>
#    include <link.h>
#endif
#if __has_include(<sys/single_threaded.h>)
#    include <sys/single_threaded.h>
#endif

// Of clang's intrinsics, which are static, a template of ours would find none where another file
// instantiates it.
#ifdef __clang__
#    define static
#endif
#include <xgrad/core/intrinsics.hpp>
#undef static

export module xgrad;

export {
#include <xgrad/higher_order.hpp>
#include <xgrad/xgrad.hpp>

#include <xgrad/data.hpp>
#include <xgrad/dual.hpp>
#include <xgrad/implicit.hpp>
#include <xgrad/interop.hpp>
#include <xgrad/least_squares.hpp>
#include <xgrad/manifold.hpp>
#include <xgrad/map.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/package.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/sum_over.hpp>
#include <xgrad/vmap.hpp>
#if XGRAD_USE_LAPACK
#    include <xgrad/linalg.hpp>
#endif
#include <xgrad/testing/differences.hpp>
#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/testing/jacobian_check.hpp>
#include <xgrad/testing/to_dot.hpp>
}
