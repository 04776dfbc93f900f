// Instances of templates that a program with XGRAD_SEPARATE_COMPILATION compiles once. xgrad.hpp
// includes this file last.
#pragma once

#include <xgrad/impl/kernels/fft.ipp>
#include <xgrad/impl/kernels/gemm.ipp>
#include <xgrad/tensor/gradient_arithmetic.hpp>
#include <xgrad/tensor/reduce.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad::detail {
template void fail_with<Error>(std::initializer_list<Piece> pieces);
template void fail_with<ShapeError>(std::initializer_list<Piece> pieces);
template void fail_with<IndexError>(std::initializer_list<Piece> pieces);
template void fail_with<TypeError>(std::initializer_list<Piece> pieces);
template void fail_with<GraphError>(std::initializer_list<Piece> pieces);

template void gemm(std::size_t m, std::size_t n, std::size_t k, std::int64_t const* a,
    std::ptrdiff_t ars, std::ptrdiff_t acs, bool conj_a, std::int64_t const* b, std::ptrdiff_t brs,
    std::ptrdiff_t bcs, bool conj_b, std::int64_t* c, std::ptrdiff_t ldc, bool accumulate);
template void gemm(std::size_t m, std::size_t n, std::size_t k, float const* a, std::ptrdiff_t ars,
    std::ptrdiff_t acs, bool conj_a, float const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs,
    bool conj_b, float* c, std::ptrdiff_t ldc, bool accumulate);
template void gemm(std::size_t m, std::size_t n, std::size_t k, double const* a, std::ptrdiff_t ars,
    std::ptrdiff_t acs, bool conj_a, double const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs,
    bool conj_b, double* c, std::ptrdiff_t ldc, bool accumulate);
template void gemm(std::size_t m, std::size_t n, std::size_t k, std::complex<float> const* a,
    std::ptrdiff_t ars, std::ptrdiff_t acs, bool conj_a, std::complex<float> const* b,
    std::ptrdiff_t brs, std::ptrdiff_t bcs, bool conj_b, std::complex<float>* c, std::ptrdiff_t ldc,
    bool accumulate);
template void gemm(std::size_t m, std::size_t n, std::size_t k, std::complex<double> const* a,
    std::ptrdiff_t ars, std::ptrdiff_t acs, bool conj_a, std::complex<double> const* b,
    std::ptrdiff_t brs, std::ptrdiff_t bcs, bool conj_b, std::complex<double>* c,
    std::ptrdiff_t ldc, bool accumulate);

template void fft_many(std::complex<float> const* in, std::ptrdiff_t is, std::ptrdiff_t in_dist,
    std::complex<float>* out, std::ptrdiff_t os, std::ptrdiff_t out_dist, std::size_t n,
    std::size_t howmany, int sign);
template void fft_many(std::complex<double> const* in, std::ptrdiff_t is, std::ptrdiff_t in_dist,
    std::complex<double>* out, std::ptrdiff_t os, std::ptrdiff_t out_dist, std::size_t n,
    std::size_t howmany, int sign);
template void fft(std::complex<float> const* in, std::ptrdiff_t is, std::complex<float>* out,
    std::ptrdiff_t os, std::size_t n, int sign);
template void fft(std::complex<double> const* in, std::ptrdiff_t is, std::complex<double>* out,
    std::ptrdiff_t os, std::size_t n, int sign);

template struct GradientArithmetic<bool>;
template struct GradientArithmetic<std::int64_t>;
template struct GradientArithmetic<float>;
template struct GradientArithmetic<double>;
template struct GradientArithmetic<std::complex<float>>;
template struct GradientArithmetic<std::complex<double>>;

template struct ElementTypeOf<bool, std::int64_t>;
template struct ElementTypeOf<bool, float>;
template struct ElementTypeOf<bool, double>;
template struct ElementTypeOf<std::int64_t, std::int64_t>;
template struct ElementTypeOf<std::int64_t, double>;
template struct ElementTypeOf<float, float>;
template struct ElementTypeOf<float, double>;
template struct ElementTypeOf<double, double>;
template struct ElementTypeOf<std::complex<float>, std::complex<float>>;
template struct ElementTypeOf<std::complex<float>, std::complex<double>>;
template struct ElementTypeOf<std::complex<double>, std::complex<double>>;

template <class X> TracedTable const* shared_table() { return &X::table; }

// An explicit instance of these refers to tables, and so has them compiled.
template <class... X> struct TablesOf {
    static constexpr std::array tables{&shared_table<X>...};
};
template <class Operations> struct TablesOfOperations;
template <class... Op> struct TablesOfOperations<Operations<Op...>> {
    template <class O, class Y, class... L>
    static constexpr TracedTable const* (*table(std::type_identity<Y(L...)>))() {
        using X = TracedOperation<O, Y(L...), double, L...>;
        if constexpr (is_shared<X>) return &shared_table<X>;
        else return nullptr;
    }
    template <class O, class... Signature> static constexpr auto list(Maps<Signature...>) {
        return std::array{table<O>(std::type_identity<Signature>{})...};
    }
    static constexpr auto tables = std::tuple{list<Op>(typename Op::domain{})...};
};
template struct TablesOf<TracedOperand<bool, double>, TracedOperand<std::int64_t, double>,
    TracedOperand<float, double>, TracedOperand<double, double>,
    TracedOperand<std::complex<float>, double>, TracedOperand<std::complex<double>, double>,
    TracedNumber<int, double>, TracedNumber<double, double>,
    TracedNumber<std::complex<double>, double>>;
template struct TablesOfOperations<SharedOperations>;
} // namespace xgrad::detail
