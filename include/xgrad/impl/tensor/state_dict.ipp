// Bodies of state_dict.hpp.
#pragma once

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

XGRAD_FUNCTION void overwrite(AnyTensor const& to, AnyTensor const& from) {
    to.impl().array.storage->bump();
    to.impl().type->copy_elements(to.impl().array, from.impl().array);
}

} // namespace xgrad::detail
