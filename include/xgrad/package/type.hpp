// Type: the one line that gives a type of modules its name in packages, and says from which
// arguments it is constructed:
//
//     inline xgrad::package::Type<Block, "acme.vision.Block", xgrad::package::Argument<"channels",
//     &Block::channels>> const block_type;
//
// Errors: arguments in a package that are not those of the type are a FormatError, a name that two
// C++ types have a PackageError. A name, an argument or a function that does not fit the type does
// not compile.
#pragma once

#include <tuple>

#include <xgrad/nn.hpp>
#include <xgrad/package/registry.hpp>

namespace xgrad::package {

// What may stand after the name of a Type, in any order, beside Arguments:

/// The module can be called like this, R(A...), inside a Sequential or a Slot. One whose forward is
/// neither overloaded nor a template needs no Call.
template <class Signature> struct Call {};
/// What the module depends on beside the modules inside it: dotted names of resources or of objects
/// of the program.
template <Name... names> struct DependsOn {};
/// A function that returns the module, called with the Arguments, in the stead of the constructor.
template <auto function> struct Make {};
/// A function that returns how many elements the state of a module has that is constructed from
/// these Arguments, as a double. An importer refuses arguments that ask for more than the archive
/// holds before it constructs anything.
template <auto function> struct StateSize {};
/// The type is known by its name alone. It can be external or mocked, but not interned.
struct NameOnly {};

namespace detail {

/// The text of a name, which lasts as long as the program.
template <Name name> struct Stored {
    static constexpr Name text = name;
};

template <class P> inline constexpr bool is_argument = false;
template <Name name, auto accessor>
inline constexpr bool is_argument<Argument<name, accessor>> = true;
template <class P> inline constexpr bool is_call = false;
template <class R, class... A> inline constexpr bool is_call<Call<R(A...)>> = true;
template <class P> inline constexpr bool is_depends_on = false;
template <Name... names> inline constexpr bool is_depends_on<DependsOn<names...>> = true;
template <class P> inline constexpr bool is_make = false;
template <auto f> inline constexpr bool is_make<Make<f>> = true;
template <class P> inline constexpr bool is_state_size = false;
template <auto f> inline constexpr bool is_state_size<StateSize<f>> = true;
template <class P>
inline constexpr bool is_part = is_argument<P> || is_call<P> || is_depends_on<P> || is_make<P> ||
                                is_state_size<P> || std::same_as<P, NameOnly>;

/// The T of a module template M<T>.
template <class M> inline constexpr std::optional<DType> scalar_of = {};
template <template <class...> class M, Scalar T, class... Rest>
inline constexpr std::optional<DType> scalar_of<M<T, Rest...>> = dtype_of<T>;

template <class M, class P> constexpr bool argument_fits() {
    if constexpr (is_argument<P>) return P::template fits<M>;
    else return true;
}
template <class M, class P> constexpr bool argument_storable() {
    if constexpr (is_argument<P>) return storable<typename P::template value<M>>();
    else return true;
}
template <class M, class P> inline constexpr bool call_fits = true;
template <class M, class R, class... A>
inline constexpr bool call_fits<M, Call<R(A...)>> =
    requires(M& m, std::remove_cvref_t<A> const&... a) { m.forward(a...); };

template <class M, class... Parts> struct Description {
    template <class P>
    using IfArgument = std::conditional_t<is_argument<P>, std::tuple<P>, std::tuple<>>;
    using Arguments = decltype(std::tuple_cat(std::declval<IfArgument<Parts>>()...));
    template <class List> struct ValuesOf;
    template <class... P> struct ValuesOf<std::tuple<P...>> {
        using type = std::tuple<typename P::template value<M>...>;
        static constexpr bool constructs =
            std::is_constructible_v<M, typename P::template value<M>...>;

        static constexpr bool named_well() {
            std::array<std::string_view, sizeof...(P)> const names{P::name...};
            for (std::size_t i = 0; i < names.size(); ++i) {
                if (!is_identifier(names[i])) return false;
                for (std::size_t k = 0; k < i; ++k)
                    if (names[k] == names[i]) return false;
            }
            return true;
        }
        static Json store(M const& m) {
            Json::Object all;
            (all.emplace_back(
                 std::string(P::name), to_json<typename P::template value<M>>(P::of(m))),
                ...);
            return all;
        }
        static type load(Json const& json, std::string const& where) {
            [[maybe_unused]] auto const one = [&]<class Argument>(Argument) {
                auto const* const value = json.find(Argument::name);
                if (!value)
                    fail<data::FormatError>(where, ": there is no argument '", Argument::name, "'");
                return from_json<typename Argument::template value<M>>(
                    *value, where + ", argument '" + std::string(Argument::name) + "'");
            };
            auto const* const members = json.get_if<Json::Object>();
            if (!members || members->size() != sizeof...(P))
                fail<data::FormatError>(where, ": here should be ", sizeof...(P), " arguments");
            return type{one(P())...};
        }
    };
    using Values = ValuesOf<Arguments>;

    static constexpr bool name_only = (std::same_as<Parts, NameOnly> || ...);
    static constexpr bool has_make = (is_make<Parts> || ...);

    static Json store(nn::AnyModule const& m) { return Values::store(static_cast<M const&>(m)); }
    static std::unique_ptr<nn::AnyModule> make(
        Json const& json, std::string const& where, [[maybe_unused]] double available) {
        auto const values = Values::load(json, where);
        try {
            (check_size(Parts(), values, where, available), ...);
            if constexpr (has_make) {
                std::unique_ptr<nn::AnyModule> made;
                (make_by(Parts(), values, made), ...);
                return made;
            } else
                return std::apply(
                    [](auto const&... v) { return std::make_unique<M>(v...); }, values);
        } catch (data::FormatError const&) { throw; } catch (Error const& e) {
            fail<data::FormatError>(where, ": ", e.what());
        }
    }

private:
    /// An extent of 0 counts as 1 in a StateSize, so a few elements more than there are do no harm.
    static constexpr double harmless = 256;

    static void check_size(auto, auto const&, std::string const&, double) {}
    template <auto f>
    static void check_size(StateSize<f>, auto const& values, std::string const& where,
        [[maybe_unused]] double available) {
        double const size = std::apply(f, values);
        if (!(size <= available + harmless))
            fail<data::FormatError>(
                where, ": the arguments ask for more elements than the archive has for it");
    }
    static void make_by(auto, auto const&, std::unique_ptr<nn::AnyModule>&) {}
    template <auto f>
    static void make_by(Make<f>, auto const& values, std::unique_ptr<nn::AnyModule>& made) {
        made = std::make_unique<M>(std::apply(f, values));
    }
};

template <class R, class Arguments> struct SignatureOf;
template <class R, class... A> struct SignatureOf<R, std::tuple<A...>> {
    using type = R(A...);
    static constexpr bool callable =
        (!(std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>)&&...);
};

/// All that is known of M without a name: how it is called and assigned.
template <class M, class... Parts> TypeEntry unnamed_entry() {
    TypeEntry e{};
    e.dtype = scalar_of<M>;
    e.type = &typeid(M);
    e.child_type = &typeid(nn::Child<M>);
    if constexpr (std::is_move_assignable_v<M>)
        e.assign = [](nn::AnyModule& to, nn::AnyModule& from) {
            static_cast<M&>(to) = static_cast<M&&>(from);
        };
    [[maybe_unused]] auto const add_call = [&]<class P>(std::type_identity<P>) {
        if constexpr (is_call<P>)
            [&]<class S>(Call<S>) { e.calls.push_back(typed_call<M, S>()); }(P());
    };
    (add_call(std::type_identity<Parts>()), ...);
    [[maybe_unused]] auto const add_names = [&]<class P>(std::type_identity<P>) {
        if constexpr (is_depends_on<P>)
            [&]<Name... names>(DependsOn<names...>) {
                (e.depends_on.push_back(Stored<names>::text.view()), ...);
            }(P());
    };
    (add_names(std::type_identity<Parts>()), ...);
    return e;
}
/// Adds the call of a module whose forward is neither overloaded nor a template.
template <class M> void add_known_call(TypeEntry& e) {
    using Forward = nn::detail::ForwardOf<M>;
    if constexpr (Forward::known) {
        // std::tuple<> stands for void
        using Result = std::conditional_t<std::same_as<typename Forward::Result, std::tuple<>>,
            void, typename Forward::Result>;
        using Call = SignatureOf<Result, typename Forward::Arguments>;
        if constexpr (Call::callable) e.calls.push_back(typed_call<M, typename Call::type>());
    }
}
template <class M, Name name, class... Parts> TypeEntry entry() {
    auto e = unnamed_entry<M, Parts...>();
    e.name = Stored<name>::text.view();
    if constexpr (!Description<M, Parts...>::name_only) {
        e.arguments = &Description<M, Parts...>::store;
        e.make = &Description<M, Parts...>::make;
        e.without_arguments = !(is_argument<Parts> || ...);
    }
    return e;
}

} // namespace detail

/// Gives M a name in packages, for as long as the program runs. A template M<T> of a scalar type
/// has one name for all T.
template <class M, Name name, class... Parts> struct Type {
    Type() {
        constexpr bool is_module = std::derived_from<M, nn::AnyModule>;
        static_assert(is_module,
            "package::Type: only a module, derived from nn::Module, has a type in packages");
        constexpr bool is_named = detail::is_dotted(name.view());
        static_assert(is_named, "package::Type: a name is identifiers with dots between them, such "
                                "as \"acme.vision.Block\"");
        constexpr bool has_dot = !is_named || detail::is_type_name(name.view());
        static_assert(has_dot,
            "package::Type: this name has no dot; the name of the project stands "
            "before that of the type, as in \"acme.Net\"");
        constexpr bool is_free = !name.view().starts_with("xgrad.");
        static_assert(
            is_free, "package::Type: names that begin with \"xgrad.\" are those of the library");
        constexpr bool are_parts = (detail::is_part<Parts> && ...);
        static_assert(are_parts, "package::Type: after the name stand Argument, Call, DependsOn, "
                                 "Make, StateSize or NameOnly");
        if constexpr (is_module && is_named && has_dot && is_free && are_parts) check_arguments();
    }

private:
    static void check_arguments() {
        constexpr bool fit = (detail::argument_fits<M, Parts>() && ...);
        static_assert(fit, "package::Argument: it is read by a pointer to a member of the module, "
                           "or to a function that takes the module");
        if constexpr (fit) {
            constexpr bool storable = (detail::argument_storable<M, Parts>() && ...);
            static_assert(storable, "package::Argument: a value of this type cannot be stored; "
                                    "name its members with package::Fields");
            constexpr bool calls = (detail::call_fits<M, Parts> && ...);
            static_assert(calls,
                "package::Call: forward of this module cannot be called with these arguments");
            if constexpr (storable && calls) check_construction();
        }
    }
    static void check_construction() {
        using Description = detail::Description<M, Parts...>;
        constexpr bool named_well = Description::Values::named_well();
        static_assert(named_well,
            "package::Argument: the names of arguments are identifiers, all of them different");
        constexpr bool constructs =
            Description::Values::constructs || Description::has_make || Description::name_only;
        static_assert(constructs, "package::Type: the module is constructed from its Arguments, in "
                                  "their order; else it has a Make, or is NameOnly");
        if constexpr (named_well && constructs) {
            auto entry = detail::entry<M, name, Parts...>();
            detail::add_known_call<M>(entry);
            detail::Registry::program().add(std::move(entry));
        }
    }
};

} // namespace xgrad::package
