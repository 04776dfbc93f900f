// The headers of others that headers of xgrad include, and xtensor. begin_headers.inc includes this
// one where the compiler changes options for xgrad's own functions: functions of the standard
// library keep those of the program. tools/check (foreign) compares the list with the headers.
#pragma once

#include <xgrad/core/compiler.hpp>
#include <xgrad/core/xtensor.hpp>

#if XGRAD_FAST_MATH
#    include <algorithm>
#    include <any>
#    include <array>
#    include <atomic>
#    include <bit>
#    include <cerrno>
#    include <charconv>
#    include <chrono>
#    include <clocale>
#    include <cmath>
#    include <complex>
#    include <concepts>
#    include <condition_variable>
#    include <csignal>
#    include <cstddef>
#    include <cstdint>
#    include <cstdio>
#    include <cstdlib>
#    include <cstring>
#    include <deque>
#    include <exception>
#    include <filesystem>
#    include <fstream>
#    include <functional>
#    include <initializer_list>
#    include <iostream>
#    include <iterator>
#    include <limits>
#    include <map>
#    include <memory>
#    include <mutex>
#    include <new>
#    include <numbers>
#    include <numeric>
#    include <optional>
#    include <ostream>
#    include <random>
#    include <ranges>
#    include <set>
#    include <source_location>
#    include <span>
#    include <stdexcept>
#    include <string>
#    include <string_view>
#    include <system_error>
#    include <thread>
#    include <tuple>
#    include <type_traits>
#    include <typeinfo>
#    include <unordered_map>
#    include <unordered_set>
#    include <utility>
#    include <variant>
#    include <vector>
#    include <version>
#endif
