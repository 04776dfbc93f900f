// StateDict: an ordered map from names to tensors: the state of a module or an optimiser.
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

/// An ordered map from unique names to tensors.
class StateDict {
public:
    StateDict() = default;
    StateDict(std::initializer_list<NamedTensor> entries) {
        for (auto const& e : entries) set(e.name, e.tensor);
    }

    /// Adds a tensor, or replaces the tensor of that name.
    void set(std::string const& name, AnyTensor tensor) {
        for (auto& e : entries_)
            if (e.name == name) return void(e.tensor = std::move(tensor));
        entries_.push_back({name, std::move(tensor)});
    }
    void erase(std::string_view name) {
        std::erase_if(entries_, [&](NamedTensor const& e) { return e.name == name; });
    }
    /// The tensor of that name, or null.
    AnyTensor const* find(std::string_view name) const {
        for (auto const& e : entries_)
            if (e.name == name) return &e.tensor;
        return nullptr;
    }
    bool contains(std::string_view name) const { return find(name); }
    /// The tensor of that name; throws IndexError where there is none.
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

/// A copy of the values without grad_fn.
inline AnyTensor value_copy(AnyTensor const& t) {
    if (!t.defined()) return {};
    AnyTensor copy(TensorImpl::make(*t.impl().type, t.shape()));
    t.impl().type->copy_elements(copy.impl().array, t.impl().array);
    return copy;
}

/// Calls f(Tensor<T>) with the scalar type of t.
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

/// True where one type converts to another: precision may change, and real numbers become complex.
constexpr bool converts(DType from, DType to) noexcept {
    return from == to || (is_differentiable(from) && is_differentiable(to) &&
                             (xgrad::is_complex(to) || !xgrad::is_complex(from)));
}

/// A copy of the values, converted to `type`.
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

/// Overwrites the elements of a tensor by those of another one of the same shape and type. Not
/// recorded; counts as an in-place change.
inline void overwrite(AnyTensor const& to, AnyTensor const& from) {
    to.impl().array.storage->bump();
    to.impl().type->copy_elements(to.impl().array, from.impl().array);
}

} // namespace detail
} // namespace xgrad
