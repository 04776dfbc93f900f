// Dual numbers for programs of their own: expr/dual.hpp with xgrad's elementwise functions, as a
// number type that the standard library and Eigen know. xtensor is not included.
//
// Gradients: dual numbers have the derivatives of the functions' rules, of any order: Dual<Dual<T,
// N>, N> has second derivatives. Tangents of complex numbers are derivatives in real directions: of
// w = f(z) with dz = 1, where f is holomorphic, they are f'(z).
// Errors: none are thrown. A function that is not defined on numbers of the kind does not compile.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <cmath>
#include <complex>
#include <limits>
#include <ostream>

#include <xgrad/expr/dual.hpp>
#include <xgrad/ops/activation.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/gamma.hpp>
#include <xgrad/ops/rounding.hpp>
#include <xgrad/ops/special.hpp>
#include <xgrad/ops/trigonometric.hpp>

namespace xgrad {

/// A number that a function of numbers is called with: a Dual, or one of sum_over().
template <class X>
concept DualNumber = Operand<X> && requires {
    typename X::evaluated_at_once;
    requires detail::PartOf<X>::is_part;
};

namespace detail {

/// True for a function, whose rule is for batches; false for an operator of C++, which numbers
/// have.
template <class Op> consteval bool find_is_named() {
    constexpr char c = written_name<Op>.front();
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
template <class Op> inline constexpr bool is_named = find_is_named<Op>();

/// The contribution t d to a tangent; 0 where t is 0, even if d is infinite. Of nested dual numbers
/// this holds for each level.
template <class T> XGRAD_INLINE T contribution(T const& t, T const& d) {
    if constexpr (is_dual<T>) {
        using Inner = decltype(T::tangent);
        return {contribution(t.value, d.value),
            Inner(t.tangent.support(), [&](std::size_t i) XGRAD_LAMBDA_INLINE {
                return contribution(t.tangent[i], d.value);
            }) + Inner(d.tangent.support(), [&](std::size_t i) XGRAD_LAMBDA_INLINE {
                return contribution(t.value, d.tangent[i]);
            })};
    } else if constexpr (Number<T>) return t == T(0) ? T(0) : t * d;
    else return where(t == 0, zero_like(t), t * d);
}

/// Reports an argument that does not fit to the dual numbers beside it, and a printed batch, once.
template <class X> struct WrongNumber {
    static void report() {
        static_assert(!Operand<X> || DualNumber<X>,
            "map, sum_over: a tensor stands among the numbers of the function: make it an operand, "
            "map(f, x, tensor), or a constant of sum_over()");
        static_assert(!is_dual<X>, "dual numbers in one operation have equally many tangents and "
                                   "one precision at each level: Dual<double, 2> beside "
                                   "Dual<double, 2> or Dual<Dual<double, 2>, 3>");
    }
    /// A number in the place of a result that there is not, which causes no further errors.
    template <class Op> static auto result_of() {
        using Y = typename FirstCodomain<typename Op::domain>::type;
        using Kind = std::conditional_t<std::same_as<Y, B>, B, typename X::kind>;
        return of_kind<Kind, X>();
    }
    static void printed() {
        constexpr bool is_number = Number<X>;
        static_assert(is_number, "a batch of numbers is not printed: write "
                                 "xg::map(xg::with_branches, f, ...), which calls the function "
                                 "number by number");
    }
};

/// Reports a reduction of one number, once for real and once for complex numbers.
template <class Kind> struct ReductionOfANumber {
    static_assert(std::same_as<Kind, void>,
        "map, sum_over: the function gets one number at a time, and there is nothing to reduce: "
        "write sum(map(f, x)), or make it an operand, map(f, x, sum(x))");
};

/// What a partial returned, as values of type T: the derivatives with respect to x and to conj(x).
template <class T> struct Coefficients {
    static constexpr bool is_complex = std::same_as<typename PartOf<T>::kind, C>;
    T dz, dz_bar = 0;
    template <class D> XGRAD_INLINE Coefficients(D d) : dz(scalar(d)) {}
    template <class M, class W>
    XGRAD_INLINE Coefficients(selected<M, W> d) : Coefficients(d.weight) {
        dz = chosen(d.mask, dz);
        if constexpr (is_complex) dz_bar = chosen(d.mask, dz_bar);
    }
    template <class D> XGRAD_INLINE Coefficients(gradient<D> d) : dz(scalar(d.value)) {
        if constexpr (is_complex) dz_bar = T(0.5) * dz, dz = conj(dz_bar);
    }
    template <class D> XGRAD_INLINE Coefficients(conjugate<D> d) : dz(0), dz_bar(scalar(d.value)) {}
    template <class D, class E>
    XGRAD_INLINE Coefficients(wirtinger<D, E> d) : dz(scalar(d.dz)), dz_bar(scalar(d.dz_bar)) {}

    /// The contribution of a tangent; 0 where it is 0 and the derivative is infinite, if `guarded`.
    template <bool guarded = true> XGRAD_INLINE T of(T const& t) const {
        if constexpr (is_complex)
            return product<guarded>(t, dz) + product<guarded>(conj(t), dz_bar);
        else return product<guarded>(t, dz);
    }

private:
    template <bool guarded> XGRAD_INLINE static T product(T const& t, T const& d) {
        if constexpr (guarded) return contribution(t, d);
        else return t * d;
    }
    XGRAD_INLINE static T chosen(auto mask, T const& d) {
        if constexpr (Number<T>) return first_lane(mask) ? d : T(0);
        else return where(mask, d, T(0));
    }
    XGRAD_INLINE static T scalar(One) { return 1; }
    XGRAD_INLINE static T scalar(MinusOne) { return -1; }
    XGRAD_INLINE static T scalar(Nothing) { return 0; }
    XGRAD_INLINE static T scalar(ImaginaryUnit) {
        if constexpr (is_complex) return std::complex<double>(0, 1);
        else return 0; // complex(0, x) of a real tangent x is none
    }
    XGRAD_INLINE static T scalar(auto d) {
        if constexpr (Number<T>) return T(first_lane(d));
        else return d;
    }
};

template <class... L> inline constexpr bool any_complex = (std::same_as<L, C> || ...);

/// Applies an operation to numbers: rules compute on batches, whose first lane is the number. Also
/// finds the tangents of nested dual numbers.
template <class Y, class... L, class V> struct OnNumbers<Y(L...), V> {
    using Value = of_kind<Y, V>;

    template <class Op, class... X> XGRAD_INLINE static Value value(Op const& op, X const&... x) {
        if constexpr (is_named<Op>) return Value(first_lane(op.value(to_batch(x)...)));
        else return Value(op.value(x...));
    }
    /// The contribution of argument I to the tangents.
    template <std::size_t I, bool guarded, class Op, class W, std::size_t N, class... X>
    XGRAD_INLINE static Tangents<Value, N> part(
        Op const& op, Tangents<W, N> const& tangent, Value const& y, X const&... x) {
        using T = of_kind<std::conditional_t<any_complex<Y, L...>, C, R>, V>;
        return pushed<guarded, T>(tangent, op.partial(wrt<I>{}, argument(y), argument(x)...));
    }

private:
    template <bool guarded, class T, class W, std::size_t N>
    XGRAD_INLINE static Tangents<Value, N> pushed(
        Tangents<W, N> const& tangent, Coefficients<T> const& d) {
        return Tangents<Value, N>(tangent.support(), [&](std::size_t i) XGRAD_LAMBDA_INLINE {
            return project<Y>(d.template of<guarded>(tangent[i]));
        });
    }
    template <class X> XGRAD_INLINE static auto argument(X const& x) {
        if constexpr (Number<V>) return to_batch(x);
        else return x;
    }
};

} // namespace detail

/// The innermost value, without any tangent; of another number that number.
template <class X> XGRAD_INLINE auto val(X const& x) {
    if constexpr (requires { x.value; }) return val(x.value);
    else return x;
}
template <DualNumber X> XGRAD_INLINE X operator+(X const& x) { return x; }
/// Writes "value [tangents]".
template <class V, std::size_t N> std::ostream& operator<<(std::ostream& out, Dual<V, N> const& x) {
    using Bottom = typename detail::BottomOf<V>::type;
    if constexpr (!Number<Bottom>) detail::WrongNumber<Bottom>::printed();
    else {
        out << x.value << " [";
        for (std::size_t i = 0; i < N; ++i) out << (i ? ", " : "") << x.tangent[i];
        out << ']';
    }
    return out;
}

namespace detail {
/// A function of C for each lane.
template <class P> simd::Batch<P> by_lane(simd::Batch<P> x, P (*f)(P)) {
    P lanes[simd::Batch<P>::width];
    x.store(lanes);
    for (P& lane : lanes) lane = f(lane);
    return simd::Batch<P>::load(lanes);
}
template <class P> simd::Batch<P> cbrt(simd::Batch<P> x) {
    return by_lane(
        x, +[](P lane) { return std::cbrt(lane); });
}
template <class P> simd::Batch<P> tgamma(simd::Batch<P> x) {
    return by_lane(
        x, +[](P lane) { return std::tgamma(lane); });
}

/// The cube root.
struct Cbrt : Transcendental<R(R)> {
    static constexpr std::string_view written = "cbrt";
    XGRAD_INLINE auto value(auto x) const { return cbrt(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return reciprocal(3 * y * y); }
};
/// The gamma function.
struct Tgamma : Transcendental<R(R)> {
    static constexpr std::string_view written = "tgamma";
    XGRAD_INLINE auto value(auto x) const { return tgamma(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto x) const { return y * polygamma(0, x); }
};
template <class... X>
concept AnyDualNumber = (DualNumber<X> || ...);
} // namespace detail

// The names that C++ has for functions of numbers, and tensors have not.
template <DualNumber X> XGRAD_INLINE auto fabs(X const& x) { return abs(x); }
template <DualNumber X> XGRAD_INLINE auto arg(X const& x) { return angle(x); }
/// True for negative numbers and for -0.
template <DualNumber X> XGRAD_INLINE auto signbit(X const& x) { return copysign(1., x) < 0; }
/// |x|^2, as in C++; the norm of a tensor is another one.
template <DualNumber X> XGRAD_INLINE auto norm(X const& x) { return abs2(x); }
template <DualNumber X> XGRAD_INLINE auto exp2(X const& x) { return pow(2., x); }
template <DualNumber X> XGRAD_INLINE auto cbrt(X const& x) { return express(detail::Cbrt{}, x); }
template <DualNumber X> XGRAD_INLINE auto tgamma(X const& x) {
    return express(detail::Tgamma{}, x);
}
template <class A, class B>
    requires detail::AnyDualNumber<A, B>
XGRAD_INLINE auto fmax(A const& a, B const& b) {
    return maximum(a, b);
}
template <class A, class B>
    requires detail::AnyDualNumber<A, B>
XGRAD_INLINE auto fmin(A const& a, B const& b) {
    return minimum(a, b);
}
/// a - b, or 0 where that is negative.
template <class A, class B>
    requires detail::AnyDualNumber<A, B>
XGRAD_INLINE auto fdim(A const& a, B const& b) {
    auto const d = a - b;
    return where(d <= 0, 0, d);
}
template <class A, class B, class Sum>
    requires detail::AnyDualNumber<A, B, Sum>
XGRAD_INLINE auto fma(A const& a, B const& b, Sum const& c) {
    return a * b + c;
}

/// `name` of tensors is no function of one number, as the compiler says here.
#define XGRAD_REDUCTION(name)                                                                      \
    template <DualNumber X> X name(X const& x) {                                                   \
        static_cast<void>(detail::ReductionOfANumber<typename X::kind>());                         \
        return x;                                                                                  \
    }
XGRAD_REDUCTION(sum)
XGRAD_REDUCTION(mean)
XGRAD_REDUCTION(prod)
XGRAD_REDUCTION(var)
XGRAD_REDUCTION(stddev)
XGRAD_REDUCTION(max)
XGRAD_REDUCTION(min)
XGRAD_REDUCTION(logsumexp)
#undef XGRAD_REDUCTION

/// The functions of C++ that dual numbers have, by how many arguments they take.
#define XGRAD_NUMBER_FUNCTIONS(one, two, three)                                                    \
    one(abs) one(acos) one(acosh) one(arg) one(asin) one(asinh) one(atan) one(atanh) one(cbrt)     \
        one(ceil) one(conj) one(cos) one(cosh) one(erf) one(erfc) one(exp) one(exp2) one(expm1)    \
            one(fabs) one(floor) one(imag) one(isfinite) one(isinf) one(isnan) one(lgamma)         \
                one(log) one(log10) one(log1p) one(log2) one(norm) one(real) one(signbit) one(sin) \
                    one(sinh) one(sqrt) one(tan) one(tanh) one(tgamma) one(trunc) two(atan2)       \
                        two(copysign) two(fdim) two(fmax) two(fmin) two(fmod) two(hypot)           \
                            two(polar) two(pow) three(fma) three(lerp)
/// Those of xgrad beside them. round() is to even, and remainder() has the sign of its divisor.
#define XGRAD_OTHER_NUMBER_FUNCTIONS(one, two, three)                                              \
    one(abs2) one(angle) one(elu) one(gelu) one(leaky_relu) one(nan_to_num) one(reciprocal)        \
        one(relu) one(round) one(rsqrt) one(sgn) one(sigmoid) one(sign) one(sinc) one(softplus)    \
            one(square) two(clamp_max) two(clamp_min) two(complex) two(logaddexp) two(maximum)     \
                two(minimum) two(remainder) two(xlogy) three(clamp)
#define XGRAD_NAME(name) #name,
/// The names of the functions of C++.
inline constexpr std::string_view number_functions[] = {
    XGRAD_NUMBER_FUNCTIONS(XGRAD_NAME, XGRAD_NAME, XGRAD_NAME)};
/// The names of those of xgrad.
inline constexpr std::string_view other_number_functions[] = {
    XGRAD_OTHER_NUMBER_FUNCTIONS(XGRAD_NAME, XGRAD_NAME, XGRAD_NAME)};
#undef XGRAD_NAME

} // namespace xgrad

// So that std::sin(x) serves where x is a dual number: code for `double` is often written so. The
// standard keeps this namespace for itself; but a name that is found by its argument is no other.
#define XGRAD_NAME(name) using xgrad::name;
namespace std { // NOLINT
XGRAD_NUMBER_FUNCTIONS(XGRAD_NAME, XGRAD_NAME, XGRAD_NAME)
}
#undef XGRAD_NAME

/// The limits of the value; a limit has the tangent 0.
template <class V, std::size_t N>
class std::numeric_limits<xgrad::Dual<V, N>> : public std::numeric_limits<V> {
    using Number = xgrad::Dual<V, N>;
    using Base = std::numeric_limits<V>;

public:
    static constexpr Number min() noexcept { return Base::min(); }
    static constexpr Number max() noexcept { return Base::max(); }
    static constexpr Number lowest() noexcept { return Base::lowest(); }
    static constexpr Number epsilon() noexcept { return Base::epsilon(); }
    static constexpr Number round_error() noexcept { return Base::round_error(); }
    static constexpr Number infinity() noexcept { return Base::infinity(); }
    static constexpr Number quiet_NaN() noexcept { return Base::quiet_NaN(); }
    static constexpr Number denorm_min() noexcept { return Base::denorm_min(); }
};

// What Eigen asks of a number type; Eigen itself need not be there.
namespace Eigen {
template <class T> struct NumTraits;
template <class T> struct GenericNumTraits;
template <class A, class B, class Operation> struct ScalarBinaryOpTraits;

template <class V, std::size_t N>
struct NumTraits<xgrad::Dual<V, N>> : GenericNumTraits<xgrad::Dual<V, N>> {
    using Real = xgrad::Dual<xgrad::precision_of<V>, N>;
    using NonInteger = xgrad::Dual<V, N>;
    using Nested = xgrad::Dual<V, N>;
    using Literal = V;
    enum {
        IsComplex = xgrad::detail::is_complex<V>,
        RequireInitialization = 1,
        AddCost = 1 + N,
        MulCost = 1 + 2 * N,
        ReadCost = 1 + N
    };
};
template <class V, std::size_t N, class Operation>
struct ScalarBinaryOpTraits<xgrad::Dual<V, N>, V, Operation> {
    using ReturnType = xgrad::Dual<V, N>;
};
template <class V, std::size_t N, class Operation>
struct ScalarBinaryOpTraits<V, xgrad::Dual<V, N>, Operation> {
    using ReturnType = xgrad::Dual<V, N>;
};
} // namespace Eigen

#include <xgrad/core/end_headers.inc> // last

#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#    include <xgrad/impl/dual.ipp>
#endif
