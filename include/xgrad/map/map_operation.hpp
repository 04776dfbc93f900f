// Map: a function of numbers as an operation of expressions, and its derivatives.
//
// Data: Map<F, Options, Y(L...)> is the operation: F on numbers of the kinds L gives one of kind Y.
// Its derivatives come from F, called with dual numbers. Derivative<F, I, part> is a derivative of
// F, again a function of numbers, so that derivatives of derivatives are Maps, too.
//
// Shapes: those of elementwise operations.
// Gradients: of any order up to the third, in backward and forward mode.
// Errors: a fourth derivative is a GraphError. What the function throws leaves the kernel.
//
// Read next: several.hpp, for functions with several results.
#pragma once

#include <array>
#include <atomic>
#include <complex>
#include <concepts>
#include <memory>

#include <xgrad/dual.hpp>
#include <xgrad/tensor/traced.hpp>

/// True in debug builds: the value of the second call of a function is compared with that of the
/// first.
#ifdef NDEBUG
#    define XGRAD_CHECKS_CALLS false
#else
#    define XGRAD_CHECKS_CALLS true
#endif

namespace xgrad {

/// How map() calls its function. `order`: of how many derivatives of the function this is one.
template <bool by_number = false, bool analytic = false, int derivatives = 0, bool checks = false>
struct MapOptions {
    static constexpr bool on_batches = !by_number;                       // or number by number
    static constexpr bool is_holomorphic = analytic;                     // one derivative is enough
    static constexpr int order = derivatives;                            // see above
    static constexpr bool is_checked = checks;                           // CheckedMap
    using branching = MapOptions<true, analytic, derivatives, checks>;   // the same by number
    using analytical = MapOptions<by_number, true, derivatives, checks>; // the same, holomorphic
    using derivative = MapOptions<by_number, analytic, derivatives + 1>; // for a derivative
};

/// The function F of numbers of the kinds in Signature, as an operation: see map().
template <class F, class Options, class Signature> struct Map;

namespace detail {

/// Which derivative: of a real argument or a holomorphic function `plain`; of others with respect
/// to z and to its conjugate; of a real function of z the direction of steepest ascent.
enum class Part : std::uint8_t { plain, dz, dz_bar, ascent };

/// The number of tangents that the derivatives for an argument of kind L, real or complex, take.
template <class Options, class L>
inline constexpr std::size_t tangents_for = std::same_as<L, C> && !Options::is_holomorphic ? 2 : 1;

/// The arguments whose tangents a call computes: argument I has the tangents from first[I] on.
template <class Options, class... L> struct TangentIndex {
    std::size_t first[sizeof...(L) + 1] = {};
    consteval TangentIndex(bool (*wanted)(std::size_t)) {
        std::size_t i = 0;
        ((first[i + 1] = first[i] + (wanted(i) ? tangents_for<Options, L> : 0), ++i), ...);
    }
    constexpr std::size_t count(std::size_t i) const { return first[i + 1] - first[i]; }
    constexpr std::size_t total() const { return first[sizeof...(L)]; }
};

/// An argument as a dual number whose own tangents, from `first` on, are those of 1 and of i.
template <std::size_t total, std::size_t first, std::size_t count, class X>
XGRAD_INLINE Dual<X, total> seeded(X const& x) {
    using T = Tangents<X, total>;
    if constexpr (count == 0) return x;
    else {
        auto support = T::Support::one(first);
        if constexpr (count == 2) support = support | T::Support::one(first + 1);
        return {x, T(support, [](std::size_t k) XGRAD_LAMBDA_INLINE {
                    if constexpr (count == 2)
                        if (k == first + 1) return X(std::complex<double>(0, 1));
                    return X(k == first ? 1 : 0);
                })};
    }
}

/// The derivative with respect to an argument of kind L, from its tangents of a result of kind Y.
template <class Options, class Y, class L, class T>
XGRAD_INLINE auto derivative_from(T const& tangent) {
    auto const t = tangent(std::integral_constant<std::size_t, 0>{});
    if constexpr (tangents_for<Options, L> == 1) return t;
    else {
        auto const u = tangent(std::integral_constant<std::size_t, 1>{});
        if constexpr (std::same_as<Y, R>) return gradient{complex(t, u)};
        else {
            auto const iu = u * std::complex<double>(0, 1);
            return wirtinger{0.5 * (t - iu), 0.5 * (t + iu)};
        }
    }
}
template <Part part, class D> XGRAD_INLINE auto part_of(D const& d) {
    if constexpr (part == Part::dz) return d.dz;
    else if constexpr (part == Part::dz_bar) return d.dz_bar;
    else if constexpr (part == Part::ascent) return d.value;
    else return d;
}

/// The numbers of a batch.
template <class Batch> struct Lanes {
    using T = typename PartOf<Batch>::kind::template over<typename PartOf<Batch>::precision>;
    T at[Batch::width];
    Lanes() = default;
    Lanes(Batch const& x) { x.store(at); }
    Batch batch() const {
        if constexpr (std::same_as<T, bool>) {
            typename PartOf<Batch>::precision as_numbers[Batch::width];
            for (std::size_t i = 0; i < Batch::width; ++i) as_numbers[i] = at[i];
            return simd::Batch<typename PartOf<Batch>::precision>::load(as_numbers) != 0;
        } else return Batch::load(at);
    }
};

/// Calls a function of numbers of the kinds L, whose result has kind Y.
template <class Options, class Signature> struct MapCall;
template <class Options, class Y, class... L> struct MapCall<Options, Y(L...)> {
    using Index = TangentIndex<Options, L...>;

    /// With X..., which are numbers, batches or dual numbers. The result is a dual number with the
    /// tangents of `index`.
    template <Index index, class F, class... X>
    XGRAD_INLINE static auto on(F const& f, X const&... x) {
        return on<index>(f, std::index_sequence_for<X...>{}, x...);
    }
    /// With batches: at once, or one lane after the other.
    template <Index index, class F, class First, class... X>
    XGRAD_INLINE static auto on_batches(F const& f, First const& first, X const&... x) {
        if constexpr (Options::on_batches) return on<index>(f, first, x...);
        else return by_number<index>(f, first, x...);
    }

private:
    template <Index index, class F, std::size_t... I, class... X>
    XGRAD_INLINE static auto on(F const& f, std::index_sequence<I...>, X const&... x) {
        constexpr std::size_t n = index.total();
        using First = std::tuple_element_t<0, std::tuple<X...>>;
        using Result = of_kind<Y, Dual<First, n>>;
        Result const y = f(seeded<n, index.first[I], index.count(I)>(x)...);
        return y;
    }
    template <Index index, class F, class First, class... X>
    static auto by_number(F const& f, First const& first, X const&... x) {
        using P = typename First::precision;
        constexpr std::size_t n = index.total(), width = simd::Batch<P>::width;
        std::tuple<Lanes<First>, Lanes<X>...> const lanes(first, x...);
        Lanes<of_kind<Y, First>> values;
        Lanes<of_kind<Y, First>> tangents[n + 1];
        for (std::size_t lane = 0; lane < width; ++lane)
            std::apply(
                [&](auto const&... all) {
                    auto const y = on<index>(f, all.at[lane]...);
                    if constexpr (std::same_as<Y, B>) values.at[lane] = y;
                    else {
                        values.at[lane] = y.value;
                        for (std::size_t k = 0; k < n; ++k) tangents[k].at[lane] = y.tangent[k];
                    }
                },
                lanes);
        if constexpr (std::same_as<Y, B>) return values.batch();
        else {
            using Value = of_kind<Y, First>;
            return Dual<Value, n>{
                values.batch(), Tangents<Value, n>(Tangents<Value, n>::Support::all(),
                                    [&](std::size_t k) { return tangents[k].batch(); })};
        }
    }
};

/// A derivative of F with respect to argument I.
template <class F, class Options, class Signature, std::size_t I, Part part> struct Derivative;
template <class F, class Options, class Y, class... L, std::size_t I, Part part>
struct Derivative<F, Options, Y(L...), I, part> {
    F f;
    template <class... X> XGRAD_INLINE auto operator()(X const&... x) const {
        using Call = MapCall<Options, Y(L...)>;
        constexpr typename Call::Index index([](std::size_t i) { return i == I; });
        auto const y = Call::template on<index>(f, x...);
        return part_of<part>(derivative_from<Options, Y, std::tuple_element_t<I, std::tuple<L...>>>(
            [&](auto k) XGRAD_LAMBDA_INLINE { return y.tangent[k]; }));
    }
};

} // namespace detail

/// A function of numbers as an operation: see map().
template <class F, class Options, class Y, class... L>
struct Map<F, Options, Y(L...)> : Elementwise<Y(L...)> {
    static constexpr std::string_view written = "map";
    using Call = detail::MapCall<Options, Y(L...)>;
    template <std::size_t I> using argument = std::tuple_element_t<I, std::tuple<L...>>;
    static constexpr typename Call::Index all{[](std::size_t) { return true; }};
    static constexpr bool is_transcendental = true; // expensive: a kernel calls it at one place
    static constexpr bool calls_numbers = !Options::on_batches;
    F f; // the function

    template <class... X> XGRAD_INLINE auto value(X const&... x) const {
        if constexpr ((detail::is_probe<X> || ...))
            return detail::probe_of<Y>::of((detail::uses_of(x) | ...));
        else {
            constexpr typename Call::Index none([](std::size_t) { return false; });
            return detail::value_of(Call::template on_batches<none>(f, x...));
        }
    }
    /// The tangents of the result, one member each: compilers keep them in registers.
    template <class T, class = std::make_index_sequence<all.total()>> struct Partials;
    template <class T, std::size_t... K>
    struct Partials<T, std::index_sequence<K...>> : detail::OperandAt<K, T>... {
        XGRAD_INLINE void set(Tangents<T, sizeof...(K)> const& t) {
            ((detail::get<K>(*this) = t[K]), ...);
        }
        template <std::size_t I> XGRAD_INLINE auto at() const {
            return detail::derivative_from<Options, Y, argument<I>>(
                [this]<std::size_t J>(std::integral_constant<std::size_t, J>)
                    XGRAD_LAMBDA_INLINE { return detail::get<all.first[I] + J>(*this); });
        }
    };
    template <class P>
        requires detail::takes_gradients<Y>
    using partials = Partials<detail::batch_for<Y, P>>;
    /// The value and all derivatives, in one call of the function.
    template <class T, class... X>
    XGRAD_INLINE T value_and_partials(Partials<T>& derivatives, X const&... x) const {
        auto const y = Call::template on_batches<all>(f, x...);
        derivatives.set(y.tangent);
        return y.value;
    }
    template <std::size_t I, class... X>
    XGRAD_INLINE auto partial(wrt<I>, auto const&, X const&... x) const {
        if constexpr (detail::tangents_for<Options, argument<I>> == 1)
            return derivative<I, detail::Part::plain, Y>(x...);
        else if constexpr (std::same_as<Y, R>)
            return gradient{derivative<I, detail::Part::ascent, C>(x...)};
        else
            return wirtinger{derivative<I, detail::Part::dz, C>(x...),
                derivative<I, detail::Part::dz_bar, C>(x...)};
    }

private:
    template <std::size_t I, detail::Part part, class To, class... X>
    XGRAD_INLINE auto derivative(X const&... x) const {
        using D = detail::Derivative<F, Options, Y(L...), I, part>;
        if constexpr ((detail::is_probe<X> || ...))
            return detail::probe_of<To>::of((detail::uses_of(x) | ...));
        else if constexpr ((detail::is_traced<X> || ...) && Options::order >= 2) {
            using P = widest_precision<typename X::precision...>;
            detail::fail<GraphError>("map: of a function of numbers there are derivatives up to "
                                     "the third");
            return Traced<typename To::template over<P>>{};
        } else {
            Map<D, typename Options::derivative, To(L...)> const op{{}, {f}};
            if constexpr ((detail::EvaluatedAtOnce<X> || ...)) return evaluate_at_once(op, x...);
            else return op.value(x...);
        }
    }
};

namespace detail {

/// True where two values of a function differ by more than rounding.
template <class P> bool differ(std::complex<double> a, std::complex<double> b) {
    double const rounding = std::sqrt(static_cast<double>(std::numeric_limits<P>::epsilon()));
    return a != b && (a == a || b == b) && // NaN equals NaN
           !(std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b)));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_second_call(char const* name) {
    fail<GraphError>(name,
        ": the function was called again, for its derivatives, and gave another value for the same "
        "arguments: what it captured by reference is gone or changed. Capture it by value: [=]");
}

/// The first call of a function in an evaluation, with n arguments: the first lane of its batches.
template <std::size_t n> struct FirstCall {
    std::atomic<int> state = 0; // 1: it is being written; 2: it is known
    std::array<std::complex<double>, n> arguments;
    std::complex<double> value;

    /// True if this is another call with the arguments of the first one; that one is stored.
    bool is_repeated(std::complex<double> y, std::array<std::complex<double>, n> const& x) {
        int none = 0;
        if (state.compare_exchange_strong(none, 1)) {
            arguments = x;
            value = y;
            state = 2;
            return false;
        }
        return state == 2 && arguments == x;
    }
};

/// A Map that, in debug builds, compares the value of a second call with that of the first one.
template <class F, class Options, class Signature> struct CheckedMap;
template <class F, class Options, class Y, class... L>
struct CheckedMap<F, Options, Y(L...)> : Map<F, Options, Y(L...)> {
    using Base = Map<F, Options, Y(L...)>;
    std::shared_ptr<FirstCall<sizeof...(L)>> first;

    template <class... X> auto value(X const&... x) const {
        auto const y = Base::value(x...);
        if constexpr ((requires { X::width; } && ...)) check(y, x...);
        return y;
    }
    template <class Partials, class... X>
    auto value_and_partials(Partials& derivatives, X const&... x) const {
        auto const y = Base::value_and_partials(derivatives, x...);
        check(y, x...);
        return y;
    }

private:
    template <class V, class... X> void check(V const& y, X const&... x) const {
        using P = widest_precision<typename X::precision...>;
        if (first->is_repeated(first_lane(y), {std::complex<double>(first_lane(x))...}) &&
            differ<P>(first_lane(y), first->value) &&
            differ<P>(first_lane(Base::value(x...)), first->value)) // it may be a rounding
            fail_second_call("map");
    }
};

template <class F, class Options, class Signature, class... X>
    requires Options::is_checked
struct FlatExpressionOf<Expression<Map<F, Options, Signature>, X...>> {
    using Checked = CheckedMap<F, Options, Signature>;
    using type = Expression<Checked, flat_expression<X>...>;
    template <class Address>
    static type flatten(Expression<Map<F, Options, Signature>, X...> const& e, Address*& tensors) {
        return flatten(e, tensors, std::index_sequence_for<X...>());
    }

private:
    template <class Address, std::size_t... I>
    static type flatten(Expression<Map<F, Options, Signature>, X...> const& e, Address*& tensors,
        std::index_sequence<I...>) {
        return type{Checked{e.op, std::make_shared<FirstCall<sizeof...(X)>>()},
            FlatExpressionOf<X>::flatten(get<I>(e.x), tensors)...};
    }
};

} // namespace detail
} // namespace xgrad
