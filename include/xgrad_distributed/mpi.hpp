// The include point of MPI: the error type, and the types and reductions of elements.
//
// Shapes: MPI counts elements up to 2^31 - 1; more are a ShapeError.
// Errors: DistributedError is the exception of communication; bool elements that are to be reduced,
// and an order of complex ones, are a TypeError.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#    define OMPI_SKIP_MPICXX 1 // the C++ bindings, which MPI 3 has removed
#endif
#ifndef MPICH_SKIP_MPICXX
#    define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h> // distributed.hpp needs MPI: compile with mpicxx, or link MPI::MPI_CXX in CMake

#include <cstddef>

#include <xgrad/core/error.hpp>
#include <xgrad/core/scalar.hpp>

namespace xgrad {

/// A communication that failed: ranks that disagree, that stopped, or that did not answer in time.
struct DistributedError : Error {
    using Error::Error;
};

namespace distributed {

/// How elements of several ranks become one: their sum, product, min or max. Complex numbers have
/// no order, so they have no min and max.
enum class Reduction : std::uint8_t { sum, product, min, max };

namespace detail {

using xgrad::detail::fail;

/// Throws DistributedError where a call of MPI returned an error.
inline void check(int code, std::string_view call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail<DistributedError>(call, ": ", std::string_view(text, static_cast<std::size_t>(length)));
}

/// Types of elements that MPI sends.
template <class T>
inline constexpr bool can_be_sent =
    std::is_arithmetic_v<T> || xgrad::detail::is_complex<T> || std::same_as<T, std::byte>;

/// What MPI and messages have to know of a type of elements.
struct SentType {
    std::string_view name;
    MPI_Datatype type;
    bool has_sum = true, has_order = true;
};

template <class T> SentType sent_type() {
    static_assert(can_be_sent<T>, "elements that are sent are numbers or bytes");
    if constexpr (std::same_as<T, bool>) return {"bool", MPI_C_BOOL, false, false};
    else if constexpr (std::same_as<T, std::byte>) return {"byte", MPI_BYTE, false, false};
    else if constexpr (std::is_integral_v<T>) {
        constexpr bool has_sign = std::is_signed_v<T>;
        if constexpr (sizeof(T) == 1)
            return {has_sign ? "int8" : "uint8", has_sign ? MPI_INT8_T : MPI_UINT8_T};
        else if constexpr (sizeof(T) == 2)
            return {has_sign ? "int16" : "uint16", has_sign ? MPI_INT16_T : MPI_UINT16_T};
        else if constexpr (sizeof(T) == 4)
            return {has_sign ? "int32" : "uint32", has_sign ? MPI_INT32_T : MPI_UINT32_T};
        else return {has_sign ? "int64" : "uint64", has_sign ? MPI_INT64_T : MPI_UINT64_T};
    } else if constexpr (std::same_as<T, float>) return {"float32", MPI_FLOAT};
    else if constexpr (std::same_as<T, double>) return {"float64", MPI_DOUBLE};
    else if constexpr (std::same_as<T, long double>) return {"long double", MPI_LONG_DOUBLE};
    else if constexpr (std::same_as<T, std::complex<float>>)
        return {"complex64", MPI_C_FLOAT_COMPLEX, true, false};
    else if constexpr (std::same_as<T, std::complex<double>>)
        return {"complex128", MPI_C_DOUBLE_COMPLEX, true, false};
    else return {"complex long double", MPI_C_LONG_DOUBLE_COMPLEX, true, false};
}
inline SentType sent_type(DType type) {
    switch (type) {
    case DType::boolean:
        return sent_type<bool>();
    case DType::int64:
        return sent_type<std::int64_t>();
    case DType::float32:
        return sent_type<float>();
    case DType::float64:
        return sent_type<double>();
    case DType::complex64:
        return sent_type<std::complex<float>>();
    default:
        return sent_type<std::complex<double>>();
    }
}

/// The operation of MPI; throws TypeError where elements of this type cannot be reduced so.
inline MPI_Op mpi_op(std::string_view operation, Reduction reduction, SentType const& type) {
    bool const by_order = reduction == Reduction::min || reduction == Reduction::max;
    if (!type.has_sum || (by_order && !type.has_order))
        fail<TypeError>(operation, ": elements of type ", type.name, " have no ",
            by_order ? "order" : "sum and no product");
    switch (reduction) {
    case Reduction::sum:
        return MPI_SUM;
    case Reduction::product:
        return MPI_PROD;
    case Reduction::min:
        return MPI_MIN;
    default:
        return MPI_MAX;
    }
}

/// MPI counts with int.
inline int mpi_count(std::string_view operation, std::size_t n) {
    if (n > 0x7fffffff)
        fail<ShapeError>(operation, ": ", n, " elements are more than MPI counts (2^31 - 1)");
    return static_cast<int>(n);
}

/// What MPI writes to `value` until a request ends: begin(value, request) calls MPI, wait(request)
/// waits. Where the wait throws, MPI may still write: that memory is never freed.
template <class T, class Begin, class Wait> T received(T value, Begin begin, Wait wait) {
    auto* const written = new T(std::move(value));
    MPI_Request request = MPI_REQUEST_NULL;
    begin(*written, request);
    wait(request);
    value = std::move(*written);
    delete written;
    return value;
}

inline bool mpi_runs() noexcept {
    int started = 0, ended = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    return started && !ended;
}

/// True once a group of this program has failed. MPI_Finalize would then wait for the other ranks
/// for ever.
inline bool a_group_failed = false;

} // namespace detail

} // namespace distributed
} // namespace xgrad
