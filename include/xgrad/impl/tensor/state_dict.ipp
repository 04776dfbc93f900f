// Bodies of state_dict.hpp and print.hpp.
#pragma once

#include <cstdio>

#include <xgrad/tensor/inplace.hpp>
#include <xgrad/tensor/print.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY AnyTensor value_copy(AnyTensor const& t) {
    if (!t.defined()) return {};
    AnyTensor copy(TensorImpl::make(*t.impl().type, t.shape()));
    t.impl().type->copy_elements(copy.impl().array, t.impl().array);
    return copy;
}

XGRAD_LAZY_BODY AnyTensor converted_copy(AnyTensor const& from, TypeInfo const& type) {
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

XGRAD_LAZY_BODY double sum_of_powers(AnyTensor const& t, double p) {
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

XGRAD_LAZY_BODY void overwrite(AnyTensor const& to, AnyTensor const& from) {
    to.impl().array.storage->bump();
    to.impl().type->copy_elements(to.impl().array, from.impl().array);
}

XGRAD_LAZY_BODY NumberFormat format_of(std::ios_base const& out) {
    auto const style = out.flags() & std::ios_base::floatfield;
    return {static_cast<int>(out.precision()), style == std::ios_base::fixed        ? 'f'
                                               : style == std::ios_base::scientific ? 'e'
                                                                                    : 'g'};
}

XGRAD_LAZY_BODY std::string number_text(double v, NumberFormat format) {
    if (v != v) return "nan"; // never "-nan"
    char const pattern[] = {'%', '.', '*', format.style, '\0'};
    char digits[32];
    auto const write = [&](char* to, std::size_t n) {
        return static_cast<std::size_t>(std::snprintf(to, n, pattern, format.precision, v));
    };
    std::size_t const n = write(digits, sizeof digits);
    if (n < sizeof digits) return {digits, n};
    std::string text(n, '0'); // many digits after the point, or a large number as a fixed one
    write(text.data(), n + 1);
    return text;
}

XGRAD_LAZY_BODY std::string grad_fn_text(AnyTensor const& t) {
    try {
        if (auto const* const node = t.grad_fn()) return ", grad_fn=<" + node->name() + ">";
    } catch (GraphError const&) { return ", grad_fn=<Invalid>"; }
    return t.requires_grad() ? ", requires_grad=true" : "";
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY StateDict::StateDict(std::initializer_list<NamedTensor> entries) {
    for (auto const& e : entries) set(e.name, e.tensor);
}

XGRAD_LAZY_BODY void StateDict::set(std::string const& name, AnyTensor tensor) {
    if (find(name)) return void((*this)[name] = std::move(tensor));
    NamedTensor entry{name, std::move(tensor)};
    if (entries_.size() == entries_.capacity()) entries_.reserve(2 * entries_.size() + 1);
    positions_.emplace(name, entries_.size());
    entries_.push_back(std::move(entry)); // does not throw: there is no name without an entry
}

XGRAD_LAZY_BODY void StateDict::erase(std::string_view name) {
    auto const at = positions_.find(name);
    if (at == positions_.end()) return;
    auto const erased = at->second;
    positions_.erase(at);
    for (auto& [_, i] : positions_) i -= i > erased;
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(erased));
}

XGRAD_LAZY_BODY AnyTensor const* StateDict::find(std::string_view name) const {
    auto const at = positions_.find(name);
    return at == positions_.end() ? nullptr : &entries_[at->second].tensor;
}

XGRAD_LAZY_BODY AnyTensor& StateDict::operator[](std::string_view name) {
    return const_cast<AnyTensor&>(at(name));
}

XGRAD_LAZY_BODY AnyTensor const& StateDict::at(std::string_view name) const {
    if (auto const* const t = find(name)) return *t;
    detail::fail<IndexError>("StateDict: there is no entry '", name, "'");
}

XGRAD_LAZY_BODY AnyTensor& AnyTensor::copy_(AnyTensor const& from) {
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

XGRAD_LAZY_BODY double AnyTensor::norm() const {
    if (!is_differentiable(dtype("norm")))
        detail::fail<TypeError>(
            "norm: a tensor of real or complex numbers is needed, not ", name(dtype()));
    return std::sqrt(detail::sum_of_powers(*this, 2));
}

} // namespace xgrad
