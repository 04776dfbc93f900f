// The arguments of a module's constructor: how they are read from a module, and how they are
// stored.
//
// Shapes: a Shape is stored as a list of integers.
// Errors: a value of another kind in a package is a FormatError, an integer too large or a text
// that is not UTF-8 a PackageError. A type that cannot be stored does not compile.
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <limits>
#include <optional>

#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/package/names.hpp>

namespace xgrad::package {

using data::Json;

/// An argument of a constructor under its name. `accessor` reads it from the module: a pointer to a
/// data member or a const function of the module, or to a function that takes the module.
template <Name name_, auto accessor> struct Argument {
    static constexpr std::string_view name = name_.view(); // the name of the argument in a package
    /// True if the accessor can read a module M.
    template <class M>
    static constexpr bool fits = std::is_invocable_v<decltype(accessor), M const&>;
    /// The type of the argument in a module M.
    template <class M>
    using value = std::remove_cvref_t<std::invoke_result_t<decltype(accessor), M const&>>;

    /// The value of this argument in a module.
    template <class M> static decltype(auto) of(M const& m) { return std::invoke(accessor, m); }
    /// Of a data member: the same, to be changed.
    template <class M> static auto& in(M& m) { return m.*accessor; }
};

/// The members of a type that are stored, so that it can be an argument. It is made by its default
/// constructor: `template <> struct xgrad::package::Fields<Options> : FieldList<Argument<"stride",
/// &Options::stride>> {};`
template <class X> struct Fields {};
template <class... Members> struct FieldList {
    /// Calls f(Member()) for each.
    template <class F> static void for_each(F f) { (f(Members()), ...); }
};

namespace detail {

template <class X> inline constexpr bool is_optional = false;
template <class X> inline constexpr bool is_optional<std::optional<X>> = true;
template <std::size_t D> inline constexpr bool is_optional<nn::PoolStride<D>> = true;
template <class X> inline constexpr bool is_complex_number = false;
template <std::floating_point P> inline constexpr bool is_complex_number<std::complex<P>> = true;
template <class X> inline constexpr bool is_array = false;
template <class X, std::size_t n> inline constexpr bool is_array<std::array<X, n>> = true;
template <class X> inline constexpr bool is_choice = false;
template <class E> inline constexpr bool is_choice<Choice<E>> = true;
template <class X> inline constexpr bool is_per_axis = false;
template <std::size_t D> inline constexpr bool is_per_axis<nn::PerAxis<D>> = true;
template <class X>
concept HasFields = requires { Fields<X>::for_each([](auto) {}); };
template <class X>
concept Sequence = !std::same_as<X, std::string> && requires(X x, typename X::value_type v) {
    x.push_back(v);
    x.begin() != x.end();
};

/// Whether a value of this type can be stored in JSON.
template <class X> constexpr bool storable() {
    if constexpr (std::is_arithmetic_v<X> || std::is_enum_v<X> || std::same_as<X, std::string> ||
                  is_complex_number<X> || is_per_axis<X> || is_choice<X>)
        return true;
    else if constexpr (is_optional<X> || is_array<X> || Sequence<X>)
        return storable<typename X::value_type>();
    else return HasFields<X> && std::is_default_constructible_v<X>;
}

template <class X> Json to_json(X const& x) {
    if constexpr (std::same_as<X, bool>) return x;
    else if constexpr (std::integral<X>) {
        if (!std::in_range<std::int64_t>(x))
            fail<PackageError>("the integer ", x, " is too large to be stored");
        return static_cast<std::int64_t>(x);
    } else if constexpr (std::floating_point<X>) {
        if (xgrad::detail::is_nan(x)) return "nan";
        if (xgrad::detail::is_infinite(x)) return x > 0 ? "inf" : "-inf";
        return static_cast<double>(x);
    } else if constexpr (std::is_enum_v<X>)
        return to_json(static_cast<std::underlying_type_t<X>>(x));
    else if constexpr (is_choice<X>) return to_json(static_cast<typename X::value_type>(x));
    else if constexpr (std::same_as<X, std::string>) {
        if (data::detail::utf8_until(x) != x.size())
            fail<PackageError>("an argument that is a text must be UTF-8");
        return x;
    } else if constexpr (is_optional<X>) return x ? to_json(*x) : Json();
    else if constexpr (is_complex_number<X>)
        return Json::Array{to_json(x.real()), to_json(x.imag())};
    else if constexpr (is_per_axis<X>) return to_json(x.along);
    else if constexpr (is_array<X> || Sequence<X>) {
        Json::Array elements;
        for (auto const& element : x) elements.push_back(to_json<typename X::value_type>(element));
        return elements;
    } else {
        Json::Object members;
        Fields<X>::for_each([&]<class Member>(Member) {
            members.emplace_back(Member::name, to_json(Member::of(x)));
        });
        return members;
    }
}

/// `where` begins the message of the FormatError that is thrown for a value of another kind.
template <class X> X from_json(Json const& json, std::string const& where) {
    auto const expected = [&](std::string_view what) {
        fail<data::FormatError>(where, ": here should be ", what);
    };
    if constexpr (std::same_as<X, bool>) {
        auto const* const v = json.get_if<bool>();
        if (!v) expected("true or false");
        return *v;
    } else if constexpr (std::integral<X>) {
        auto const* const v = json.get_if<std::int64_t>();
        if (!v) expected("an integer");
        if (!std::in_range<X>(*v))
            fail<data::FormatError>(where, ": the integer ", *v, " is out of range");
        return static_cast<X>(*v);
    } else if constexpr (std::floating_point<X>) {
        if (auto const* const v = json.get_if<double>()) return static_cast<X>(*v);
        if (auto const* const v = json.get_if<std::int64_t>()) return static_cast<X>(*v);
        auto const* const text = json.get_if<std::string>();
        if (!text || (*text != "inf" && *text != "-inf" && *text != "nan")) expected("a number");
        if (*text == "nan") return std::numeric_limits<X>::quiet_NaN();
        return *text == "inf" ? std::numeric_limits<X>::infinity()
                              : -std::numeric_limits<X>::infinity();
    } else if constexpr (std::is_enum_v<X>)
        return static_cast<X>(from_json<std::underlying_type_t<X>>(json, where));
    else if constexpr (is_choice<X>) return from_json<typename X::value_type>(json, where);
    else if constexpr (std::same_as<X, std::string>) {
        auto const* const v = json.get_if<std::string>();
        if (!v) expected("a text");
        return *v;
    } else if constexpr (is_optional<X>) {
        if (json.is_null()) return {};
        return from_json<typename X::value_type>(json, where);
    } else if constexpr (is_complex_number<X>) {
        auto const parts = from_json<std::array<typename X::value_type, 2>>(json, where);
        return {parts[0], parts[1]};
    } else if constexpr (is_per_axis<X>) {
        X x(0);
        x.along = from_json<decltype(x.along)>(json, where);
        return x;
    } else if constexpr (is_array<X> || Sequence<X>) {
        auto const* const elements = json.get_if<Json::Array>();
        if (!elements) expected("an array");
        X x{};
        if constexpr (is_array<X>) {
            if (elements->size() != x.size())
                fail<data::FormatError>(
                    where, ": here should be ", x.size(), " elements, not ", elements->size());
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = from_json<typename X::value_type>((*elements)[i], where);
        } else
            for (auto const& e : *elements)
                x.push_back(from_json<typename X::value_type>(e, where));
        return x;
    } else {
        X x{};
        Fields<X>::for_each([&]<class Member>(Member) {
            auto const* const member = json.find(Member::name);
            if (!member) fail<data::FormatError>(where, ": there is no '", Member::name, "'");
            auto& to = Member::in(x);
            to = from_json<std::remove_cvref_t<decltype(to)>>(
                *member, where + "." + std::string(Member::name));
        });
        return x;
    }
}

} // namespace detail
} // namespace xgrad::package
