// Saved tensor hooks: `pack` converts a tensor that is saved for backward into any object (a file's
// name, fewer bits), and `unpack` converts it back when backward reads it.
//
// Gradients: those of the values that unpack returns; both hooks run without recording.
// Errors: GraphError where hooks are disabled, for DisableSavedTensorsHooks where hooks are active,
// and for a pack hook that changes its argument in place; TypeError where unpack returns another
// shape or scalar type. Hooks with other parameters or results do not compile.
#pragma once

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/core/callable.hpp>

namespace xgrad {

namespace detail {

/// What pack made of a saved tensor, with what restores it.
class PackedTensor {
public:
    Edge edge; // of an operand
    AnyTensor open = {};

    virtual ~PackedTensor() = default;
    static void destroy(PackedTensor* packed) noexcept { delete packed; }
    /// Calls unpack, and checks the shape and the scalar type of its result.
    virtual AnyTensor unpacked() const = 0;
};

/// A pair of hooks; the type of the packed object is erased.
struct Packing {
    std::function<std::shared_ptr<void const>(AnyTensor const&)> pack;
    std::function<AnyTensor(void const*)> unpack;
    /// call_pack(), by a pointer, so that only programs with such hooks contain it.
    Owner<PackedTensor> (*packed)(std::shared_ptr<Packing const> self, AnyTensor const& value);

    template <class P, class U>
    Packing(P&& p, U&& u)
        : pack(std::forward<P>(p)), unpack(std::forward<U>(u)), packed(&call_pack) {}
    /// Calls pack, without recording. Throws where pack changes its argument in place.
    XGRAD_LAZY static Owner<PackedTensor> call_pack(
        std::shared_ptr<Packing const> self, AnyTensor const& value);
};

template <class Pack, class Unpack>
std::shared_ptr<Packing const> make_packing(Pack pack, Unpack unpack) {
    static_assert(std::is_invocable_v<Pack&, AnyTensor const&>,
        "saved tensor hooks: pack takes an AnyTensor const&");
    if constexpr (std::is_invocable_v<Pack&, AnyTensor const&>) {
        using Packed = std::remove_cvref_t<std::invoke_result_t<Pack&, AnyTensor const&>>;
        static_assert(!std::is_void_v<Packed>,
            "saved tensor hooks: pack returns what is kept in the tensor's place");
        if constexpr (!std::is_void_v<Packed>) {
            constexpr bool takes_packed = std::is_invocable_v<Unpack&, Packed const&>;
            static_assert(
                takes_packed, "saved tensor hooks: unpack takes a const& to what pack returns");
            if constexpr (takes_packed) {
                constexpr bool gives_tensor =
                    std::is_convertible_v<std::invoke_result_t<Unpack&, Packed const&>, AnyTensor>;
                static_assert(gives_tensor, "saved tensor hooks: unpack returns a tensor");
                if constexpr (gives_tensor)
                    return std::make_shared<Packing const>(
                        [pack = std::move(pack)](
                            AnyTensor const& t) mutable -> std::shared_ptr<void const> {
                            return std::make_shared<Packed const>(pack(t));
                        },
                        [unpack = std::move(unpack)](void const* packed) mutable -> AnyTensor {
                            return unpack(*static_cast<Packed const*>(packed));
                        });
            }
        }
    }
    return nullptr;
}

inline constinit thread_local std::shared_ptr<Packing const> const* default_packing = nullptr;
inline constinit thread_local std::string const* packing_disabled = nullptr;

} // namespace detail

/// In its scope every tensor that the calling thread saves for backward is stored as pack(tensor),
/// and unpack restores it whenever it is read. The innermost of nested scopes applies. Both hooks
/// run without recording. pack must not change its argument. unpack must return a tensor of the
/// same shape and scalar type.
class SavedTensorsHooks {
public:
    template <class Pack, class Unpack>
    XGRAD_GUARD SavedTensorsHooks(Pack&& pack, Unpack&& unpack)
        : packing_(detail::make_packing<detail::KeptCallable<Pack>, detail::KeptCallable<Unpack>>(
              std::forward<Pack>(pack), std::forward<Unpack>(unpack))),
          scope_(detail::default_packing, &packing_) {
        if (detail::packing_disabled) detail::fail<GraphError>(*detail::packing_disabled);
    }

private:
    std::shared_ptr<detail::Packing const> packing_;
    detail::ScopedValue<std::shared_ptr<detail::Packing const> const*> scope_;
};

/// In its scope constructing a SavedTensorsHooks throws a GraphError with this message. The
/// constructor throws the same where hooks are active.
class DisableSavedTensorsHooks {
public:
    XGRAD_GUARD explicit DisableSavedTensorsHooks(std::string message)
        : message_(std::move(message)), scope_(detail::packing_disabled, &message_) {
        if (detail::default_packing) detail::fail<GraphError>(message_);
    }

private:
    std::string message_;
    detail::ScopedValue<std::string const*> scope_;
};

} // namespace xgrad
