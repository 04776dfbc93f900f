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
template <class T, class P>
using Heevd = void(char const* job, char const* uplo, int const* n, T* a, int const* lda, P* w,
    T* work, int const* lwork, P* rwork, int const* lrwork, int* iwork, int const* liwork,
    int* info, Length, Length);
template <class T>
using Gesdd = void(char const* job, int const* m, int const* n, T* a, int const* lda, T* s, T* u,
    int const* ldu, T* vh, int const* ldvh, T* work, int const* lwork, int* iwork, int* info,
    Length);
template <class T, class P>
using ComplexGesdd = void(char const* job, int const* m, int const* n, T* a, int const* lda, P* s,
    T* u, int const* ldu, T* vh, int const* ldvh, T* work, int const* lwork, P* rwork, int* iwork,
    int* info, Length);

extern "C" {
Getrf<float> sgetrf_;
Getrf<double> dgetrf_;
Getrf<std::complex<float>> cgetrf_;
Getrf<std::complex<double>> zgetrf_;
Getrs<float> sgetrs_;
Getrs<double> dgetrs_;
Getrs<std::complex<float>> cgetrs_;
Getrs<std::complex<double>> zgetrs_;
Potrf<float> spotrf_;
Potrf<double> dpotrf_;
Potrf<std::complex<float>> cpotrf_;
Potrf<std::complex<double>> zpotrf_;
Trsm<float> strsm_;
Trsm<double> dtrsm_;
Trsm<std::complex<float>> ctrsm_;
Trsm<std::complex<double>> ztrsm_;
Geqrf<float> sgeqrf_;
Geqrf<double> dgeqrf_;
Geqrf<std::complex<float>> cgeqrf_;
Geqrf<std::complex<double>> zgeqrf_;
Orgqr<float> sorgqr_;
Orgqr<double> dorgqr_;
Orgqr<std::complex<float>> cungqr_;
Orgqr<std::complex<double>> zungqr_;
Syevd<float> ssyevd_;
Syevd<double> dsyevd_;
Heevd<std::complex<float>, float> cheevd_;
Heevd<std::complex<double>, double> zheevd_;
Gesdd<float> sgesdd_;
Gesdd<double> dgesdd_;
ComplexGesdd<std::complex<float>, float> cgesdd_;
ComplexGesdd<std::complex<double>, double> zgesdd_;
}

template <class T> struct Routines;
template <> struct Routines<float> {
    static constexpr auto getrf = &sgetrf_;
    static constexpr auto getrs = &sgetrs_;
    static constexpr auto potrf = &spotrf_;
    static constexpr auto trsm = &strsm_;
    static constexpr auto geqrf = &sgeqrf_;
    static constexpr auto orgqr = &sorgqr_;
    static constexpr auto syevd = &ssyevd_;
    static constexpr auto gesdd = &sgesdd_;
};
template <> struct Routines<double> {
    static constexpr auto getrf = &dgetrf_;
    static constexpr auto getrs = &dgetrs_;
    static constexpr auto potrf = &dpotrf_;
    static constexpr auto trsm = &dtrsm_;
    static constexpr auto geqrf = &dgeqrf_;
    static constexpr auto orgqr = &dorgqr_;
    static constexpr auto syevd = &dsyevd_;
    static constexpr auto gesdd = &dgesdd_;
};
template <> struct Routines<std::complex<float>> {
    static constexpr auto getrf = &cgetrf_;
    static constexpr auto getrs = &cgetrs_;
    static constexpr auto potrf = &cpotrf_;
    static constexpr auto trsm = &ctrsm_;
    static constexpr auto geqrf = &cgeqrf_;
    static constexpr auto orgqr = &cungqr_;
    static constexpr auto syevd = &cheevd_;
    static constexpr auto gesdd = &cgesdd_;
};
template <> struct Routines<std::complex<double>> {
    static constexpr auto getrf = &zgetrf_;
    static constexpr auto getrs = &zgetrs_;
    static constexpr auto potrf = &zpotrf_;
    static constexpr auto trsm = &ztrsm_;
    static constexpr auto geqrf = &zgeqrf_;
    static constexpr auto orgqr = &zungqr_;
    static constexpr auto syevd = &zheevd_;
    static constexpr auto gesdd = &zgesdd_;
};

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
