// StateDict: tensors under names, in order: what a module or an optimiser gives away and takes
// back.
#pragma once

#include <string>
#include <vector>

#include <xgrad/tensor/tensor.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

struct NamedTensor {
    std::string name;
    AnyTensor tensor;
};

/// Tensors under names that are all different, in the order in which they came.
class StateDict {
public:
    StateDict() = default;
    StateDict(std::initializer_list<NamedTensor> entries) {
        for (auto const& e : entries) set(e.name, e.tensor);
    }

    /// Adds a tensor, or replaces the one of that name.
    void set(std::string const& name, AnyTensor tensor) {
        for (auto& e : entries_)
            if (e.name == name) return void(e.tensor = std::move(tensor));
        entries_.push_back({name, std::move(tensor)});
    }
    void erase(std::string_view name) {
        std::erase_if(entries_, [&](NamedTensor const& e) { return e.name == name; });
    }
    /// Null where there is none of that name.
    AnyTensor const* find(std::string_view name) const {
        for (auto const& e : entries_)
            if (e.name == name) return &e.tensor;
        return nullptr;
    }
    bool contains(std::string_view name) const { return find(name); }
    /// Throws IndexError where there is none of that name.
    AnyTensor const& at(std::string_view name) const {
        if (auto const* const t = find(name)) return *t;
        detail::fail<IndexError>("StateDict: there is no entry '", name, "'");
    }

    std::size_t size() const noexcept { return entries_.size(); }
    bool empty() const noexcept { return entries_.empty(); }
    auto begin() const noexcept { return entries_.begin(); }
    auto end() const noexcept { return entries_.end(); }

private:
    std::vector<NamedTensor> entries_;
};

namespace detail {

/// A copy of the values in memory of its own, without history.
inline AnyTensor value_copy(AnyTensor const& t) {
    if (!t.defined()) return {};
    AnyTensor copy(TensorImpl::make(*t.impl().type, t.shape()));
    t.impl().type->copy_elements(copy.impl().array, t.impl().array);
    return copy;
}

/// Calls f(Tensor<T>) with the scalar type that t has.
template <class F> decltype(auto) with_type(AnyTensor const& t, F&& f) {
    switch (t.dtype()) {
    case DType::boolean:
        return f(t.as<bool>());
    case DType::int64:
        return f(t.as<std::int64_t>());
    case DType::float32:
        return f(t.as<float>());
    case DType::float64:
        return f(t.as<double>());
    case DType::complex64:
        return f(t.as<std::complex<float>>());
    default:
        return f(t.as<std::complex<double>>());
    }
}

/// Whether numbers of one type become numbers of another without losing their nature: precision may
/// change, and real numbers become complex ones.
constexpr bool converts(DType from, DType to) noexcept {
    return from == to || (is_differentiable(from) && is_differentiable(to) &&
                             (xgrad::is_complex(to) || !xgrad::is_complex(from)));
}

/// A copy of the values in a type to which theirs converts.
inline AnyTensor converted_copy(AnyTensor const& from, TypeInfo const& type) {
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

/// Overwrites the elements of a tensor by those of another one of its shape and type. Unrecorded;
/// counts as a change in place.
inline void overwrite(AnyTensor const& to, AnyTensor const& from) {
    to.impl().array.storage->bump();
    to.impl().type->copy_elements(to.impl().array, from.impl().array);
}

} // namespace detail
} // namespace xgrad
