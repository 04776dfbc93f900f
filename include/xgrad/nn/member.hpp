// Members of modules. Each registers itself with the object whose `*this` is its first argument:
//
//     struct Net : nn::Module<Net> {
//         nn::Child<nn::Linear<double>> hidden{*this, "hidden", 784, 128};
//         nn::Parameter<double> scale{*this, "scale", {1.}};
//     };
//
// Shapes: those of the value that a member is made of.
// Gradients: a Parameter is a leaf that requires one; a Buffer has none. A copy of a member copies
// values, and records none.
// Errors: a name that is empty, has a '.' or is taken, and an owner of which it is no member, are
// an Error. A member that is not given its module does not compile.
#pragma once

#include <xgrad/nn/any_module.hpp>
#include <xgrad/tensor/inplace.hpp>

namespace xgrad {
namespace nn::detail {

/// A tensor that belongs to a module. It is a handle, but its copy constructor copies the values.
template <Scalar T> class MemberTensor : public Tensor<T> {
public:
    MemberTensor(MemberTensor const& o) : Tensor<T>(copy_of(o)) {}
    MemberTensor(MemberTensor&& o) noexcept = default;
    MemberTensor& operator=(MemberTensor const& o) {
        if (this != &o) Tensor<T>::operator=(copy_of(o));
        return *this;
    }
    MemberTensor& operator=(MemberTensor&& o) noexcept = default;
    ~MemberTensor() = default;

    /// A plain handle to this tensor; `auto w = net.weight` would copy the values.
    Tensor<T> const& handle_of() const noexcept { return *this; }

protected:
    MemberTensor(AnyModule& owner, std::string_view name, MemberKind role, Tensor<T> const& value,
        bool persistent)
        : Tensor<T>(value.defined() ? value.detach() : value) {
        if constexpr (Differentiable<T>)
            if (role == MemberKind::parameter && this->defined()) this->requires_grad_();
        owner.register_member(name, role, static_cast<AnyTensor const*>(this), persistent);
    }

private:
    static Tensor<T> copy_of(MemberTensor const& o) {
        Tensor<T> const copy(xgrad::detail::value_copy(o).handle());
        if (o.defined()) copy.impl().requires_grad = o.impl().requires_grad;
        return copy;
    }
};

} // namespace nn::detail

namespace nn {

namespace detail {
template <class X> inline constexpr bool is_given_its_module = false;
AnyModule& no_module(); // never defined: only for code that does not compile
} // namespace detail

/// A tensor of a module that is trained: it requires a gradient, and parameters() has it. Made from
/// an undefined tensor it stands for a parameter that this module does not have, such as a bias.
template <Differentiable T> class Parameter : public detail::MemberTensor<T> {
public:
    Parameter(AnyModule& owner, std::string_view name, Tensor<T> const& value)
        : detail::MemberTensor<T>(owner, name, detail::MemberKind::parameter, value, true) {}
    template <class X>
        requires(!std::derived_from<X, Parameter>)
    explicit Parameter(X const&) : Parameter(detail::no_module(), {}, Tensor<T>()) {
        static_assert(detail::is_given_its_module<X>,
            "Parameter: it belongs to a module, which is told first: {*this, \"name\", value}");
    }
};

/// A tensor of a module that is not trained, but belongs to its state: state_dict() has it unless
/// it is not persistent.
template <Scalar T> class Buffer : public detail::MemberTensor<T> {
public:
    Buffer(AnyModule& owner, std::string_view name, Tensor<T> const& value, bool persistent = true)
        : detail::MemberTensor<T>(owner, name, detail::MemberKind::buffer, value, persistent) {}
    template <class X>
        requires(!std::derived_from<X, Buffer>)
    explicit Buffer(X const&) : Buffer(detail::no_module(), {}, Tensor<T>()) {
        static_assert(detail::is_given_its_module<X>,
            "Buffer: it belongs to a module, which is told first: {*this, \"name\", value}");
    }
};

// Integer literals, as in {*this, "hidden", 2, 8}, arrive as variables of type int.
#ifdef __GNUC__
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/// A module inside another one: an M, made from the arguments after the name.
template <class M> class Child : public M {
    static_assert(std::is_base_of_v<AnyModule, M>,
        "Child: what is inside a module must be a module itself, derived from nn::Module");

public:
    template <class... A>
    explicit Child(AnyModule& owner, std::string_view name, A&&... arguments)
        : M(std::forward<A>(arguments)...) {
        join(owner, name);
    }
    // With options in braces at the end: {*this, "conv", 3, 8, 5, {.padding = 2}}.
    template <class M_ = M>
    Child(AnyModule& owner, std::string_view name, typename M_::Options const& o) : M(o) {
        join(owner, name);
    }
    template <class A, class M_ = M>
    Child(AnyModule& owner, std::string_view name, A&& a, typename M_::Options const& o)
        : M(std::forward<A>(a), o) {
        join(owner, name);
    }
    template <class A, class B, class M_ = M>
    Child(AnyModule& owner, std::string_view name, A&& a, B&& b, typename M_::Options const& o)
        : M(std::forward<A>(a), std::forward<B>(b), o) {
        join(owner, name);
    }
    template <class A, class B, class C, class M_ = M>
    Child(
        AnyModule& owner, std::string_view name, A&& a, B&& b, C&& c, typename M_::Options const& o)
        : M(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), o) {
        join(owner, name);
    }

    /// Replaces the module by another one of its type: `net.fc = nn::Linear(16, 3);`
    Child& operator=(M module) {
        M::operator=(std::move(module));
        return *this;
    }

private:
    void join(AnyModule& owner, std::string_view name) {
        owner.register_member(
            name, detail::MemberKind::module, static_cast<AnyModule const*>(this));
    }
};

#ifdef __GNUC__
#    pragma GCC diagnostic pop
#endif

} // namespace nn
} // namespace xgrad
