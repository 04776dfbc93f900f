// Bodies of create.hpp, from_memory.hpp, print.hpp and state_dict.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/from_memory.hpp>
#include <xgrad/tensor/generator.hpp>
#include <xgrad/tensor/inplace.hpp>
#include <xgrad/tensor/print.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void check_available(MemoryLayout const& layout, std::size_t available) {
    if (auto const needed = numel(layout.shape); needed > available)
        fail<ShapeError>(layout.operation, ": shape ", layout.shape, " needs ", needed,
            " elements, and there are ", available);
}

XGRAD_LAZY_BODY AnyArray external_array(MemoryLayout const& layout, std::byte* data,
    std::size_t element, std::size_t alignment, std::size_t available) {
    auto const& [operation, shape, strides] = layout;
    if (strides.size() != shape.size())
        fail<ShapeError>(operation, ": ", strides.size(), " strides for shape ", shape);
    for (auto const stride : strides)
        if (stride < 0)
            fail<ShapeError>(operation, ": strides ", strides,
                " are negative; read the elements forwards, and reverse the tensor with flip()");
    AnyArray a(shape);
    a.set_view(shape, strides);
    std::size_t extent = a.numel == 0 ? 0 : 1; // elements from the first to the last
    for (std::size_t d = 0; a.numel && d < shape.size(); ++d) {
        auto const more =
            multiply_extents(operation, shape[d] - 1, static_cast<std::size_t>(strides[d]));
        if (extent + more < extent)
            fail<ShapeError>(
                operation, ": shape ", shape, " and strides ", strides, " reach too far");
        extent += more;
    }
    if (extent > available)
        fail<ShapeError>(operation, ": shape ", shape, " needs ", extent,
            " elements, and there are ", available);
    multiply_extents(operation, extent, 4 * element);
    if (!data && extent) fail(operation, ": the pointer is null");
    if (reinterpret_cast<std::uintptr_t>(data) % alignment)
        fail(operation, ": the pointer is not aligned to the ", alignment,
            " bytes that elements of this type need");
    a.storage = Storage::make_external({data, nullptr, nullptr}, extent * element);
    a.data = data;
    return a;
}

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

namespace detail {

template <class T, class Distribution> void fill(T* x, std::size_t n, Distribution distribution) {
    auto& random = generator();
    std::generate_n(x, n, [&] { return distribution(random); });
}

XGRAD_LAZY_BODY void fill_uniform(float* x, std::size_t n) {
    fill(x, n, std::uniform_real_distribution<float>());
}
XGRAD_LAZY_BODY void fill_uniform(double* x, std::size_t n) {
    fill(x, n, std::uniform_real_distribution<double>());
}
XGRAD_LAZY_BODY void fill_normal(float* x, std::size_t n, float deviation) {
    fill(x, n, std::normal_distribution<float>(0, deviation));
}
XGRAD_LAZY_BODY void fill_normal(double* x, std::size_t n, double deviation) {
    fill(x, n, std::normal_distribution<double>(0, deviation));
}

XGRAD_LAZY_BODY void check_range(std::string_view name, double v, double least, double most) {
    if (!(v >= least)) fail(name, " must be at least ", least, ", and is ", v);
    if (v > most) fail(name, " must be at most ", most, ", and is ", v);
}

} // namespace detail

XGRAD_LAZY_BODY Tensor<std::int64_t> randint(
    std::int64_t low, std::int64_t high, ShapeArgument const& shape) {
    if (low >= high) detail::fail("randint: there is no integer from ", low, " to ", high, " - 1");
    detail::Array<std::int64_t> a(shape);
    detail::fill(a.begin(), a.numel, std::uniform_int_distribution<std::int64_t>(low, high - 1));
    return Tensor<std::int64_t>(std::move(a));
}

XGRAD_LAZY_BODY Tensor<std::int64_t> randperm(std::size_t n) {
    auto order = arange(static_cast<std::int64_t>(numel(Shape{n})));
    auto* const first = order.mutable_data();
    std::shuffle(first, first + n, detail::generator());
    return order;
}

XGRAD_LAZY_BODY Tensor<std::int64_t> multinomial(
    Tensor<double> const& weights, std::size_t n, Flag replacement) {
    if (weights.dim() != 1 && weights.dim() != 2)
        detail::fail<ShapeError>(
            "multinomial: weights are a vector or a matrix, not of shape ", weights.shape());
    Shape shape = weights.shape();
    std::size_t const classes = shape.back(), rows = classes ? weights.numel() / classes : 0;
    shape.back() = n;
    detail::Array<double> values(weights.shape());
    detail::copy_elements(values, weights.array_of());
    detail::Array<std::int64_t> out(shape);
    for (std::size_t row = 0; row < rows; ++row) {
        std::span<double> const w(values.begin() + row * classes, classes);
        std::size_t possible = 0;
        for (double const v : w) {
            if (!(v >= 0 && v < HUGE_VAL))
                detail::fail("multinomial: a weight is negative, infinite or not a number");
            possible += v > 0;
        }
        if (possible == 0 || (!replacement && possible < n))
            detail::fail("multinomial: ", n, " of ", possible, " classes with a positive weight ",
                "cannot be drawn", replacement ? "" : " without replacement");
        for (std::size_t i = 0; i < n; ++i) {
            std::discrete_distribution<std::int64_t> draw(w.begin(), w.end());
            auto const k = draw(detail::generator());
            out.begin()[row * n + i] = k;
            if (!replacement) w[static_cast<std::size_t>(k)] = 0;
        }
    }
    return Tensor<std::int64_t>(std::move(out));
}

XGRAD_LAZY_BODY Tensor<std::int64_t> one_hot(
    Tensor<std::int64_t> const& labels, std::size_t classes) {
    detail::Array<std::int64_t> in(labels.shape());
    detail::copy_elements(in, labels.array_of());
    Shape shape = labels.shape();
    shape.push_back(classes);
    detail::Array<std::int64_t> out(shape, 0);
    for (std::size_t i = 0; i < in.numel; ++i) {
        auto const label = in.begin()[i];
        if (label < 0 || static_cast<std::size_t>(label) >= classes)
            detail::fail("one_hot: ", label, " is no number of ", classes, " classes");
        out.begin()[i * classes + static_cast<std::size_t>(label)] = 1;
    }
    return Tensor<std::int64_t>(std::move(out));
}

XGRAD_LAZY_BODY void manual_seed(std::uint64_t seed) { detail::generator().seed(seed); }

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
