// ModuleContainer: what Sequential, ModuleList and Slot share: they own modules on the heap, whose types
// may be known only at run time.
#pragma once

#include <functional>
#include <typeinfo>

#include <xgrad/nn/any_module.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

/// A call of a module that stands for another one, which is not there.
struct UncallableError : Error {
    using Error::Error;
};

/// A module that stands for one which is not there, and so cannot be called.
class Uncallable {
public:
    virtual ~Uncallable() = default;
    /// The text of the UncallableError that a call throws.
    virtual std::string why_uncallable() const = 0;
};

/// A module that owns other modules and accepts new ones in their stead.
class ModuleContainer {
public:
    using AnyFunction = void (*)();
    /// Returns the function R (*)(AnyModule&, A const&...) that calls a module, for the signature R(A...);
    /// throws where the module has none.
    using FindCall = std::function<AnyFunction(AnyModule&, std::type_info const& signature)>;

    virtual ~ModuleContainer() = default;
    /// "Sequential": the name of its class template.
    virtual std::string_view container_kind() const noexcept = 0;
    /// The scalar type of the template, where it has one.
    virtual std::optional<DType> container_dtype() const noexcept { return {}; }
    /// Replaces all modules inside. After an exception they are as before.
    virtual void replace_modules(
        std::vector<std::unique_ptr<AnyModule>> modules, FindCall const& find) = 0;

protected:
    ModuleContainer() = default;
    ModuleContainer(ModuleContainer const&) = default;
    ModuleContainer& operator=(ModuleContainer const&) = default;
};

namespace detail {

template <class Signature> struct CallSignature;
/// How a module of a type that is not known here is called.
template <class R, class... A> struct CallSignature<R(A...)> {
    using Decayed = R(std::remove_cvref_t<A>...);
    using Function = R (*)(AnyModule&, std::remove_cvref_t<A> const&...);

    /// A call of modules of type M.
    template <class M> static Function of() {
        return [](AnyModule& m, std::remove_cvref_t<A> const&... a) -> R {
            if constexpr (std::is_void_v<R>) static_cast<M&>(m)(a...);
            else return R(static_cast<M&>(m)(a...));
        };
    }
    static Function find(AnyModule& m, ModuleContainer::FindCall const& find) {
        if (!dynamic_cast<Uncallable*>(&m))
            return reinterpret_cast<Function>(find(m, typeid(Decayed)));
        return [](AnyModule& refusing, std::remove_cvref_t<A> const&...) -> R {
            xgrad::detail::fail<UncallableError>(
                dynamic_cast<Uncallable&>(refusing).why_uncallable());
        };
    }
};

} // namespace detail
} // namespace xgrad::nn
