// Products against a triple loop in long double, for every way in which an operand can lie in
// memory.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/kernels/gemm.hpp>
#include <xgrad/kernels/gemm_kernel.hpp>
#include <xgrad/kernels/gemm_small.hpp>
#include <xgrad/kernels/gemv_kernel.hpp>

using xgrad::detail::gemm;
namespace kernel = xgrad::detail::kernel;

namespace {

template <class T> using Real = kernel::real_of<T>;

/// Where sums are exact as far as we are concerned.
template <class T> struct Widened {
    using type = long double;
};
template <class R> struct Widened<std::complex<R>> {
    using type = std::complex<long double>;
};
template <class T> using Exact = typename Widened<T>::type;

long double times(long double a, long double b) { return a * b; }
std::complex<long double> times(
    std::complex<long double> const& a, std::complex<long double> const& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T> T random_number() {
    static std::mt19937 engine(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    if constexpr (kernel::parts<T> == 1) return static_cast<T>(uniform(engine));
    else return {static_cast<Real<T>>(uniform(engine)), static_cast<Real<T>>(uniform(engine))};
}

enum class Layout {
    rows,
    columns,
    padded_rows,
    padded_columns,
    scattered,
    upside_down,
    mirrored,
    one_row,
    one_number
};
constexpr Layout layouts[] = {Layout::rows, Layout::columns, Layout::padded_rows,
    Layout::padded_columns, Layout::scattered, Layout::upside_down, Layout::mirrored,
    Layout::one_row, Layout::one_number};

/// A random matrix in memory of its own. What lies between its elements is NaN, so that nobody
/// reads it unnoticed.
template <class T> struct Matrix {
    std::vector<T> memory;
    std::size_t rows, columns;
    std::ptrdiff_t rs, cs, start = 0;
    bool conj;

    Matrix(std::size_t m, std::size_t n, Layout layout, bool conjugate)
        : rows(m), columns(n), conj(conjugate) {
        auto const height = static_cast<std::ptrdiff_t>(m), length = static_cast<std::ptrdiff_t>(n);
        rs = length, cs = 1;
        switch (layout) {
        case Layout::rows:
            break;
        case Layout::columns:
            rs = 1, cs = height;
            break;
        case Layout::padded_rows:
            rs = length + 3;
            break;
        case Layout::padded_columns:
            rs = 1, cs = height + 2;
            break;
        case Layout::scattered:
            rs = 2 * length + 1, cs = 2;
            break;
        case Layout::upside_down:
            rs = -length, start = (height - 1) * length;
            break;
        case Layout::mirrored:
            rs = 1, cs = -height, start = (length - 1) * height;
            break;
        case Layout::one_row:
            rs = 0;
            break;
        case Layout::one_number:
            rs = cs = 0;
            break;
        }
        auto const size = std::max(height - 1, std::ptrdiff_t{0}) * std::abs(rs) +
                          std::max(length - 1, std::ptrdiff_t{0}) * std::abs(cs) + 1;
        memory.assign(static_cast<std::size_t>(size), std::numeric_limits<Real<T>>::quiet_NaN());
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < n; ++j) memory[index(i, j)] = random_number<T>();
    }

    std::size_t index(std::size_t i, std::size_t j) const {
        return static_cast<std::size_t>(
            start + static_cast<std::ptrdiff_t>(i) * rs + static_cast<std::ptrdiff_t>(j) * cs);
    }
    T const* data() const { return memory.data() + start; }
    /// What is meant, row by row.
    std::vector<Exact<T>> meaning() const {
        std::vector<Exact<T>> all;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                Exact<T> const x(memory[index(i, j)]);
                if constexpr (kernel::parts<T> == 1) all.push_back(x);
                else all.push_back(conj ? std::conj(x) : x);
            }
        return all;
    }
    kernel::Operand<T> operand() const { return {data(), rs, cs, kernel::parts<T> == 2 && conj}; }
};

/// C with a gap after each row. Where it is not added to, it is NaN before.
template <class T> struct Result {
    std::size_t rows, columns, ldc;
    bool add;
    std::vector<T> before, after;

    Result(std::size_t m, std::size_t n, bool accumulate, std::size_t gap = 2)
        : rows(m), columns(n), ldc(n + gap), add(accumulate), before(m * ldc) {
        for (auto& x : before)
            x = add ? random_number<T>() : T(std::numeric_limits<Real<T>>::quiet_NaN());
        for (std::size_t i = 0; i < m; ++i)
            std::fill_n(before.begin() + static_cast<std::ptrdiff_t>(i * ldc + n), gap, T(5));
        after = before;
    }

    /// The largest error as a part of what rounding may do; infinite if a gap was written to.
    double error(Matrix<T> const& a, Matrix<T> const& b) const {
        auto const x = a.meaning(), y = b.meaning();
        auto const k = a.columns;
        auto const epsilon = static_cast<long double>(std::numeric_limits<Real<T>>::epsilon());
        auto const allowed =
            epsilon * static_cast<long double>((k + 2) * (2 * k + 2)); // a product is 2 at most
        double worst = 0;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                auto sum = add ? Exact<T>(before[i * ldc + j]) : Exact<T>(0);
                for (std::size_t p = 0; p < k; ++p) sum += times(x[i * k + p], y[p * columns + j]);
                auto const part =
                    static_cast<double>(std::abs(sum - Exact<T>(after[i * ldc + j])) / allowed);
                worst = std::isnan(part) ? infinity : std::max(worst, part);
            }
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = columns; j < ldc; ++j)
                if (after[i * ldc + j] != T(5)) worst = infinity;
        return worst;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
};

template <class T> double error_of_gemm(Matrix<T> const& a, Matrix<T> const& b, bool add) {
    Result<T> c(a.rows, b.columns, add);
    gemm(a.rows, b.columns, a.columns, a.data(), a.rs, a.cs, a.conj, b.data(), b.rs, b.cs, b.conj,
        c.after.data(), static_cast<std::ptrdiff_t>(c.ldc), add);
    return c.error(a, b);
}

/// The same by our own blocks, which gemm leaves to a BLAS if there is one.
template <class T>
double error_of_blocks(
    Matrix<T> const& a, Matrix<T> const& b, bool add, kernel::InnerLoop<T> const& loop) {
    Result<T> c(a.rows, b.columns, add);
    kernel::Product<T> const product{a.rows, b.columns, a.columns, a.operand(), b.operand(),
        c.after.data(), static_cast<std::ptrdiff_t>(c.ldc), add};
    kernel::BlockedProduct<T>(product, loop).run();
    return c.error(a, b);
}

template <class T>
double error_of_vector(Matrix<T> const& a, Matrix<T> const& x, bool add, std::size_t gap = 2) {
    Result<T> y(a.rows, 1, add, gap);
    kernel::multiply_vector<T>({a.rows, a.columns, a.operand(), {x.data(), x.rs, x.operand().conj},
        y.after.data(), static_cast<std::ptrdiff_t>(y.ldc), add});
    return y.error(a, x);
}

template <class T> double error_of_outer(Matrix<T> const& a, Matrix<T> const& b, bool add) {
    Result<T> c(a.rows, b.columns, add);
    kernel::multiply_outer<T>({a.rows, b.columns, 1, a.operand(), b.operand(), c.after.data(),
        static_cast<std::ptrdiff_t>(c.ldc), add});
    return c.error(a, b);
}

struct Size {
    std::size_t m, n, k;
};

/// Calls f(a, b, add) with every mixture of layouts, conjugations and accumulation.
template <class T, class F> double worst_of_all(Size size, F f) {
    double worst = 0;
    bool const may_conjugate = kernel::parts<T> == 2;
    for (auto const la : layouts)
        for (auto const lb : layouts)
            for (int flags = 0; flags < 8; ++flags) {
                bool const conj_a = flags & 1, conj_b = flags & 2, add = flags & 4;
                if ((conj_a || conj_b) && !may_conjugate) continue;
                worst = std::max(worst, f(Matrix<T>(size.m, size.k, la, conj_a),
                                            Matrix<T>(size.k, size.n, lb, conj_b), add));
            }
    return worst;
}

} // namespace

#define ALL_TYPES float, double, std::complex<float>, std::complex<double>

TEST_CASE_TEMPLATE("gemm, for all layouts and small sizes", T, ALL_TYPES) {
    Size const sizes[] = {{1, 1, 1}, {1, 1, 7}, {2, 3, 4}, {5, 5, 5}, {9, 1, 9}, {1, 9, 9},
        {40, 1, 33}, {1, 40, 33}, {6, 7, 1}, {2, 30, 3}, {13, 9, 5}};
    for (auto const size : sizes) {
        CAPTURE(size.m);
        CAPTURE(size.n);
        CAPTURE(size.k);
        CHECK(worst_of_all<T>(size, error_of_gemm<T>) < 1);
    }
}

TEST_CASE_TEMPLATE(
    "small products of all sizes around the width of a SIMD vector", T, float, double) {
    for (std::size_t m = 1; m <= 17; m += m < 5 ? 1 : 3)
        for (std::size_t n = 1; n <= 40; n += n < 20 ? 1 : 3)
            for (auto const layout : {Layout::rows, Layout::columns, Layout::padded_rows,
                     Layout::padded_columns, Layout::scattered})
                for (int flags = 0; flags < 2; ++flags) {
                    CAPTURE(m);
                    CAPTURE(n);
                    std::size_t const k = (m + n) % 7 + 1;
                    Matrix<T> const a(m, k, n % 2 ? Layout::rows : Layout::columns, false),
                        b(k, n, layout, false);
                    CHECK(error_of_gemm(a, b, flags & 1) < 1);
                    Matrix<T> const row(m, 1 + m % 3, Layout::rows, false),
                        deep(1 + m % 3, n, layout, false);
                    CHECK(error_of_gemm(row, deep, flags & 1) < 1);
                }
}

TEST_CASE_TEMPLATE("our own kernels, for all layouts", T, ALL_TYPES) {
    for (auto const& loop : kernel::inner_loops<T>())
        CHECK(worst_of_all<T>({13, 35, 3}, [&](auto const& a, auto const& b, bool add) {
            return error_of_blocks(a, b, add, loop);
        }) < 1);
    for (auto const length : std::initializer_list<std::size_t>{3, 8, 29, 70})
        CHECK(worst_of_all<T>({11, 1, length}, [](auto const& a, auto const& x, bool add) {
            return error_of_vector(a, x, add);
        }) < 1);
}

TEST_CASE_TEMPLATE(
    "products with a vector around the width of a SIMD vector and the size of a cache line", T,
    ALL_TYPES) {
    Size const sizes[] = {{1, 1, 100}, {7, 1, 64}, {8, 1, 65}, {13, 1, 16}, {16, 1, 17},
        {29, 1, 31}, {31, 1, 5}, {33, 1, 33}, {64, 1, 13}, {100, 1, 1}, {95, 1, 175}, {175, 1, 95}};
    for (auto const size : sizes)
        for (auto const layout : {Layout::rows, Layout::columns, Layout::padded_rows,
                 Layout::padded_columns, Layout::upside_down})
            for (int flags = 0; flags < 16; ++flags) {
                CAPTURE(size.m);
                CAPTURE(size.k);
                bool const conj_a = flags & 1, conj_x = flags & 2, add = flags & 4;
                Matrix<T> const a(size.m, size.k, layout, kernel::parts<T> == 2 && conj_a),
                    x(size.k, 1, Layout::columns, kernel::parts<T> == 2 && conj_x);
                CHECK(error_of_vector(a, x, add, flags & 8 ? 0 : 1) < 1);
            }
}

TEST_CASE_TEMPLATE("sizes around the edges of tiles and blocks", T, ALL_TYPES) {
    Size const sizes[] = {{11, 31, 4}, {12, 32, 4}, {25, 33, 4}, {95, 8, 8}, {97, 8, 8},
        {193, 5, 3}, {5, 9, 255}, {5, 9, 256}, {5, 9, 257}, {6, 4, 513}, {3, 511, 5}, {3, 513, 5},
        {2, 1025, 3}, {98, 70, 260}};
    for (auto const size : sizes)
        for (bool const add : {false, true}) {
            CAPTURE(size.m);
            CAPTURE(size.n);
            CAPTURE(size.k);
            Matrix<T> const a(size.m, size.k, Layout::rows, true),
                b(size.k, size.n, Layout::columns, false);
            CHECK(error_of_gemm(a, b, add) < 1);
            for (auto const& loop : kernel::inner_loops<T>())
                CHECK(error_of_blocks(a, b, add, loop) < 1);
        }
}

TEST_CASE_TEMPLATE(
    "without a sum, C is zero or as it was; an empty C is left alone", T, ALL_TYPES) {
    for (auto const n : std::initializer_list<std::size_t>{1, 3, 20}) {
        Matrix<T> const a(4, 0, Layout::rows, false), b(0, n, Layout::rows, false);
        CHECK(error_of_gemm(a, b, false) == 0);
        CHECK(error_of_gemm(a, b, true) == 0);
    }
    gemm<T>(0, 3, 2, nullptr, 2, 1, false, nullptr, 3, 1, false, nullptr, 3, false);
    gemm<T>(3, 0, 2, nullptr, 2, 1, false, nullptr, 0, 1, false, nullptr, 0, false);
}

TEST_CASE("infinities stay where they are") {
    double const infinity = std::numeric_limits<double>::infinity();
    for (auto const n : std::initializer_list<std::size_t>{3, 20, 70}) {
        std::vector<double> a(n * n), b(n * n), c(n * n);
        for (std::size_t i = 0; i < n; ++i) a[i * n + i] = b[i * n + i] = 1;
        b[1] = infinity; // 0 * infinity spoils column 1, and nothing else
        auto const gap = static_cast<std::ptrdiff_t>(n);
        gemm(n, n, n, a.data(), gap, 1, false, b.data(), gap, 1, false, c.data(), gap, false);
        CHECK(c[1] == infinity);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (j != 1) CHECK(c[i * n + j] == (i == j ? 1 : 0));

        for (bool const transposed : {false, true})
            for (std::size_t at = 0; at < n;
                 ++at) { // of the matrix of ones, and then of the vector of ones
                std::vector<double> m(n * n, 1.), x(n, 1.), y(n);
                m[at] = infinity;
                kernel::Operand<double> const operand{
                    m.data(), transposed ? 1 : gap, transposed ? gap : 1, false};
                kernel::multiply_vector<double>(
                    {n, n, operand, {x.data(), 1, false}, y.data(), 1, false});
                for (std::size_t i = 0; i < n; ++i)
                    CHECK(y[i] == (i == (transposed ? at : 0) ? infinity : static_cast<double>(n)));
                m[at] = 1, x[at] = infinity;
                kernel::multiply_vector<double>(
                    {n, n, operand, {x.data(), 1, false}, y.data(), 1, false});
                for (std::size_t i = 0; i < n; ++i) CHECK(y[i] == infinity);
            }
    }
}

TEST_CASE_TEMPLATE("a column times a row, for all layouts and lengths of rows", T, ALL_TYPES) {
    for (std::size_t n = 1; n <= 35; n += n < 18 ? 1 : 4) {
        CAPTURE(n);
        CHECK(worst_of_all<T>({3, n, 1}, error_of_outer<T>) < 1);
    }
    CHECK(worst_of_all<T>({93, 95, 1}, error_of_gemm<T>) <
          1); // larger than the products that other kernels compute
}
