// Matrix decompositions by a LAPACK that the program links: the Fortran symbols with 32-bit
// integers. Matrices are column-major without gaps. The lengths of character arguments come last,
// as Fortran compilers pass them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include <xgrad/core/error.hpp>
#include <xgrad/core/scalar.hpp>

namespace xgrad::detail::lapack {

using Length = std::size_t;
template <class T>
using Getrf = void(int const* m, int const* n, T* a, int const* lda, int* pivots, int* info);
template <class T>
using Getrs = void(char const* op, int const* n, int const* columns, T const* lu, int const* lda,
    int const* pivots, T* b, int const* ldb, int* info, Length);
template <class T>
using Potrf = void(char const* uplo, int const* n, T* a, int const* lda, int* info, Length);
template <class T>
using Trsm = void(char const* side, char const* uplo, char const* op, char const* diag,
    int const* m, int const* n, T const* alpha, T const* a, int const* lda, T* b, int const* ldb,
    Length, Length, Length, Length);
template <class T>
using Geqrf = void(
    int const* m, int const* n, T* a, int const* lda, T* tau, T* work, int const* lwork, int* info);
template <class T>
using Orgqr = void(int const* m, int const* n, int const* k, T* a, int const* lda, T const* tau,
    T* work, int const* lwork, int* info);
template <class T>
using Syevd = void(char const* job, char const* uplo, int const* n, T* a, int const* lda, T* w,
    T* work, int const* lwork, int* iwork, int const* liwork, int* info, Length, Length);
template <class T>
using Heevd = void(char const* job, char const* uplo, int const* n, T* a, int const* lda,
    precision_of<T>* w, T* work, int const* lwork, precision_of<T>* rwork, int const* lrwork,
    int* iwork, int const* liwork, int* info, Length, Length);
template <class T>
using Gesdd = void(char const* job, int const* m, int const* n, T* a, int const* lda, T* s, T* u,
    int const* ldu, T* vh, int const* ldvh, T* work, int const* lwork, int* iwork, int* info,
    Length);
template <class T>
using ComplexGesdd = void(char const* job, int const* m, int const* n, T* a, int const* lda,
    precision_of<T>* s, T* u, int const* ldu, T* vh, int const* ldvh, T* work, int const* lwork,
    precision_of<T>* rwork, int* iwork, int* info, Length);

/// The routines of one scalar type, and their symbols, which begin with `p`.
template <class T> struct Routines;
#define XGRAD_ROUTINES(T, p, qr, eigen, Eigen, Svd)                                                \
    extern "C" {                                                                                   \
    Getrf<T> p##getrf_;                                                                            \
    Getrs<T> p##getrs_;                                                                            \
    Potrf<T> p##potrf_;                                                                            \
    Trsm<T> p##trsm_;                                                                              \
    Geqrf<T> p##geqrf_;                                                                            \
    Orgqr<T> p##qr;                                                                                \
    Eigen<T> p##eigen;                                                                             \
    Svd<T> p##gesdd_;                                                                              \
    }                                                                                              \
    template <> struct Routines<T> {                                                               \
        static constexpr auto getrf = &p##getrf_;                                                  \
        static constexpr auto getrs = &p##getrs_;                                                  \
        static constexpr auto potrf = &p##potrf_;                                                  \
        static constexpr auto trsm = &p##trsm_;                                                    \
        static constexpr auto geqrf = &p##geqrf_;                                                  \
        static constexpr auto orgqr = &p##qr;                                                      \
        static constexpr auto syevd = &p##eigen;                                                   \
        static constexpr auto gesdd = &p##gesdd_;                                                  \
    };
XGRAD_ROUTINES(float, s, orgqr_, syevd_, Syevd, Gesdd)
XGRAD_ROUTINES(double, d, orgqr_, syevd_, Syevd, Gesdd)
XGRAD_ROUTINES(std::complex<float>, c, ungqr_, heevd_, Heevd, ComplexGesdd)
XGRAD_ROUTINES(std::complex<double>, z, ungqr_, heevd_, Heevd, ComplexGesdd)
#undef XGRAD_ROUTINES

/// A size as LAPACK's integer type; throws ShapeError if it is too large.
int count(std::size_t n);
inline int leading(int rows) { return std::max(1, rows); }

/// Calls run(work, size) twice: with size -1, which asks for the workspace size, and with the
/// workspace.
template <class T, class Run> void with_workspace(Run run) {
    T wanted{};
    int size = -1;
    run(&wanted, &size);
    // A size returned in a float may have been rounded down.
    using P = precision_of<T>;
    size = count(static_cast<std::size_t>(
        std::ceil(std::nextafter(std::real(wanted), std::numeric_limits<P>::infinity()))));
    std::vector<T> work(static_cast<std::size_t>(std::max(1, size)));
    run(work.data(), &size);
}

/// P A = L U in place. Returns 0, or the index, from 1 on, of the first pivot that is 0.
template <class T> int factor_lu(int n, T* a, int* pivots) {
    int info = 0;
    int const ld = leading(n);
    Routines<T>::getrf(&n, &n, a, &ld, pivots, &info);
    return info;
}
/// A = L L^H of a row-major matrix; reads the lower triangle of A and overwrites it by L. Returns
/// 0, or the order of the first leading minor that is not positive. To LAPACK A is its transpose,
/// and L is the upper factor U of A^T = U^H U.
template <class T> int factor_cholesky(int n, T* a) {
    int info = 0;
    int const ld = leading(n);
    Routines<T>::potrf("U", &n, a, &ld, &info, 1);
    return info;
}

/// Options of solve_triangular: op(A) X = B if `left`, else X op(A) = B.
struct Triangular {
    bool left = true, upper = false, unit = false, adjoint = false;
};
/// Solves for X; the m x n matrix B is overwritten by X.
template <class T> void solve_triangular(Triangular is, int m, int n, T const* a, T* b) {
    T const one(1);
    int const lda = leading(is.left ? m : n), ldb = leading(m);
    Routines<T>::trsm(is.left ? "L" : "R", is.upper ? "U" : "L", is.adjoint ? "C" : "N",
        is.unit ? "U" : "N", &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

/// Solves A x = b, or A^H x = b, for several columns b with the factors of A; x overwrites b.
template <class T>
void solve_lu(bool adjoint, int n, int columns, T const* lu, int const* pivots, T* b) {
    constexpr int few = 32; // up to here the threads that OpenBLAS starts in getrs cost more than
                            // the work
    if (n > few) {
        int info = 0;
        Routines<T>::getrs(adjoint ? "C" : "N", &n, &columns, lu, &n, pivots, b, &n, &info, 1);
        return;
    }
    auto const for_each_column = [&](auto f) {
        for (T *column = b, *const end =
                                b + static_cast<std::size_t>(n) * static_cast<std::size_t>(columns);
             column != end; column += n)
            f(column);
    };
    Triangular const lower{.unit = true, .adjoint = adjoint},
        upper{.upper = true, .adjoint = adjoint};
    if (!adjoint)
        for_each_column([&](T* x) {
            for (int i = 0; i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
        });
    solve_triangular(adjoint ? upper : lower, n, columns, lu, b);
    solve_triangular(adjoint ? lower : upper, n, columns, lu, b);
    if (adjoint)
        for_each_column([&](T* x) {
            for (int i = n; i-- > 0;) std::swap(x[i], x[pivots[i] - 1]);
        });
}

/// A = Q R of an m x n matrix: the upper triangle of A becomes R, and the first min(m, n) columns
/// of Q are written to q.
template <class T> void factor_qr(int m, int n, T* a, T* q) {
    int info = 0;
    int const k = std::min(m, n), ld = leading(m);
    std::vector<T> tau(static_cast<std::size_t>(std::max(1, k)));
    with_workspace<T>([&](T* work, int const* size) {
        Routines<T>::geqrf(&m, &n, a, &ld, tau.data(), work, size, &info);
    });
    std::copy_n(a, static_cast<std::size_t>(m) * static_cast<std::size_t>(k), q);
    with_workspace<T>([&](T* work, int const* size) {
        Routines<T>::orgqr(&m, &k, &k, q, &ld, tau.data(), work, size, &info);
    });
}

/// The eigenvalues, ascending, of a Hermitian matrix; reads one triangle. If `vectors`, the
/// eigenvectors overwrite the matrix. Returns nonzero if the algorithm did not converge.
template <class T> int eigen(bool vectors, bool upper, int n, T* a, precision_of<T>* values) {
    using P = precision_of<T>;
    int info = 0;
    int const ld = leading(n);
    char const *const job = vectors ? "V" : "N", *const uplo = upper ? "U" : "L";
    auto const size = static_cast<std::size_t>(n);
    std::vector<int> integers(5 * size + 3);
    int const liwork = static_cast<int>(integers.size());
    if constexpr (is_complex<T>) {
        std::vector<P> reals(vectors ? 2 * size * size + 5 * size + 1 : size + 1);
        int const lrwork = count(reals.size());
        with_workspace<T>([&](T* work, int const* lwork) {
            Routines<T>::syevd(job, uplo, &n, a, &ld, values, work, lwork, reals.data(), &lrwork,
                integers.data(), &liwork, &info, 1, 1);
        });
    } else
        with_workspace<T>([&](T* work, int const* lwork) {
            Routines<T>::syevd(
                job, uplo, &n, a, &ld, values, work, lwork, integers.data(), &liwork, &info, 1, 1);
        });
    return info;
}

/// The singular values, descending, of an m x n matrix, which is overwritten; with u and vh also
/// the first min(m, n) singular vectors. Returns nonzero if the algorithm did not converge.
template <class T> int singular(int m, int n, T* a, precision_of<T>* values, T* u, T* vh) {
    using P = precision_of<T>;
    int info = 0;
    int const k = std::min(m, n), lda = leading(m), ldvh = leading(k);
    char const* const job = u ? "S" : "N";
    auto const least = static_cast<std::size_t>(k), most = static_cast<std::size_t>(std::max(m, n));
    std::vector<int> integers(8 * least + 1);
    if constexpr (is_complex<T>) {
        std::vector<P> reals(u ? std::max(5 * least * least + 5 * least,
                                     2 * most * least + 2 * least * least + least) +
                                     1
                               : 7 * least + 1);
        with_workspace<T>([&](T* work, int const* lwork) {
            Routines<T>::gesdd(job, &m, &n, a, &lda, values, u, &lda, vh, &ldvh, work, lwork,
                reals.data(), integers.data(), &info, 1);
        });
    } else
        with_workspace<T>([&](T* work, int const* lwork) {
            Routines<T>::gesdd(job, &m, &n, a, &lda, values, u, &lda, vh, &ldvh, work, lwork,
                integers.data(), &info, 1);
        });
    return info;
}

} // namespace xgrad::detail::lapack
