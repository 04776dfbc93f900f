// What an operation is. An elementwise rule states its domain, its value and one partial derivative
// for each argument, for one element. It is called with batches, dual numbers, probes and traced
// tensors. The type that a partial returns selects the special case.
//
// Shapes: a rule is for one element. Arguments of an elementwise operation broadcast as in NumPy.
// Gradients: that of an argument z of y = f(z) is g conj(df/dz) + conj(g) df/dconj(z), where g is
// the gradient of y (conjugate Wirtinger calculus, PyTorch's convention: dL/dRe + i dL/dIm).
//
// Read next: any family, for instance trigonometric.hpp, then expression.hpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <xgrad/core/dependence.hpp>
#include <xgrad/simd/complex_functions.hpp>
#include <xgrad/simd/dual_number.hpp>

namespace xgrad {

/// Names the argument that a partial or a pullback is for.
template <std::size_t I> struct wrt {};

// What a partial may return beside a plain value d (f holomorphic: pullback g conj(d)).
/// f is real-valued: v is the direction of steepest ascent; the pullback is Re(g) v.
template <class V> struct gradient {
    V value; // the direction v
};
/// f is a function of conj(x): d is the derivative with respect to conj(x); the pullback is conj(g
/// conj(d)).
template <class V> struct conjugate {
    V value; // the derivative d
};
/// Anything else: the derivatives with respect to x and to conj(x).
template <class V, class W> struct wirtinger {
    V dz;     // with respect to x
    W dz_bar; // with respect to conj(x)
};
template <class V> gradient(V) -> gradient<V>;
template <class V> conjugate(V) -> conjugate<V>;
template <class V, class W> wirtinger(V, W) -> wirtinger<V, W>;

/// Derivatives that are known at compile time: One is 1, MinusOne is -1, Nothing is 0 and
/// ImaginaryUnit is i. The chain rule multiplies by none of them. Their values are `one`,
/// `minus_one`, `nothing` and `imaginary_unit`.
struct One {};
struct MinusOne {};
struct Nothing {};
struct ImaginaryUnit {};
inline constexpr One one{};
inline constexpr MinusOne minus_one{};
inline constexpr ImaginaryUnit imaginary_unit{};
/// The derivative of a function that is constant wherever it is differentiable.
inline constexpr Nothing nothing{};

/// The derivative `weight` where the mask is true, and 0 where it is false. The pullback selects
/// and does not multiply by 0, so an infinite or NaN gradient of an element that was not selected
/// stays out.
template <class M, class W = One> struct selected {
    M mask;        // true where the derivative is `weight`
    W weight = {}; // the derivative where the mask is true
};
template <class M> selected(M) -> selected<M>;
template <class M, class W> selected(M, W) -> selected<M, W>;

namespace detail {

XGRAD_INLINE auto scaled(auto g, auto d) { return g * d; }
XGRAD_INLINE auto scaled(auto g, One) { return g; }
XGRAD_INLINE auto scaled(auto g, MinusOne) { return -g; }
XGRAD_INLINE auto scaled(auto g, ImaginaryUnit) { return complex(zero_like(g), g); }

template <class A>
    requires(std::is_arithmetic_v<A>)
constexpr A conj(A a) {
    return a;
}

/// The gradient of an argument from the gradient g of the result and what `partial` returned.
XGRAD_INLINE auto pull(auto g, auto d) { return g * conj(d); }
template <class P> XGRAD_INLINE auto pull(auto g, simd::Batch<P> d) { return g * d; }
template <class P>
XGRAD_INLINE simd::ComplexBatch<P> pull(simd::ComplexBatch<P> g,
    simd::ComplexBatch<P> d) // conj(d) as a negation would cost an instruction of its own
{
    return {g.re * d.re + g.im * d.im, g.im * d.re - g.re * d.im};
}
XGRAD_INLINE auto pull(auto g, One) { return g; }
XGRAD_INLINE auto pull(auto g, MinusOne) { return -g; }
XGRAD_INLINE auto pull(auto g, ImaginaryUnit) { return complex(imag(g), -real(g)); }
XGRAD_INLINE auto pull(auto g, Nothing) { return zero_like(g); }
template <class M, class W> XGRAD_INLINE auto pull(auto g, selected<M, W> d) {
    auto const h = pull(g, d.weight);
    return where(d.mask, h, zero_like(h));
}
template <class V> XGRAD_INLINE auto pull(auto g, gradient<V> d) {
    return scaled(real(g), d.value);
}
template <class V> XGRAD_INLINE auto pull(auto g, conjugate<V> d) { return conj(pull(g, d.value)); }
template <class V, class W> XGRAD_INLINE auto pull(auto g, wirtinger<V, W> d) {
    return pull(g, d.dz) + conj(g) * d.dz_bar;
}

/// Projects a gradient to the kind of an operand: its real part if the operand is real.
template <class L, class V> XGRAD_INLINE of_kind<L, V> project(V const& g) {
    if constexpr (std::same_as<of_kind<L, V>, V>) return g;
    else if constexpr (requires { g.re; }) return g.re;
    else if constexpr (requires { g.tangent; })
        return {project<L>(g.value),
            decltype(of_kind<L, V>::tangent)(g.tangent.support(),
                [&](std::size_t i) XGRAD_LAMBDA_INLINE { return project<L>(g.tangent[i]); })};
    else if constexpr (std::same_as<L, C>) return g;
    else return g.real();
}

/// The tangent of the result that the tangent t of an argument causes; `d` is what `partial`
/// returned. The transpose of pull.
XGRAD_INLINE auto push(auto t, auto d) { return t * d; }
XGRAD_INLINE auto push(auto t, One) { return t; }
XGRAD_INLINE auto push(auto t, MinusOne) { return -t; }
XGRAD_INLINE auto push(auto t, ImaginaryUnit) { return complex(-imag(t), real(t)); }
XGRAD_INLINE auto push(auto t, Nothing) { return zero_like(t); }
template <class M, class W> XGRAD_INLINE auto push(auto t, selected<M, W> d) {
    auto const u = push(t, d.weight);
    return where(d.mask, u, zero_like(u));
}
template <class V> XGRAD_INLINE auto push(auto t, gradient<V> d) { return real(pull(t, d.value)); }
template <class V> XGRAD_INLINE auto push(auto t, conjugate<V> d) { return push(conj(t), d.value); }
template <class V, class W> XGRAD_INLINE auto push(auto t, wirtinger<V, W> d) {
    return t * d.dz + conj(t) * d.dz_bar;
}

} // namespace detail

/// A list of signatures.
template <class... Signatures> struct Maps {};

/// Base of an operation on single elements. Its domain lists function types over the kinds B
/// (mask), Z (integer), R (real) and C (complex). The first signature that accepts the arguments
/// after promotion is used.
template <class... Signatures> struct Elementwise {
    using domain = Maps<Signatures...>; // the signatures as one type
};

/// Base of an elementwise operation with an expensive value. Kernels evaluate it once for a tile in
/// which all its arguments are constant.
template <class... Signatures> struct Transcendental : Elementwise<Signatures...> {
    static constexpr bool is_transcendental = true; // marks an operation with an expensive value
};

/// Base of an operation on whole arrays.
struct Arraywise {
    static constexpr bool whole_arrays = true;              // marks an operation on whole arrays
    static constexpr auto dependence = Dependence::unknown; // or it has kept_axes()
};

/// An operation on single elements.
template <class Op>
concept IsElementwise = requires { typename Op::domain; };
/// An operation on whole arrays.
template <class Op>
concept IsArraywise = requires { Op::whole_arrays; };

namespace detail {

/// The order of promotion: mask, integer, real, complex.
template <class L>
inline constexpr int kind_rank = std::is_same_v<L, B>   ? 0
                                 : std::is_same_v<L, Z> ? 1
                                 : std::is_same_v<L, R> ? 2
                                                        : 3;

template <class Signature, class... L> struct Fit {
    static constexpr bool exact = false, promoted = false;
};
template <class Y, class... X, class... L>
    requires(sizeof...(X) == sizeof...(L))
struct Fit<Y(X...), L...> {
    static constexpr bool exact = (std::is_same_v<L, X> && ...);
    static constexpr bool promoted = ((kind_rank<L> <= kind_rank<X>)&&...);
};

/// The operation has no signature for these kinds.
struct NoSignature {};

template <class Domain, class... L> struct Match;
template <class... S, class... L> struct Match<Maps<S...>, L...> {
    static constexpr bool any_exact = (Fit<S, L...>::exact || ...);

    template <class Next, class... Rest>
    static auto first_fitting(std::type_identity<Next> next, std::type_identity<Rest>... rest) {
        if constexpr (any_exact ? Fit<Next, L...>::exact : Fit<Next, L...>::promoted) return next;
        else if constexpr (sizeof...(Rest) == 0) return std::type_identity<NoSignature>{};
        else return first_fitting(rest...);
    }
    using type = typename decltype(first_fitting(std::type_identity<S>{}...))::type;
};

/// The signature of Op for arguments of these kinds, or NoSignature.
template <class Op, class... L>
using signature_for = typename Match<typename Op::domain, L...>::type;

template <class Signature> struct ResultOf;
template <class Y, class... X> struct ResultOf<Y(X...)> {
    using type = Y;
};
template <class Signature> struct ArgumentIndices;
template <class Y, class... X>
struct ArgumentIndices<Y(X...)> : std::type_identity<std::index_sequence_for<X...>> {};
template <class Signature> using argument_indices = typename ArgumentIndices<Signature>::type;
template <std::size_t I, class Signature> struct ArgumentOf;
template <std::size_t I, class Y, class First, class... Rest>
struct ArgumentOf<I, Y(First, Rest...)> : ArgumentOf<I - 1, Y(Rest...)> {};
template <class Y, class First, class... Rest> struct ArgumentOf<0, Y(First, Rest...)> {
    using type = First;
};

/// The identifier at the end of a type's name, without scopes and template arguments. It is read
/// from the end, since scopes may contain anything: "main()::<lambda()>::Twice",
/// "Outer<double>::operator<(int)::Layer<2>".
template <class T> consteval std::string_view find_type_name() {
    constexpr std::string_view known = pretty_function<void>();
    constexpr auto before = known.rfind("void"), after = known.size() - before - 4;
    std::string_view name = pretty_function<T>();
    name = name.substr(before, name.size() - before - after);
    if (name.ends_with('>')) {
        std::size_t end = name.size(), depth = 0;
        do {
            --end;
            depth += name[end] == '>';
            depth -= name[end] == '<';
        } while (depth && end);
        name = name.substr(0, end);
    }
    auto const belongs = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    std::size_t start = name.size();
    while (start && belongs(name[start - 1])) --start;
    return start == name.size() ? "unnamed" : name.substr(start);
}

/// "Sin" for xgrad::Sin: how messages and Node names call an operation.
template <class T> inline constexpr std::string_view type_name = find_type_name<T>();

template <class Op> consteval std::string_view find_written_name() {
    if constexpr (requires { Op::written; }) return Op::written;
    else return type_name<Op>;
}
/// How errors call an operation: the function as a program writes it, where the operation says so.
template <class Op> inline constexpr std::string_view written_name = find_written_name<Op>();
/// The name of the function that was called, for an operation that several functions apply.
template <class Op> constexpr std::string_view called(Op const& op) {
    if constexpr (requires { op.asked_by; }) return op.asked_by;
    else return written_name<Op>;
}

} // namespace detail
} // namespace xgrad
