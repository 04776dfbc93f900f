// HessianNumber: a value, its gradient for N numbers and its Hessian, whose lower triangle is
// stored. Operations apply their rules, as for dual numbers (expr/dual.hpp). Nested dual numbers
// would compute each second derivative twice.
//
// Gradients: for y = op(x...), with the partials d_i and their derivatives d_ij, the gradient is
// the sum of d_i g_i, and the Hessian that of d_i H_i + w_i g_i^T, where w_i is the sum of d_ij
// g_j.
#pragma once

#include <array>

#include <xgrad/dual.hpp>

namespace xgrad {

template <class V, std::size_t N> struct HessianNumber;

namespace detail {

template <class X> inline constexpr bool is_hessian_number = false;
template <class V, std::size_t N>
inline constexpr bool is_hessian_number<HessianNumber<V, N>> = true;
template <class V, std::size_t N> struct PartOf<HessianNumber<V, N>> : PartOf<V> {
    static constexpr bool is_part = true;
};
template <class L, class V, std::size_t N>
struct OfKind<L, HessianNumber<V, N>> : std::type_identity<HessianNumber<V, N>> {};
template <class V, std::size_t N> struct OfKind<B, HessianNumber<V, N>> : OfKind<B, V> {};
template <class V, std::size_t N> XGRAD_INLINE V value_of(HessianNumber<V, N> const& x) {
    return x.value;
}

/// The index of entry (i, j) of a symmetric matrix whose lower triangle is stored by rows.
constexpr std::size_t packed_index(std::size_t i, std::size_t j) {
    return i < j ? packed_index(j, i) : i * (i + 1) / 2 + j;
}
constexpr std::size_t packed_size(std::size_t n) { return n * (n + 1) / 2; }
/// The row of each entry; that of entry p has the column p - packed_size(row).
template <std::size_t n>
inline constexpr auto packed_rows = [] {
    std::array<std::size_t, packed_size(n)> rows{};
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) rows[packed_index(i, j)] = i;
    return rows;
}();

} // namespace detail

/// A value, its gradient and its Hessian: what sum_over() calls a function with.
template <class V, std::size_t N> struct HessianNumber {
    /// Of the lower triangle of the Hessian.
    static constexpr std::size_t entries = detail::packed_size(N);
    using operand_tag = void;
    using evaluated_at_once = void;
    using kind = typename detail::PartOf<V>::kind;
    using precision = typename detail::PartOf<V>::precision;
    V value;                      // the value
    Tangents<V, N> gradient;      // derivative i, for argument i
    Tangents<V, entries> hessian; // entry (i, j) is at detail::packed_index(i, j)

    HessianNumber() = default;
    /// A constant.
    template <class X>
        requires std::convertible_to<X, V>
    XGRAD_INLINE HessianNumber(X const& x) : value(x) {}
    XGRAD_INLINE HessianNumber(
        V const& v, Tangents<V, N> const& g, Tangents<V, entries> const& h = {})
        : value(v), gradient(g), hessian(h) {}
    /// Number i of the arguments of a function.
    XGRAD_INLINE static HessianNumber variable(V const& v, std::size_t i) {
        return {v, Dual<V, N>::variable(v, i).tangent};
    }
    template <class X> XGRAD_INLINE HessianNumber& operator+=(X const& x) {
        return *this = *this + x;
    }
    template <class X> XGRAD_INLINE HessianNumber& operator-=(X const& x) {
        return *this = *this - x;
    }
    template <class X> XGRAD_INLINE HessianNumber& operator*=(X const& x) {
        return *this = *this * x;
    }
    template <class X> XGRAD_INLINE HessianNumber& operator/=(X const& x) {
        return *this = *this / x;
    }
};

namespace detail {

/// The sum over arguments that a gradient and a Hessian are.
template <class V, std::size_t N> struct HessianTerm {
    Tangents<V, N> gradient;
    Tangents<V, packed_size(N)> hessian;
    XGRAD_INLINE friend HessianTerm operator+(HessianTerm const& a, HessianTerm const& b) {
        return {a.gradient + b.gradient, a.hessian + b.hessian};
    }
};

/// Applies an operation to arguments of its signature, some of which are HessianNumbers.
template <class Signature, class V, std::size_t N> struct OnHessianNumbers;
template <class Y, class... L, class V, std::size_t N> struct OnHessianNumbers<Y(L...), V, N> {
    using Gradient = Tangents<V, N>;
    using Hessian = Tangents<V, packed_size(N)>;
    using Term = HessianTerm<V, N>;
    using Local = Dual<V, sizeof...(L)>; // an argument, with a tangent for each of them

    template <class Op, class... X> XGRAD_INLINE static auto result(Op const& op, X const&... x) {
        if constexpr (!takes_gradients<Y>)
            return on_duals(op, of_kind<L, Dual<V, 0>>(value_of(x))...);
        else return result(op, std::index_sequence_for<X...>{}, x...);
    }

private:
    template <class Op, std::size_t... I, class... X>
    XGRAD_INLINE static HessianNumber<V, N> result(
        Op const& op, std::index_sequence<I...>, X const&... x) {
        return [&](of_kind<L, Local> const&... locals) XGRAD_LAMBDA_INLINE {
            Local const y = on_duals(op, locals...);
            auto const partial = [&](auto argument) XGRAD_LAMBDA_INLINE {
                return op.partial(argument, y, locals...);
            };
            Term const sum =
                (nothing + ... + term<I, Op>(partial, x, std::index_sequence<I...>{}, x...));
            return HessianNumber<V, N>(y.value, sum.gradient, sum.hessian);
        }(local<I, L>(x)...);
    }
    template <std::size_t I, class A, class X>
    XGRAD_INLINE static of_kind<A, Local> local(X const& x) {
        if constexpr (!is_hessian_number<X>) return number_as<of_kind<A, V>>(x);
        else return Local::variable(x.value, I);
    }
    /// The contribution of argument I.
    template <std::size_t I, class Op, class Partial, std::size_t... J, class Xi, class... X>
    XGRAD_INLINE static auto term(
        Partial const& partial, Xi const& xi, std::index_sequence<J...>, X const&... x) {
        if constexpr (!is_hessian_number<Xi>) return nothing;
        else {
            auto const d = partial(wrt<I>{});
            if constexpr (is_unit<std::remove_const_t<decltype(d)>>) {
                auto const push_one = [&](V const& t) XGRAD_LAMBDA_INLINE {
                    return value_of(push(Dual<V, 0>(t), d));
                };
                return Term{each(xi.gradient, push_one), each(xi.hessian, push_one)};
            } else {
                constexpr bool guarded =
                    (Number<V> || !has_factor<Op>)&&has_poles<Op, std::index_sequence<J...>>;
                Local const c = Coefficients<Local>(d).dz;
                Gradient const w =
                    (nothing + ... + slope<guarded>(x, c.tangent[J], c.tangent.support().has(J)));
                auto const times = [&](V const& t)
                                       XGRAD_LAMBDA_INLINE { return product<guarded>(c.value, t); };
                return Term{each(xi.gradient, times),
                    each(xi.hessian, times) +
                        outer<guarded>(w, xi.gradient, std::make_index_sequence<packed_size(N)>{})};
            }
        }
    }
    template <std::size_t n, class F>
    XGRAD_INLINE static Tangents<V, n> each(Tangents<V, n> const& t, F const& f) {
        return Tangents<V, n>(
            t.support(), [&](std::size_t i) XGRAD_LAMBDA_INLINE { return f(t[i]); });
    }
    /// c t; 0 where t is 0, even if c is infinite.
    template <bool guarded> XGRAD_INLINE static V product(V const& c, V const& t) {
        if constexpr (guarded) return contribution(t, c);
        else return c * t;
    }
    template <bool guarded, class X>
    XGRAD_INLINE static auto slope(X const& x, V const& c, bool has_c) {
        if constexpr (!is_hessian_number<X>) return nothing;
        else
            return Gradient(has_c ? x.gradient.support() : Gradient::Support::none(),
                [&](std::size_t i)
                    XGRAD_LAMBDA_INLINE { return product<guarded>(c, x.gradient[i]); });
    }
    /// The lower triangle of a b^T.
    template <bool guarded, std::size_t... P>
    XGRAD_INLINE static Hessian outer(
        Gradient const& a, Gradient const& b, std::index_sequence<P...>) {
        auto const has = [&](std::size_t row, std::size_t column,
                             std::size_t p) XGRAD_LAMBDA_INLINE {
            return a.support().has(row) && b.support().has(column) ? Hessian::Support::one(p)
                                                                   : Hessian::Support::none();
        };
        return Hessian((has(packed_rows<N>[P], P - packed_size(packed_rows<N>[P]), P) | ...),
            [&](std::size_t p) XGRAD_LAMBDA_INLINE {
                std::size_t const row = packed_rows<N>[p];
                return product<guarded>(a[row], b[p - packed_size(row)]);
            });
    }
};
template <class V, std::size_t N, class... More>
std::type_identity<HessianNumber<V, N>> first_hessian_number(
    HessianNumber<V, N> const&, More const&...);
template <class X, class... More> auto first_hessian_number(X const&, More const&... more) {
    return first_hessian_number(more...);
}

} // namespace detail

/// Called by express() where an argument is a HessianNumber.
template <class Op, class... X>
    requires(detail::is_hessian_number<X> || ...)
XGRAD_INLINE auto evaluate_at_once(Op const& op, X const&... x) {
    return
        [&]<class V, std::size_t N>(std::type_identity<HessianNumber<V, N>>) XGRAD_LAMBDA_INLINE {
            using Signature = detail::signature_for<Op, typename detail::RuleValue<X>::kind...>;
            return detail::OnHessianNumbers<Signature, V, N>::result(op, x...);
        }(decltype(detail::first_hessian_number(x...)){});
}

} // namespace xgrad
