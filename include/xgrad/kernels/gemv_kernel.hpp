// The product of a matrix and a vector without a BLAS. The matrix is read once, in place.
//
// Complex rows are processed as real rows of twice the length: one dot product with x and one with
// x whose real and imaginary parts are exchanged. A complex column is multiplied by the real part
// and by the imaginary part of its factor. The final sums are combined to complex numbers. Read
// multiply_vector, at the end, first. Benchmark: matmul.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <xgrad/core/scratch.hpp>
#include <xgrad/core/vector.hpp>
#include <xgrad/kernels/gemm_kernel.hpp>

namespace xgrad::detail::kernel {

/// A vector operand: element i is data[i * stride], or its conjugate.
template <class T> struct VectorOperand {
    T const* data;
    std::ptrdiff_t stride;
    bool conj;

    T operator[](std::size_t i) const {
        auto const x = data[static_cast<std::ptrdiff_t>(i) * stride];
        if constexpr (parts<T> == 1) return x;
        else return conj ? std::conj(x) : x;
    }
};

/// The arguments of y = M x, or y += M x if `add`, for a matrix M of rows x columns; y has stride
/// ys.
template <class T> struct VectorProduct {
    std::size_t rows, columns;
    Operand<T> m;
    VectorOperand<T> x;
    T* y;
    std::ptrdiff_t ys;
    bool add;

    T& y_at(std::size_t i) const { return y[static_cast<std::ptrdiff_t>(i) * ys]; }
    void put(std::size_t i, T value) const { y_at(i) = add ? y_at(i) + value : value; }
};

/// A complex product, or a sum of products, from the four real ones: rr = re x re y, ri = re x im y
/// and so on. The flags conjugate x or y.
template <class T>
T product_of_parts(
    real_of<T> rr, real_of<T> ii, real_of<T> ri, real_of<T> ir, bool conj_x, bool conj_y) {
    return {conj_x == conj_y ? rr - ii : rr + ii, (conj_y ? -ri : ri) + (conj_x ? -ir : ir)};
}

/// sum_i a[i] b[i] for any strides. The sum starts at -0: adding -0 changes no number, not even -0.
/// An empty sum is 0.
template <class T> T dot(std::size_t count, VectorOperand<T> a, VectorOperand<T> b) {
    real_of<T> const start = count == 0 ? real_of<T>(0) : -real_of<T>(0);
    if constexpr (parts<T> == 1) {
        T sum = start;
        for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
        return sum;
    } else {
        // The four products are summed apart and the signs of conjugation come last.
        real_of<T> rr = start, ri = start, ir = start, ii = start;
        for (std::size_t i = 0; i < count; ++i, a.data += a.stride, b.data += b.stride) {
            auto const* const x = reinterpret_cast<real_of<T> const*>(a.data);
            auto const* const y = reinterpret_cast<real_of<T> const*>(b.data);
            rr += x[0] * y[0], ri += x[0] * y[1];
            ir += x[1] * y[0], ii += x[1] * y[1];
        }
        return product_of_parts<T>(rr, ii, ri, ir, a.conj, b.conj);
    }
}

/// Reduces each vector to `left` lanes: to[left * i + j] is the sum of the lanes of vector[i] with
/// index j modulo `left`. `to` must hold at least one vector. Each step adds the halves of two
/// vectors and writes them to one.
template <class Real, std::size_t left, std::size_t lanes_of_each = width<SimdVector<Real>, Real>,
    class V, std::size_t n>
[[gnu::always_inline]] inline void add_lanes(V const (&vector)[n], Real* to) {
    constexpr int lanes = width<V, Real>, half = lanes_of_each / 2;
    if constexpr (lanes_of_each <= left) {
        unroll<n>([&](auto i) XGRAD_INLINE_LAMBDA { store(to + i * lanes, vector[i]); });
    } else {
        constexpr std::make_integer_sequence<int, lanes> all;
        constexpr auto low = [](int i) { return i / half * 2 * half + i % half; };
        constexpr auto high = [](int i) { return i / half * 2 * half + half + i % half; };
        V joined[(n + 1) / 2];
        unroll<(n + 1) / 2>([&](auto i) XGRAD_INLINE_LAMBDA {
            V const a = vector[2 * i], b = vector[std::min(2 * i + 1, n - 1)];
            joined[i] = shuffle(a, b, low, all) + shuffle(a, b, high, all);
        });
        add_lanes<Real, left, half>(joined, to);
    }
}

/// The last vector of an array of `count` elements, which overlaps the vector before: sets the
/// lanes that both contain to zero.
template <class Real, class V>
[[gnu::always_inline]] inline V rest_of(V const& vector, std::size_t count) {
    if constexpr (constexpr std::size_t lanes = width<V, Real>; lanes == 1) {
        return vector;
    } else {
        using Int = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
        static constexpr auto masks = [] {
            std::array<Int, 2 * lanes> all{};
            std::fill_n(all.begin() + lanes, lanes, Int(-1));
            return all;
        }();
        return load<SimdVector<Int, sizeof(V)>>(masks.data() + count % lanes) ? vector : V{};
    }
}

/// Prefetches the cache lines of the next rows (or columns) of a matrix. If rows are not aligned to
/// cache lines, two loads touch each line; without prefetching some processors wait twice and read
/// a third slower.
class NextLines {
public:
    /// Prefetching starts after the `lines` rows of `count` elements at `from`; `left` rows remain
    /// with these. It does nothing if rows are not contiguous, are aligned to cache lines, or are
    /// few.
    template <class Real>
    NextLines(Real const* from, std::size_t lines, std::size_t count, std::ptrdiff_t gap,
        std::size_t left) {
        if (left < 2 * lines || gap != static_cast<std::ptrdiff_t>(count) ||
            count * sizeof(Real) % size == 0 || left * count * sizeof(Real) < worth_it)
            return;
        next_ = reinterpret_cast<char const*>(from + lines * count);
    }
    template <std::size_t bytes> [[gnu::always_inline]] void ask() {
        if (!next_) return;
#if defined(__GNUC__)
        unroll<bytes / size>([&](auto i) XGRAD_INLINE_LAMBDA { prefetch(next_ + i * size); });
#endif
        next_ += bytes;
    }

private:
    static constexpr std::size_t size = 64, worth_it = std::size_t{1} << 15;
    char const* next_ = nullptr;
};

/// y[i + r] = row i + r times x for `ready` <= r < `lines`. Rows and x must be contiguous and no
/// shorter than a vector. A complex row needs two sums: with x it gives re re and im im, with x
/// whose parts are exchanged re im and im re.
template <std::size_t lines, class Vector, class T>
void put_dots(VectorProduct<T> const& product, std::size_t i, T const* x, std::size_t ready = 0) {
    using Real = real_of<T>;
    constexpr std::size_t lanes = width<Vector, Real>,
                          chains = lines > 1
                                       ? 1
                                       : 4; // sums of one number that do not wait for one another
    constexpr std::size_t sums_per_line = parts<T>;
    std::size_t const count = parts<T> * product.columns;
    auto const* const line = reinterpret_cast<Real const*>(product.m.at(i, 0));
    auto const* const factor = reinterpret_cast<Real const*>(x);
    auto const gap = static_cast<std::ptrdiff_t>(parts<T>) * product.m.rs;
    Vector sum[chains][lines * sums_per_line] = {};
    auto const add_vectors = [&](std::size_t at, auto chain, auto const& part) XGRAD_INLINE_LAMBDA {
        Vector of_x[sums_per_line];
        of_x[0] = part(load<Vector>(factor + at));
        if constexpr (sums_per_line == 2)
            of_x[1] = shuffle(
                of_x[0], of_x[0], [](int lane) { return lane ^ 1; },
                std::make_integer_sequence<int, lanes>{});
        unroll<lines>([&](auto r) XGRAD_INLINE_LAMBDA {
            Vector const vector =
                part(load<Vector>(line + static_cast<std::ptrdiff_t>(r()) * gap + at));
            unroll<sums_per_line>([&](auto w) XGRAD_INLINE_LAMBDA {
                sum[chain][r * sums_per_line + w] += vector * of_x[w];
            });
        });
    };
    constexpr std::integral_constant<std::size_t, 0> first;
    auto const whole = [](Vector const& vector) XGRAD_INLINE_LAMBDA { return vector; };
    std::size_t j = 0;
    NextLines next(line, lines, count, gap, product.rows - i);
    for (; j + chains * lanes <= count; j += chains * lanes) {
        if constexpr (lines > 1) next.ask<lines * sizeof(Vector)>();
        unroll<chains>([&](auto c) XGRAD_INLINE_LAMBDA { add_vectors(j + c * lanes, c, whole); });
    }
    for (; j + lanes <= count; j += lanes) add_vectors(j, first, whole);
    if (j < count)
        add_vectors(count - lanes, first,
            [=](Vector const& vector) XGRAD_INLINE_LAMBDA { return rest_of<Real>(vector, count); });
    for (std::size_t c = 1; c < chains; ++c)
        for (std::size_t s = 0; s < lines * sums_per_line; ++s) sum[0][s] += sum[c][s];

    Real all[std::max(lines * sums_per_line * sums_per_line, lanes)];
    add_lanes<Real, sums_per_line>(sum[0], all);
    for (std::size_t r = ready; r < lines; ++r)
        if constexpr (parts<T> == 1) product.put(i + r, all[r]);
        else
            product.put(i + r, product_of_parts<T>(all[4 * r], all[4 * r + 1], all[4 * r + 2],
                                   all[4 * r + 3], product.m.conj, product.x.conj));
}

/// The product for a matrix with contiguous rows no shorter than a vector.
template <class Vector, class T> void multiply_rows(VectorProduct<T> const& product) {
    constexpr std::size_t many = 8 / parts<T>;
    auto const& [rows, columns, m, x, y, ys, add] = product;
    Scratch<T> const scratch(x.stride == 1 ? 0 : columns);
    if (x.stride != 1)
        for (std::size_t j = 0; j < columns; ++j)
            scratch.data()[j] = x.data[static_cast<std::ptrdiff_t>(j) * x.stride];
    T const* const contiguous_x = x.stride == 1 ? x.data : scratch.data();
    std::size_t i = 0;
    for (; i + many <= rows; i += many) put_dots<many, Vector>(product, i, contiguous_x);
    if (rows > many && rows - i > many / 2)
        return put_dots<many, Vector>(product, rows - many, contiguous_x, many - (rows - i));
    for (; i < rows; ++i) put_dots<1, Vector>(product, i, contiguous_x);
}

/// N columns of a matrix and their elements of x, as real numbers.
template <std::size_t N, class T> struct ScaledColumns {
    using Real = real_of<T>;
    Real const* column[N];
    Real factor[N][parts<T>];

    [[gnu::always_inline]] ScaledColumns(Operand<T> m, VectorOperand<T> x, std::size_t first) {
        T const* from = m.at(0, first);
        T const* by = x.data + static_cast<std::ptrdiff_t>(first) * x.stride;
        unroll<N>([&](auto c) XGRAD_INLINE_LAMBDA {
            column[c] = reinterpret_cast<Real const*>(from);
            unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA {
                factor[c][part] =
                    (part == 1 && x.conj ? -1 : 1) * reinterpret_cast<Real const*>(by)[part];
            });
            from += m.cs, by += x.stride;
        });
    }
    /// total[chain][part] += column[c] * factor[c][part] for the vectors at i; column c adds to
    /// chain c modulo `chains`, so that additions do not wait for each other.
    template <class V, std::size_t chains>
    [[gnu::always_inline]] void add(std::size_t i, V (&total)[chains][parts<T>]) const {
        unroll<N>([&](auto c) XGRAD_INLINE_LAMBDA {
            auto const vector = load<V>(column[c] + i);
            unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA {
                total[c % chains][part] += factor[c][part] * vector;
            });
        });
    }
};

/// The sum of scaled columns, for each part of the factors: `whole` has the full vectors, `last`
/// the last vector of a column, which overlaps the one before.
template <class T, class Vector = SimdVector<real_of<T>>> struct ColumnSums {
    real_of<T>* whole;
    Vector last[parts<T>];
};

/// sums += column * x for N columns from `first` on; = instead of += if `fresh`.
template <std::size_t N, class T>
void add_columns(
    VectorProduct<T> const& product, std::size_t first, ColumnSums<T>& sums, bool fresh) {
    using Real = real_of<T>;
    using Vector = SimdVector<Real>;
    constexpr std::size_t lanes = width<Vector, Real>;
    std::size_t const count = parts<T> * product.rows;
    ScaledColumns<N, T> const columns(product.m, product.x, first);
    Real* const whole = sums.whole;
    NextLines next(columns.column[0], N, count,
        static_cast<std::ptrdiff_t>(parts<T>) * product.m.cs, product.columns - first);
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        if constexpr (N > 1) next.ask<N * sizeof(Vector)>();
        Vector total[1][parts<T>] = {};
        if (!fresh)
            unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA {
                total[0][part] = load<Vector>(whole + part * count + i);
            });
        columns.add(i, total);
        unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA {
            store(whole + part * count + i, total[0][part]);
        });
    }
    if (i == count) return;
    Vector total[1][parts<T>] = {};
    columns.add(count - lanes, total);
    unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA { sums.last[part] += total[0][part]; });
}

/// sum[part] = the sum of all columns * x[part], for columns so short that the sums stay in
/// registers.
template <class T> void add_short_columns(VectorProduct<T> const& product, real_of<T>* sum) {
    constexpr std::size_t chains = 8 / parts<T>;
    auto const count = parts<T> * product.rows;
    cover<real_of<T>>(count, [&]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
        V total[chains][parts<T>] = {};
        std::size_t j = 0;
        for (; j + chains <= product.columns; j += chains)
            ScaledColumns<chains, T>(product.m, product.x, j).add(i, total);
        for (; j < product.columns; ++j) ScaledColumns<1, T>(product.m, product.x, j).add(i, total);
        for (std::size_t part = 0; part < parts<T>; ++part) {
            for (std::size_t c = 1; c < chains; ++c) total[0][part] += total[c][part];
            store(sum + part * count + i, total[0][part]);
        }
    });
}

/// The product for a matrix with contiguous columns.
template <class T> void multiply_columns(VectorProduct<T> const& product) {
    using Real = real_of<T>;
    constexpr std::size_t many = 8 / parts<T>, lanes = width<SimdVector<Real>, Real>,
                          short_vectors = 2;
    auto const& [rows, columns, m, x, y, ys, add] = product;
    auto const count = parts<T> * rows;
    bool const is_short = count < short_vectors * lanes,
               in_place = parts<T> == 1 && ys == 1 && !is_short;
    Scratch<Real> const scratch(in_place ? 0 : parts<T> * count);
    Real* const sum = in_place ? reinterpret_cast<Real*>(y) : scratch.data();
    if (is_short) {
        add_short_columns(product, sum);
    } else {
        ColumnSums<T> sums{sum, {}};
        bool fresh = !(in_place && add);
        std::size_t j = 0;
        for (; j + many <= columns; j += many, fresh = false)
            add_columns<many>(product, j, sums, fresh);
        for (; j < columns; ++j, fresh = false) add_columns<1>(product, j, sums, fresh);
        std::size_t const rest = count % lanes;
        for (std::size_t part = 0; part < parts<T>; ++part) {
            Real last[lanes];
            store(last, sums.last[part]);
            Real* const to = sum + part * count + count - rest;
            for (std::size_t i = 0; i < rest; ++i)
                to[i] = (in_place && add ? to[i] : 0) + last[lanes - rest + i];
        }
    }
    if (in_place) return;
    for (std::size_t i = 0; i < rows; ++i) {
        if constexpr (parts<T> == 1) {
            product.put(i, sum[i]);
        } else {
            Real const sign = m.conj ? -1 : 1;
            Real const* const by_re = sum + 2 * i;
            Real const* const by_im = by_re + count;
            product.put(i, T(by_re[0] - sign * by_im[1], by_im[0] + sign * by_re[1]));
        }
    }
}

template <class T> void multiply_vector(VectorProduct<T> const& product) {
    auto const& m = product.m;
    using Vector = SimdVector<real_of<T>>;
    if constexpr (constexpr std::size_t lanes = width<Vector, real_of<T>>; lanes >= parts<T>)
        if (m.cs == 1 && parts<T> * product.columns >= lanes) return multiply_rows<Vector>(product);
    if (m.rs == 1) return multiply_columns(product);
    for (std::size_t i = 0; i < product.rows; ++i)
        product.put(i, dot(product.columns, VectorOperand<T>{m.at(i, 0), m.cs, m.conj}, product.x));
}
} // namespace xgrad::detail::kernel
