// ModuleContainer: the base of Sequential, ModuleList and Slot, which own modules on the heap. The
// types of these modules may be known only at run time.
//
// Shapes: those of the modules inside.
// Gradients: those of the modules inside.
// Errors: a call of a placeholder, or of a module that nothing in the program calls with these
// arguments, is an UncallableError.
#pragma once

#include <functional>
#include <typeinfo>

#include <xgrad/nn/forward_call.hpp>

namespace xgrad::nn {

/// The exception of a call of a placeholder module.
struct UncallableError : Error {
    using Error::Error;
};

/// A placeholder for a module that does not exist; it cannot be called.
class Uncallable {
public:
    virtual ~Uncallable() {}
    /// The message of the UncallableError that a call throws.
    virtual std::string why_uncallable() const = 0;
};

/// A module that owns other modules and can replace them.
class ModuleContainer {
public:
    /// Any function pointer; whoever calls it converts it to its type.
    using AnyFunction = void (*)();
    /// Returns the function R (*)(AnyModule&, A const&...) that calls a module, for the signature
    /// R(A...). Where it returns null, the container calls the module as it called one of the same
    /// type in this position, or throws an UncallableError.
    using FindCall = std::function<AnyFunction(AnyModule&, std::type_info const& signature)>;

    virtual ~ModuleContainer() {}
    /// The name of the class template: "Sequential".
    virtual std::string_view container_kind() const noexcept = 0;
    /// The scalar type of the template, if it has one.
    virtual std::optional<DType> container_dtype() const noexcept { return {}; }
    /// Replaces all submodules. An exception leaves them unchanged.
    virtual void replace_modules(
        std::vector<std::unique_ptr<AnyModule>> modules, FindCall const& find) = 0;

protected:
    // With bodies: XGRAD_SEPARATE_COMPILATION does not emit functions that are defaulted here.
    ModuleContainer() noexcept {}
    ModuleContainer(ModuleContainer const&) noexcept {}
    ModuleContainer& operator=(ModuleContainer const&) noexcept { return *this; }
};

namespace detail {

template <class Signature> struct CallSignature;
/// A function pointer that calls a module whose static type is unknown here.
template <class R, class... A> struct CallSignature<R(A...)> {
    using Decayed = R(std::remove_cvref_t<A>...);
    using Function = R (*)(AnyModule&, std::remove_cvref_t<A> const&...);
    using Arguments = std::tuple<std::remove_cvref_t<A>...>;

    /// A call of modules of type M, with the hooks around it.
    template <class M> static Function of() {
        using Forward = ForwardOf<M>;
        // If forward has one signature, hooks get typed arguments and results.
        constexpr bool shared = [] {
            if constexpr (Forward::known)
                return std::same_as<typename Forward::Arguments, Arguments> &&
                       std::same_as<typename Forward::Result, kept_result<R>>;
            else return true;
        }();
        if constexpr (shared)
            return [](AnyModule& m, std::remove_cvref_t<A> const&... a) -> R {
                return call(m, &forward<M>, a...);
            };
        else
            return [](AnyModule& m, std::remove_cvref_t<A> const&... a) -> R {
                if constexpr (std::is_void_v<R>) static_cast<M&>(m)(a...);
                else return R(static_cast<M&>(m)(a...));
            };
    }
    /// The function that `find` returns, else `fallback`, else one that throws.
    static Function find(AnyModule& m, ModuleContainer::FindCall const& find, Function fallback) {
        if (!dynamic_cast<Uncallable*>(&m)) {
            if (auto const found = find(m, typeid(Decayed)))
                return reinterpret_cast<Function>(found);
            if (fallback) return fallback;
        }
        return [](AnyModule& refusing, std::remove_cvref_t<A> const&...) -> R {
            auto const* const stand_in = dynamic_cast<Uncallable*>(&refusing);
            xgrad::detail::fail<UncallableError>(
                stand_in ? stand_in->why_uncallable()
                         : std::string(refusing.kind()) +
                               ": nothing in this program calls it with these arguments");
        };
    }

private:
    class FunctionCall final : public CallValues<Arguments, kept_result<R>> {
    public:
        FunctionCall(AnyModule& m, Function f, std::remove_cvref_t<A> const&... a)
            : CallValues<Arguments, kept_result<R>>(a...), module_(m), forward_(f) {}

        void forward() override {
            std::apply(
                [this](auto const&... a) {
                    if constexpr (std::is_void_v<R>)
                        forward_(module_, a...), this->result.emplace();
                    else this->result.emplace(forward_(module_, a...));
                },
                *this->kept_arguments);
        }

    private:
        AnyModule& module_;
        Function forward_;
    };

    template <class M> static R forward(AnyModule& m, std::remove_cvref_t<A> const&... a) {
        if constexpr (std::is_void_v<R>) static_cast<M&>(m).forward(a...);
        else return R(static_cast<M&>(m).forward(a...));
    }
    /// One instantiation serves all modules of this signature.
    static R call(AnyModule& m, Function forward, std::remove_cvref_t<A> const&... a) {
        bool const hooked = m.hooks() && m.hooks()->any();
        if (!hooked && !ModuleHooks::of_all_modules().any()) return forward(m, a...);
        FunctionCall call(m, forward, a...);
        detail::call_with_hooks(m, call);
        if constexpr (!std::is_void_v<R>) return *std::move(call.result);
    }
};

} // namespace detail
} // namespace xgrad::nn
