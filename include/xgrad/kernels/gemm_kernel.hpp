// The blocked matrix product without a BLAS, as in BLIS.
//
// BlockedProduct copies blocks of A and B that fit the caches into panels (packing), in the order
// in which the inner loop (microkernel) reads them. The inner loop keeps a tile of C in registers.
// Packing handles any strides and conjugation. It separates real and imaginary parts, so that the
// inner loop needs real arithmetic only and no shuffles. There is one inner loop for each register
// width; the processor's features select one at run time.
//
// Read BlockedProduct, at the end, first. Benchmark: matmul.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <xgrad/core/scratch.hpp>
#include <xgrad/core/vector.hpp>

namespace xgrad::detail::kernel {

template <class T> struct Parts {
    using Real = T;
    static constexpr std::size_t count = 1;
};
template <class R> struct Parts<std::complex<R>> {
    using Real = R;
    static constexpr std::size_t count = 2;
};
template <class T> using real_of = typename Parts<T>::Real;
/// 2 for complex T, else 1.
template <class T> inline constexpr std::size_t parts = Parts<T>::count;

/// A matrix operand: element (i, j) is data[i * rs + j * cs], or its conjugate.
template <class T> struct Operand {
    T const* data;
    std::ptrdiff_t rs, cs;
    bool conj;

    T const* at(std::size_t i, std::size_t j) const {
        return data + static_cast<std::ptrdiff_t>(i) * rs + static_cast<std::ptrdiff_t>(j) * cs;
    }
    Operand from(std::size_t i, std::size_t j) const { return {at(i, j), rs, cs, conj}; }
    Operand transposed() const { return {data, cs, rs, conj}; }
};

/// The arguments of a product C = A B, or C += A B if `add`; sizes and strides as in gemm.
template <class T> struct Product {
    std::size_t m, n, k;
    Operand<T> a, b;
    T* c;
    std::ptrdiff_t ldc;
    bool add;

    T* c_at(std::size_t i, std::size_t j) const {
        return c + static_cast<std::ptrdiff_t>(i) * ldc + j;
    }
};

// ───────── the inner loop

/// The size of the tile of C that the inner loop computes. The tile (twice, if complex), a row of B
/// and one element of A fill the vector registers.
template <class T, std::size_t Bytes> struct TileShape {
    static constexpr bool complex = parts<T> == 2;
    static constexpr std::size_t lanes = Bytes > sizeof(real_of<T>) ? Bytes / sizeof(real_of<T>)
                                                                    : 1;
    static constexpr std::size_t vectors = complex && Bytes == 32 ? 1 : 2;
    static constexpr std::size_t rows = Bytes == 64   ? (complex ? 6 : 12)
                                        : Bytes == 32 ? (complex ? 5 : 6)
                                                      : (complex ? 2 : 4);
    static constexpr std::size_t columns = vectors * lanes;
};
/// The largest tile and the largest row of a tile, in bytes.
inline constexpr std::size_t max_bytes_in_tile = 24 * 64, max_bytes_in_row = 4 * 64;

/// tile = A B for a packed panel of A and one of B. In each column of A, each row of B and the
/// tile, the imaginary parts follow the real parts. It uses no lambdas: GCC compiles a lambda for
/// the command line's target instead of that of the enclosing function.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline void multiply_body(
    std::size_t depth, real_of<T> const* a, real_of<T> const* b, real_of<T>* tile) {
    using Shape = TileShape<T, Bytes>;
    using Vector = SimdVector<real_of<T>, Bytes>;
    constexpr std::size_t rows = Shape::rows, vectors = Shape::vectors, lanes = Shape::lanes;
    Vector sum[parts<T>][rows][vectors] = {}, right[parts<T>][vectors];
    for (std::size_t p = 0; p < depth; ++p, a += parts<T> * rows) {
#pragma GCC unroll 2
        for (auto& part : right)
#pragma GCC unroll 2
            for (auto& vector : part) {
                vector = unaligned<Vector>(b)->vector;
                b += lanes;
            }
#pragma GCC unroll 16
        for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
            for (std::size_t w = 0; w < vectors; ++w) {
                sum[0][r][w] += a[r] * right[0][w];
                if constexpr (parts<T> == 2) {
                    sum[1][r][w] += a[r] * right[1][w];
                    sum[0][r][w] -= a[rows + r] * right[1][w];
                    sum[1][r][w] += a[rows + r] * right[0][w];
                }
            }
    }
#pragma GCC unroll 2
    for (auto const& part : sum)
#pragma GCC unroll 16
        for (auto const& row : part)
#pragma GCC unroll 2
            for (auto const& vector : row) {
                unaligned<Vector>(tile)->vector = vector;
                tile += lanes;
            }
}

template <class T> struct InnerLoop {
    std::size_t rows, columns; // of its tile
    void (*multiply)(std::size_t depth, real_of<T> const* a, real_of<T> const* b, real_of<T>* tile);
};

template <class T, std::size_t Bytes>
XGRAD_FULL_WIDTH void multiply_plain(
    std::size_t depth, real_of<T> const* a, real_of<T> const* b, real_of<T>* tile) {
    multiply_body<T, Bytes>(depth, a, b, tile);
}

template <class T, std::size_t Bytes>
constexpr InnerLoop<T> inner_loop_of(decltype(InnerLoop<T>::multiply) multiply) {
    return {TileShape<T, Bytes>::rows, TileShape<T, Bytes>::columns, multiply};
}

#ifdef XGRAD_WIDER_REGISTERS
template <class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(
    std::size_t depth, real_of<T> const* a, real_of<T> const* b, real_of<T>* tile) {
    multiply_body<T, 32>(depth, a, b, tile);
}
template <class T>
[[gnu::target("avx512f")]] void multiply_avx512(
    std::size_t depth, real_of<T> const* a, real_of<T> const* b, real_of<T>* tile) {
    multiply_body<T, 64>(depth, a, b, tile);
}

template <class T> std::vector<InnerLoop<T>> inner_loops() {
    return runnable<std::vector<InnerLoop<T>>>(
        inner_loop_of<T, register_bytes>(multiply_plain<T, register_bytes>),
        inner_loop_of<T, 32>(multiply_avx2<T>), inner_loop_of<T, 64>(multiply_avx512<T>));
}
#else
template <class T> std::vector<InnerLoop<T>> inner_loops() {
    return {inner_loop_of<T, register_bytes>(multiply_plain<T, register_bytes>)};
}
#endif

template <class T> InnerLoop<T> const& best_inner_loop() {
    static InnerLoop<T> const loop = inner_loops<T>().back();
    return loop;
}

// ───────── packing and storing

/// Copies `count` <= `step` rows of x to a panel, column by column; missing rows are zero.
template <class T>
void pack_panel(
    std::size_t count, std::size_t step, std::size_t depth, Operand<T> x, real_of<T>* to) {
    if (count < step) std::fill(to, to + depth * step * parts<T>, real_of<T>(0));
    if constexpr (parts<T> == 1)
        if (x.cs == 1 && x.rs > 0) {
            transpose(count, depth, x.data, static_cast<std::size_t>(x.rs), to, step);
            return;
        }
    auto const copy = [&](std::size_t i, std::size_t p) {
        auto const z = *x.at(i, p);
        if constexpr (parts<T> == 1) {
            to[p * step + i] = z;
        } else {
            to[2 * p * step + i] = z.real();
            to[(2 * p + 1) * step + i] = x.conj ? -z.imag() : z.imag();
        }
    };
    if (std::abs(x.rs) < std::abs(x.cs)) {
        for (std::size_t p = 0; p < depth; ++p)
            for (std::size_t i = 0; i < count; ++i) copy(i, p);
    } else {
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t p = 0; p < depth; ++p) copy(i, p);
    }
}

template <class T>
void pack(std::size_t count, std::size_t step, std::size_t depth, Operand<T> x, real_of<T>* to) {
    for (std::size_t i = 0; i < count; i += step, to += step * depth * parts<T>)
        pack_panel(std::min(step, count - i), step, depth, x.from(i, 0), to);
}

/// to = from, or to += from if `add`, for `count` elements.
template <class Real> void put(std::size_t count, Real const* from, Real* to, bool add) {
    cover_once<Real>(count, [=]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
        store(to + i, add ? load<V>(to + i) + load<V>(from + i) : load<V>(from + i));
    });
}

/// Writes the leading rows x columns part of a tile to C.
template <class T>
void put_tile(real_of<T> const* tile, InnerLoop<T> const& loop, std::size_t rows,
    std::size_t columns, T* c, std::ptrdiff_t ldc, bool add) {
    for (std::size_t i = 0; i < rows; ++i, c += ldc, tile += loop.columns) {
        if constexpr (parts<T> == 1) {
            put(columns, tile, c, add);
        } else {
            real_of<T> row[max_bytes_in_row / sizeof(real_of<T>)];
            interleave(columns, tile, tile + loop.rows * loop.columns, row);
            put(2 * columns, row, reinterpret_cast<real_of<T>*>(c), add);
        }
    }
}

/// The blocked product. A packed block of A stays in the L2 cache while it is multiplied by every
/// panel of a block of B. A panel of B stays in the L1 cache while it is multiplied by every panel
/// of that block of A.
template <class T> class BlockedProduct {
    using Real = real_of<T>;

public:
    explicit BlockedProduct(
        Product<T> const& product, InnerLoop<T> const& loop = best_inner_loop<T>())
        : product_(product), loop_(loop), row_block_(96 / loop.rows * loop.rows) {}

    void run() const {
        auto const depths = std::min(product_.k, depth_block) * parts<T>;
        auto const a_size =
            rounded_up(rounded_up(std::min(product_.m, row_block_), loop_.rows) * depths, 16);
        auto const b_size = rounded_up(std::min(product_.n, column_block), loop_.columns) * depths;
        Scratch<Real> const scratch(a_size + b_size);
        Real* const a = scratch.data();
        Real* const b = a + a_size;
        for (std::size_t j = 0; j < product_.n; j += column_block)
            for (std::size_t p = 0; p < product_.k; p += depth_block) run_block_of_b(p, j, a, b);
    }

private:
    static constexpr std::size_t depth_block = 256, column_block = 1024 / parts<T>;

    /// Multiplies the block of B at (p, j) by all rows of A.
    void run_block_of_b(std::size_t p, std::size_t j, Real* packed_a, Real* packed_b) const {
        auto const columns = std::min(column_block, product_.n - j),
                   depth = std::min(depth_block, product_.k - p);
        pack(columns, loop_.columns, depth, product_.b.from(p, j).transposed(), packed_b);
        for (std::size_t i = 0; i < product_.m; i += row_block_) {
            auto const rows = std::min(row_block_, product_.m - i);
            pack(rows, loop_.rows, depth, product_.a.from(i, p), packed_a);
            multiply(rows, columns, depth, packed_a, packed_b, product_.c_at(i, j),
                product_.add || p > 0);
        }
    }

    void multiply(std::size_t rows, std::size_t columns, std::size_t depth, Real const* a,
        Real const* b, T* c, bool add) const {
        alignas(64) Real tile[max_bytes_in_tile / sizeof(Real)];
        auto const length = depth * parts<T>;
        for (std::size_t j = 0; j < columns; j += loop_.columns)
            for (std::size_t i = 0; i < rows; i += loop_.rows) {
                loop_.multiply(depth, a + i * length, b + j * length, tile);
                put_tile(tile, loop_, std::min(loop_.rows, rows - i),
                    std::min(loop_.columns, columns - j),
                    c + static_cast<std::ptrdiff_t>(i) * product_.ldc + j, product_.ldc, add);
            }
    }

    Product<T> const& product_;
    InnerLoop<T> const& loop_;
    std::size_t row_block_;
};
} // namespace xgrad::detail::kernel
