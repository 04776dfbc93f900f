// Bodies of state_dict.hpp.
#pragma once

#include <xgrad/tensor/inplace.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad {

XGRAD_FUNCTION StateDict::StateDict(std::initializer_list<NamedTensor> entries) {
    for (auto const& e : entries) set(e.name, e.tensor);
}

XGRAD_FUNCTION void StateDict::set(std::string const& name, AnyTensor tensor) {
    for (auto& e : entries_)
        if (e.name == name) return void(e.tensor = std::move(tensor));
    entries_.push_back({name, std::move(tensor)});
}

XGRAD_FUNCTION void StateDict::erase(std::string_view name) {
    std::erase_if(entries_, [&](NamedTensor const& e) { return e.name == name; });
}

XGRAD_FUNCTION AnyTensor const* StateDict::find(std::string_view name) const {
    for (auto const& e : entries_)
        if (e.name == name) return &e.tensor;
    return nullptr;
}

XGRAD_FUNCTION AnyTensor& StateDict::operator[](std::string_view name) {
    return const_cast<AnyTensor&>(at(name));
}

XGRAD_FUNCTION AnyTensor const& StateDict::at(std::string_view name) const {
    if (auto const* const t = find(name)) return *t;
    detail::fail<IndexError>("StateDict: there is no entry '", name, "'");
}

} // namespace xgrad

namespace xgrad::detail {

XGRAD_FUNCTION AnyTensor value_copy(AnyTensor const& t) {
    if (!t.defined()) return {};
    AnyTensor copy(TensorImpl::make(*t.impl().type, t.shape()));
    t.impl().type->copy_elements(copy.impl().array, t.impl().array);
    return copy;
}

XGRAD_FUNCTION AnyTensor converted_copy(AnyTensor const& from, TypeInfo const& type) {
    if (from.dtype() == type.dtype) return value_copy(from);
    AnyTensor const copy(TensorImpl::make(type, from.shape()));
    with_type(copy, [&]<Scalar To>(Tensor<To> const& target) {
        with_type(from, [&]<Scalar From>(Tensor<From> const& source) {
            if constexpr (!std::same_as<To, From> && converts(dtype_of<From>, dtype_of<To>))
                copy_elements(target.array_of(), source.array_of());
        });
    });
    return copy;
}

XGRAD_FUNCTION double sum_of_powers(AnyTensor const& t, double p) {
    bool const largest = p == std::numeric_limits<double>::infinity();
    double total = 0;
    with_type(t, [&]<Scalar T>(Tensor<T> const& tensor) {
        if constexpr (Differentiable<T>)
            for (T const v : contiguous(tensor.array_of())) {
                double const modulus = static_cast<double>(std::abs(v));
                if (largest) total = modulus > total || modulus != modulus ? modulus : total;
                else total += p == 2 ? modulus * modulus : std::pow(modulus, p);
            }
    });
    return total;
}

XGRAD_FUNCTION void overwrite(AnyTensor const& to, AnyTensor const& from) {
    to.impl().array.storage->bump();
    to.impl().type->copy_elements(to.impl().array, from.impl().array);
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION AnyTensor& AnyTensor::copy_(AnyTensor const& from) {
    if (from.shape("copy_") != shape("copy_"))
        detail::fail<ShapeError>(
            "copy_: a tensor of shape ", from.shape(), " does not fit one of shape ", shape());
    if (!detail::converts(from.dtype(), dtype()))
        detail::fail<TypeError>(
            "copy_: ", name(from.dtype()), " does not convert to ", name(dtype()), " without loss");
    if (is_grad_enabled() && (requires_grad() || from.requires_grad()))
        detail::fail<GraphError>("copy_: the copy of an AnyTensor is not recorded: use a "
                                 "NoGradGuard, or as<T>() on both sides");
    detail::check_in_place(*this, "copy_", false);
    detail::overwrite(*this, detail::converted_copy(from, *impl().type));
    return *this;
}

XGRAD_FUNCTION double AnyTensor::norm() const {
    if (!is_differentiable(dtype("norm")))
        detail::fail<TypeError>(
            "norm: a tensor of real or complex numbers is needed, not ", name(dtype()));
    return std::sqrt(detail::sum_of_powers(*this, 2));
}

} // namespace xgrad
