// The include point of MPI: the error type, and the types and reductions of elements.
//
// Shapes: MPI counts elements up to 2^31 - 1; more are a ShapeError.
// Gradients: none are recorded.
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

inline MPI_Datatype mpi_type(DType type) noexcept {
    switch (type) {
    case DType::boolean:
        return MPI_C_BOOL;
    case DType::int64:
        return MPI_INT64_T;
    case DType::float32:
        return MPI_FLOAT;
    case DType::float64:
        return MPI_DOUBLE;
    case DType::complex64:
        return MPI_C_FLOAT_COMPLEX;
    default:
        return MPI_C_DOUBLE_COMPLEX;
    }
}

/// The operation of MPI; throws TypeError where elements of this type cannot be reduced so.
inline MPI_Op mpi_op(std::string_view operation, Reduction reduction, DType type) {
    bool const has_order = reduction == Reduction::min || reduction == Reduction::max;
    if (type == DType::boolean || (has_order && is_complex(type)))
        fail<TypeError>(operation, ": elements of type ", name(type), " have no ",
            has_order ? "order" : "sum and no product");
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
