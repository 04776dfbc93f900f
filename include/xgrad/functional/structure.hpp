// Structures of tensors: what the transforms of this folder take as inputs and results. A structure
// is a tensor, or a std::tuple, std::pair, std::array, std::vector, map or aggregate class whose
// parts are structures. visit_tensors() visits its tensors, always in the same order, so that
// code that computes derivatives sees a list of AnyTensor only.
#pragma once

#include <array>
#include <tuple>

#include <xgrad/tensor/backward.hpp>

namespace xgrad::detail {

using Tensors = std::vector<AnyTensor>;
using TensorSpan = std::span<AnyTensor const>;

template <class X> inline constexpr bool is_tuple = false;
template <class... X> inline constexpr bool is_tuple<std::tuple<X...>> = true;
template <class X> inline constexpr bool is_tuple_like = is_tuple<X>;
template <class A, class B> inline constexpr bool is_tuple_like<std::pair<A, B>> = true;
template <class X, std::size_t n> inline constexpr bool is_tuple_like<std::array<X, n>> = true;

template <class X>
concept MapLike = requires(X& x) {
    typename X::mapped_type;
    typename X::key_compare; // an order of its own, which a copy keeps
    x.begin()->second;
};
template <class X>
concept ListLike = !MapLike<X> && !TensorLike<X> && requires(X& x, typename X::value_type v) {
    x.push_back(v);
    x.begin() != x.end();
};

/// What a member of an aggregate class may be.
template <class X>
concept PossibleMember =
    TensorLike<X> || is_tuple_like<X> || MapLike<X> || ListLike<X> || std::is_aggregate_v<X>;
/// Converts to every possible member: it counts the members of an aggregate class.
struct AnyMember {
    template <PossibleMember T> operator T() const;
};
/// Converts to all other types: it finds members that make a class no structure.
struct OtherMember {
    template <class T>
        requires(!PossibleMember<T> && !std::convertible_to<T const&, std::string_view>)
    operator T() const;
};
/// The number of members of X, if there are at most 8, and if each is a possible one; else 0.
template <class X, class... M> constexpr std::size_t count_members() {
    if constexpr (sizeof...(M) > 8) return 0;
    else if constexpr (requires { X{M{}..., AnyMember{}}; })
        return count_members<X, M..., AnyMember>();
    else if constexpr (
        requires {
            X{M{}..., OtherMember{}};
        } ||
        requires {
            X{M{}..., {}};
        })
        return 0;
    else return sizeof...(M);
}
template <class X>
concept AggregateLike = std::is_class_v<X> && std::is_aggregate_v<X> && !TensorLike<X> &&
                        !is_tuple_like<X> && std::copyable<X> && count_members<X>() != 0;
/// References to the members of an aggregate, of which there are at most 8.
template <class X> auto members_of(X& x) {
    constexpr std::size_t n = count_members<std::remove_const_t<X>>();
    if constexpr (n == 1) {
        auto& [a] = x;
        return std::tie(a);
    } else if constexpr (n == 2) {
        auto& [a, b] = x;
        return std::tie(a, b);
    } else if constexpr (n == 3) {
        auto& [a, b, c] = x;
        return std::tie(a, b, c);
    } else if constexpr (n == 4) {
        auto& [a, b, c, d] = x;
        return std::tie(a, b, c, d);
    } else if constexpr (n == 5) {
        auto& [a, b, c, d, e] = x;
        return std::tie(a, b, c, d, e);
    } else if constexpr (n == 6) {
        auto& [a, b, c, d, e, f] = x;
        return std::tie(a, b, c, d, e, f);
    } else if constexpr (n == 7) {
        auto& [a, b, c, d, e, f, g] = x;
        return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (n == 8) {
        auto& [a, b, c, d, e, f, g, h] = x;
        return std::tie(a, b, c, d, e, f, g, h);
    } else return std::tuple<>();
}

/// The type in which a structure is stored, with tensors in the place of expressions, and the
/// scalar types of its tensors. Other types have no StructureOf.
template <class X> struct StructureOf {};
template <class X> using structure = typename StructureOf<X>::type;
template <class X> using scalars_of = typename StructureOf<X>::scalars;
template <class X>
concept StructureLike = requires { typename StructureOf<X>::type; };

template <TensorLike X> struct StructureOf<X> {
    using type = tensor_type<X>;
    using scalars = std::tuple<typename type::scalar>;
    static type make(X const& x) { return materialize(x); }
};
template <StructureLike... X> struct StructureOf<std::tuple<X...>> {
    using type = std::tuple<structure<X>...>;
    using scalars = decltype(std::tuple_cat(std::declval<scalars_of<X>>()...));
    static type make(std::tuple<X...> const& x) {
        return std::apply([](X const&... each) { return type(StructureOf<X>::make(each)...); }, x);
    }
};
/// A container is stored as it is, so that it holds tensors and no expressions.
template <class X, class... Parts> struct ContainerOf {};
template <class X, StructureLike... Parts>
    requires(std::same_as<structure<Parts>, Parts> && ...)
struct ContainerOf<X, Parts...> {
    using type = X;
    using scalars = decltype(std::tuple_cat(std::declval<scalars_of<Parts>>()...));
    static type const& make(X const& x) { return x; }
};
template <class A, class B>
struct StructureOf<std::pair<A, B>> : ContainerOf<std::pair<A, B>, A, B> {};
template <class X, std::size_t n>
struct StructureOf<std::array<X, n>> : ContainerOf<std::array<X, n>, X> {};
template <ListLike X> struct StructureOf<X> : ContainerOf<X, typename X::value_type> {};
template <Scalar T> struct StructureOf<TensorParts<T>> : StructureOf<std::vector<Tensor<T>>> {
    static std::vector<Tensor<T>> make(TensorParts<T> const& x) { return x; }
};
template <MapLike X> struct StructureOf<X> : ContainerOf<X, typename X::mapped_type> {};
template <class X, class Members> struct AggregateOf {};
template <class X, class... M>
struct AggregateOf<X, std::tuple<M&...>> : ContainerOf<X, std::remove_const_t<M>...> {};
template <AggregateLike X>
struct StructureOf<X> : AggregateOf<X, decltype(members_of(std::declval<X&>()))> {};

template <class Scalars> inline constexpr bool has_scalars = false;
template <class... T>
inline constexpr bool has_scalars<std::tuple<T...>> = (Differentiable<T> && ...);
template <class Scalars> inline constexpr bool has_real_scalars = false;
template <class... T>
inline constexpr bool has_real_scalars<std::tuple<T...>> = (RealScalar<T> && ...);
template <class Scalars> inline constexpr bool has_complex_scalars = false;
template <class... T>
inline constexpr bool has_complex_scalars<std::tuple<T...>> = (ComplexScalar<T> && ...);
template <class X>
inline constexpr bool all_differentiable = StructureLike<X> && has_scalars<scalars_of<X>>;
template <class X> inline constexpr bool all_real = has_real_scalars<scalars_of<X>>;
template <class X> inline constexpr bool all_complex = has_complex_scalars<scalars_of<X>>;

/// Calls f(Tensor<T>&) for each tensor of a stored structure.
template <class X, class F> void visit_tensors(X& x, F const& f) {
    using Plain = std::remove_const_t<X>;
    if constexpr (TensorLike<Plain>) f(x);
    else if constexpr (is_tuple_like<Plain>)
        std::apply([&](auto&... each) { (visit_tensors(each, f), ...); }, x);
    else if constexpr (MapLike<Plain>)
        for (auto& entry : x) visit_tensors(entry.second, f);
    else if constexpr (ListLike<Plain>)
        for (auto& each : x) visit_tensors(each, f);
    else std::apply([&](auto&... each) { (visit_tensors(each, f), ...); }, members_of(x));
}
/// True if two structures of one type have the same keys and sizes.
template <class X> bool same_sizes(X const& a, X const& b) {
    if constexpr (TensorLike<X>) return true;
    else if constexpr (MapLike<X>)
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto const& p, auto const& q) {
            return p.first == q.first && same_sizes(p.second, q.second);
        });
    else if constexpr (ListLike<X>)
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
            [](auto const& p, auto const& q) { return same_sizes(p, q); });
    else {
        auto const all = [](auto const& p, auto const& q) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return (same_sizes(std::get<I>(p), std::get<I>(q)) && ...);
            }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(p)>>>());
        };
        if constexpr (is_tuple_like<X>) return all(a, b);
        else return all(members_of(a), members_of(b));
    }
}
/// Throws where v has other keys or sizes than the structure that it belongs to.
template <class X> void check_sizes(std::string_view transform, X const& v, X const& fits) {
    if (!same_sizes(v, fits))
        fail<ShapeError>(transform, ": v has other keys, or other numbers of tensors, than what it "
                                    "belongs to");
}
/// A structure of the same keys and sizes, of undefined tensors: it keeps no tensor alive.
template <class X> X without_tensors(X x) {
    visit_tensors(x, []<Scalar T>(Tensor<T>& t) { t = Tensor<T>(); });
    return x;
}
/// The tensors of a structure.
template <StructureLike X> Tensors erased(X const& x) {
    Tensors all;
    all.reserve(2);
    auto const& stored = StructureOf<X>::make(x);
    visit_tensors(stored, [&all](AnyTensor const& t) { all.push_back(t); });
    return all;
}
/// A structure like another one, with these tensors.
template <class X> X with_tensors(X like, TensorSpan x) {
    std::size_t i = 0;
    visit_tensors(like, [&]<Scalar T>(Tensor<T>& t) { t = x[i++].as<T>(); });
    return like;
}

} // namespace xgrad::detail
