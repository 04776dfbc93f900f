// The members by which interop.hpp knows matrices of Eigen and an mdspan.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

struct NoStride {
    static constexpr int OuterStrideAtCompileTime = 0, InnerStrideAtCompileTime = 0;
};

template <class T> struct Matrix {
    using PlainObject = Matrix;
    using Scalar = T;
    static constexpr int RowsAtCompileTime = 2, ColsAtCompileTime = 2, SizeAtCompileTime = 4;
    static constexpr bool IsVectorAtCompileTime = false, IsRowMajor = true;

    std::vector<T> elements = std::vector<T>(4);

    std::ptrdiff_t rows() const { return 2; }
    std::ptrdiff_t cols() const { return 2; }
    std::ptrdiff_t innerStride() const { return 1; }
    std::ptrdiff_t outerStride() const { return 2; }
    T* data() { return elements.data(); }
    T const* data() const { return elements.data(); }
};

template <class M, int options = 0, class Stride = NoStride> struct Map {
    using PlainObject = Matrix<typename M::Scalar>;
    using Scalar = typename M::Scalar;
    static constexpr int RowsAtCompileTime = 2, ColsAtCompileTime = 2, SizeAtCompileTime = 4;
    static constexpr bool IsVectorAtCompileTime = false, IsRowMajor = true;

    decltype(std::declval<M&>().data()) first;

    Map(decltype(first) p, std::ptrdiff_t, std::ptrdiff_t, Stride = {}) : first(p) {}
    std::ptrdiff_t rows() const { return 2; }
    std::ptrdiff_t cols() const { return 2; }
    std::ptrdiff_t innerStride() const { return 1; }
    std::ptrdiff_t outerStride() const { return 2; }
    auto data() const { return first; }
};

template <class A> struct Twice {
    using PlainObject = A;
    static constexpr int RowsAtCompileTime = 2, ColsAtCompileTime = 2;
    static constexpr bool IsVectorAtCompileTime = false;

    std::ptrdiff_t rows() const { return 2; }
    std::ptrdiff_t cols() const { return 2; }
    A eval() const { return {}; }
};
