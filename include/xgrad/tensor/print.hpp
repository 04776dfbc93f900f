// Printing: values as NumPy prints them, shape, dtype and grad_fn.
//
// Shapes: any; rows longer than six are abbreviated in arrays of more than a thousand elements.
// Gradients: none; printing an expression evaluates it.
// Errors: an undefined tensor is printed as such; an expression throws what its evaluation throws.
#pragma once

#include <charconv>
#include <cstdio>
#include <ostream>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

namespace detail {

inline std::string number_text(bool v) { return v ? "true" : "false"; }
inline std::string number_text(std::int64_t v) { return std::to_string(v); }
template <RealScalar T> std::string number_text(T v) {
    if (v != v) return "nan"; // never "-nan"
    char buffer[32];
    auto const n = std::snprintf(buffer, sizeof buffer, "%.6g", static_cast<double>(v));
    return {buffer, static_cast<std::size_t>(n)};
}
template <RealScalar T> std::string number_text(std::complex<T> v) {
    auto const im = number_text(v.imag());
    return number_text(v.real()) + (im[0] == '-' ? "" : "+") + im + "i";
}

/// Rows longer than six are abbreviated where the array has more than a thousand elements.
template <class T>
void array_text(Array<T> const& a, std::size_t axis, std::ptrdiff_t at, std::string& out) {
    if (axis == a.shape.size()) {
        out += number_text(a.begin()[at]);
        return;
    }
    std::size_t const n = a.shape[axis];
    bool const cut = a.numel > 1000 && n > 6, innermost = axis + 1 == a.shape.size();
    out += '[';
    for (std::size_t i = 0; i < n; ++i) {
        if (i) out += innermost ? ", " : ",\n" + std::string(axis + 8, ' ');
        if (cut && i == 3) {
            out += "...";
            i = n - 4;
        } else array_text(a, axis + 1, at + static_cast<std::ptrdiff_t>(i) * a.strides[axis], out);
    }
    out += ']';
}

} // namespace detail

namespace detail {
/// ", grad_fn=<MulBackward>", or <Invalid> for a view whose grad_fn was lost when its base was
/// changed.
[[gnu::cold]] std::string grad_fn_text(AnyTensor const& t);
} // namespace detail

/// "Tensor([1, 2], shape=[2], dtype=float64, grad_fn=<MulBackward>)".
template <Scalar T> std::string to_string(Tensor<T> const& t) {
    if (!t.defined()) return "Tensor(undefined)";
    std::string s = "Tensor(";
    detail::array_text(t.array_of(), 0, 0, s);
    return detail::message_of(
        {s, ", shape=", t.shape(), ", dtype=", name(t.dtype()), detail::grad_fn_text(t), ")"});
}
/// Prints a tensor of any type. A template, as all functions here, so that only programs that print
/// contain it.
template <std::same_as<AnyTensor> A> std::string to_string(A const& t) {
    if (!t.defined()) return "Tensor(undefined)";
    switch (t.dtype()) {
    case DType::boolean:
        return to_string(t.template as<bool>());
    case DType::int64:
        return to_string(t.template as<std::int64_t>());
    case DType::float32:
        return to_string(t.template as<float>());
    case DType::float64:
        return to_string(t.template as<double>());
    case DType::complex64:
        return to_string(t.template as<std::complex<float>>());
    default:
        return to_string(t.template as<std::complex<double>>());
    }
}
/// A shape, strides or a list of axes: "[2, 3]".
template <class T> std::string to_string(Dims<T> const& dims) { return detail::message_of({dims}); }
/// NumPy's name of a scalar type: "float64".
template <std::same_as<DType> T> std::string to_string(T type) { return std::string(name(type)); }

template <Scalar T> std::ostream& operator<<(std::ostream& out, Tensor<T> const& t) {
    return out << to_string(t);
}
template <std::same_as<AnyTensor> A> std::ostream& operator<<(std::ostream& out, A const& t) {
    return out << to_string(t);
}
template <class T> std::ostream& operator<<(std::ostream& out, Dims<T> const& dims) {
    return out << to_string(dims);
}
template <std::same_as<DType> T> std::ostream& operator<<(std::ostream& out, T type) {
    return out << name(type);
}
template <class Op, class... X>
std::ostream& operator<<(std::ostream& out, Expression<Op, X...> const& e) {
    return out << to_string(detail::materialize(e));
}

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/print.ipp>
#endif
