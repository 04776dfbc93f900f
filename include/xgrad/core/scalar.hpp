// The scalar types of tensors, the kinds B, Z, R, C that state an operation's domain, and type
// promotion.
//
// Gradients: Differentiable types have them: float, double and their complex types. Those of
// complex numbers are dL/dRe + i dL/dIm, as in PyTorch.
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace xgrad {

namespace detail {
template <class T> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;
template <class T, class... Allowed>
inline constexpr bool element_type_is_one_of = (std::same_as<T, Allowed> || ...);
} // namespace detail
/// Any scalar type of a Tensor; bool and int64 serve as masks and indices.
template <class T>
concept Scalar = detail::element_type_is_one_of<T, bool, std::int64_t, float, double,
    std::complex<float>, std::complex<double>>;
/// float or double.
template <class T>
concept RealScalar = Scalar<T> && (std::same_as<T, float> || std::same_as<T, double>);
/// std::complex<float> or std::complex<double>.
template <class T>
concept ComplexScalar =
    Scalar<T> && (std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>);
/// A scalar type that can have gradients.
template <class T>
concept Differentiable = Scalar<T> && (RealScalar<T> || ComplexScalar<T>);
namespace detail {
template <class T>
inline constexpr bool has_gradients =
    Differentiable<T>; // for static_assert: compilers print long notes for concepts
}
namespace detail {
/// The element type T of numbers: what a conversion reads. Of a bool tensor a condition does.
template <class U, class T>
concept SameNumber = std::same_as<U, T> && !std::same_as<T, bool>;
} // namespace detail
/// A C++ number that an expression may combine with a tensor.
template <class T>
concept Number = std::is_arithmetic_v<T> || detail::is_complex<T>;

namespace detail {
// Read from the bits: std::isnan() and its relatives are functions of the standard library, which
// answer false in files that are compiled with -ffast-math.

/// The bits of |v|.
template <std::floating_point P> constexpr auto magnitude_bits(P v) noexcept {
    if constexpr (sizeof(P) == sizeof(std::uint32_t))
        return std::bit_cast<std::uint32_t>(v) & 0x7fff'ffffu;
    else return std::bit_cast<std::uint64_t>(v) & 0x7fff'ffff'ffff'ffffu;
}
template <std::floating_point P>
inline constexpr auto infinity_bits = magnitude_bits(std::numeric_limits<P>::infinity());

template <std::floating_point P> constexpr bool is_nan(P v) noexcept {
    return magnitude_bits(v) > infinity_bits<P>;
}
template <std::floating_point P> constexpr bool is_infinite(P v) noexcept {
    return magnitude_bits(v) == infinity_bits<P>;
}
template <std::floating_point P> constexpr bool is_finite(P v) noexcept {
    return magnitude_bits(v) < infinity_bits<P>;
}
/// Finite, and neither 0 nor subnormal.
template <std::floating_point P> constexpr bool is_normal(P v) noexcept {
    return is_finite(v) && magnitude_bits(v) >= magnitude_bits(std::numeric_limits<P>::min());
}
} // namespace detail

/// The scalar type of a tensor as a value: boolean is bool, int64 std::int64_t, float32 float,
/// float64 double, complex64 std::complex<float>, and complex128 std::complex<double>.
enum class DType : std::uint8_t { boolean, int64, float32, float64, complex64, complex128 };

/// The DType of a scalar type.
template <Scalar T>
inline constexpr DType dtype_of = std::same_as<T, bool>                  ? DType::boolean
                                  : std::same_as<T, std::int64_t>        ? DType::int64
                                  : std::same_as<T, float>               ? DType::float32
                                  : std::same_as<T, double>              ? DType::float64
                                  : std::same_as<T, std::complex<float>> ? DType::complex64
                                                                         : DType::complex128;

/// NumPy's name of a scalar type.
constexpr std::string_view name(DType t) noexcept {
    constexpr std::string_view names[] = {
        "bool", "int64", "float32", "float64", "complex64", "complex128"};
    return names[static_cast<int>(t)];
}
constexpr bool is_complex(DType t) noexcept { return t >= DType::complex64; }
constexpr bool is_differentiable(DType t) noexcept { return t >= DType::float32; }

namespace detail {

template <class T> struct Precision {
    using type = T;
};
template <class T> struct Precision<std::complex<T>> {
    using type = T;
};

} // namespace detail

/// The real type of a scalar type: double for std::complex<double>.
template <class T> using precision_of = typename detail::Precision<T>::type;

namespace detail {

template <class A, class B> struct PromotePrecision {
    using type = double; // int64 or float64 beside a floating type
};
template <class A> struct PromotePrecision<A, A> {
    using type = A;
};
template <class A> struct PromotePrecision<A, bool> {
    using type = A;
};
template <class A> struct PromotePrecision<bool, A> {
    using type = A;
};
template <> struct PromotePrecision<bool, bool> {
    using type = bool;
};

} // namespace detail

/// NumPy's promotion of two real types: int64 with float32 is float64, bool gives way to anything.
template <class A, class B> using promote_precision = typename detail::PromotePrecision<A, B>::type;

namespace detail {

/// The scalar type of a tensor that is made of numbers of type N: integers become int64, long
/// double becomes double.
template <class N> struct TensorScalar {
    using type = std::conditional_t<Scalar<N>, N,
        std::conditional_t<std::integral<N>, std::int64_t, double>>;
};
template <> struct TensorScalar<std::complex<long double>> {
    using type = std::complex<double>;
};
template <class N> using tensor_scalar = typename TensorScalar<N>::type;

template <class P, class... More> struct Widest {
    using type = P;
};
template <class P, class Q, class... More>
struct Widest<P, Q, More...> : Widest<promote_precision<P, Q>, More...> {};

} // namespace detail

/// The precision to which all of P... promote.
template <class... P> using widest_precision = typename detail::Widest<P...>::type;

// The kinds of scalars in an operation's domain: B boolean, Z integer, R real, C complex. over<P>
// is the scalar type of the kind in precision P.
struct B {
    template <class> using over = bool; // bool, whatever the precision
};
struct Z {
    template <class> using over = std::int64_t; // std::int64_t, whatever the precision
};
struct R {
    template <class P> using over = P; // the precision itself
};
struct C {
    template <class P> using over = std::complex<P>; // the complex type of this precision
};

/// The kind of a scalar type: B, Z, R or C.
template <class T>
using kind_of = std::conditional_t<std::same_as<T, bool>, B,
    std::conditional_t<std::integral<T>, Z, std::conditional_t<detail::is_complex<T>, C, R>>>;

namespace detail {
/// True where every number of kind A is one of kind To, as NumPy casts safely: integer, real,
/// complex. A bool is no number.
template <class A, class To>
inline constexpr bool is_kind_within =
    std::same_as<A, To> || (std::same_as<A, Z> && !std::same_as<To, B>) ||
    (std::same_as<A, R> && std::same_as<To, C>);
} // namespace detail

} // namespace xgrad
