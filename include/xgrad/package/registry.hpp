// The types of modules that this program has, by their names in packages and by their C++ types.
#pragma once

#include <memory>
#include <mutex>

#include <xgrad/nn.hpp>
#include <xgrad/package/arguments.hpp>

namespace xgrad::package::detail {

/// How a module is called whose C++ type is known only at run time.
struct TypedCall {
    std::type_info const* signature;
    nn::ModuleContainer::AnyFunction function;
};

template <class M, class Signature> TypedCall typed_call() {
    using Typed = nn::detail::CallSignature<Signature>;
    return {&typeid(typename Typed::Decayed),
        reinterpret_cast<nn::ModuleContainer::AnyFunction>(Typed::template of<M>())};
}
/// What is known of one C++ type of modules, M.
struct TypeEntry {
    std::string_view name;
    std::optional<DType> dtype;              // the T of a module template M<T>
    std::type_info const *type, *child_type; // M and nn::Child<M>
    std::vector<TypedCall> calls;
    std::vector<std::string_view> depends_on;
    bool without_arguments; // whether it is constructed from nothing
    /// The arguments of the constructor; null where the type has only a name.
    Json (*arguments)(nn::AnyModule const&);
    /// Constructs an M from arguments. `available` is how many elements the state has for it.
    std::unique_ptr<nn::AnyModule> (*make)(
        Json const& arguments, std::string const& where, double available);
    /// Moves one M into another.
    void (*assign)(nn::AnyModule& to, nn::AnyModule& from);

    bool is_type_of(nn::AnyModule const& m) const {
        return typeid(m) == *type || typeid(m) == *child_type;
    }
    nn::ModuleContainer::AnyFunction call(std::type_info const& signature) const noexcept;
    std::string title() const { return title(name, dtype); }
    static std::string title(std::string_view name, std::optional<DType> dtype);
};

class Registry {
public:
    /// Any thread may add types and look for them.
    void add(TypeEntry entry);
    /// Null where no type has this name. Throws where several C++ types have it.
    TypeEntry const* find(std::string_view name, std::optional<DType> dtype) const;
    TypeEntry const* find(nn::AnyModule const& m) const;
    /// Lets modules of type M be called with this signature.
    template <class M, class Signature> void add_call() {
        std::lock_guard const lock(mutex_);
        calls_.push_back({&typeid(M), &typeid(nn::Child<M>), typed_call<M, Signature>()});
    }
    /// Null where the module cannot be called with this signature.
    nn::ModuleContainer::AnyFunction find_call(
        nn::AnyModule const& m, std::type_info const& signature) const;
    bool knows(std::string_view name) const;
    /// Of this program; those of xgrad's own layers are added by the first who asks for them
    /// (layers.hpp).
    static Registry& program() {
        static Registry registry;
        return registry;
    }

private:
    struct LaterCall {
        std::type_info const *type, *child_type;
        TypedCall call;
    };

    mutable std::mutex mutex_;
    std::vector<LaterCall> calls_;
    std::vector<std::unique_ptr<TypeEntry const>> entries_;
};

} // namespace xgrad::package::detail
