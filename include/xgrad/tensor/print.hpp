// Printing: values as NumPy prints them, shape, dtype and grad_fn. A stream formats numbers as it
// formats double: std::setprecision(3), std::fixed, std::scientific.
//
// Shapes: any; rows longer than six are abbreviated in arrays of more than a thousand elements.
// Gradients: none; printing an expression evaluates it.
// Errors: an undefined tensor is printed as such; an expression throws what its evaluation throws.
#pragma once

#include <ostream>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

template <class V, class I> struct OrderedPair;

/// How to print floating-point numbers.
struct NumberFormat {
    int precision = 6; // significant digits, or digits after the point
    char style = 'g';  // as in printf: 'g', 'f' (fixed) or 'e' (scientific)
};

namespace detail {

/// What std::setprecision, std::fixed and std::scientific have set.
XGRAD_LAZY NumberFormat format_of(std::ios_base const& out);
XGRAD_LAZY std::string number_text(double v, NumberFormat format = {});
inline std::string number_text(bool v, NumberFormat = {}) { return v ? "true" : "false"; }
inline std::string number_text(std::int64_t v, NumberFormat = {}) { return std::to_string(v); }
inline std::string number_text(float v, NumberFormat format = {}) {
    return number_text(static_cast<double>(v), format);
}
template <RealScalar T> std::string number_text(std::complex<T> v, NumberFormat format = {}) {
    auto const im = number_text(v.imag(), format);
    return number_text(v.real(), format) + (im[0] == '-' ? "" : "+") + im + "i";
}

/// Rows longer than six are abbreviated where the array has more than a thousand elements.
template <class T>
void array_text(
    Array<T> const& a, NumberFormat format, std::size_t axis, std::ptrdiff_t at, std::string& out) {
    if (axis == a.shape.size()) {
        out += number_text(a.begin()[at], format);
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
        } else
            array_text(
                a, format, axis + 1, at + static_cast<std::ptrdiff_t>(i) * a.strides[axis], out);
    }
    out += ']';
}

/// ", grad_fn=<MulBackward>", or <Invalid> for a view whose grad_fn was lost when its base was
/// changed.
XGRAD_LAZY [[gnu::cold]] std::string grad_fn_text(AnyTensor const& t);
} // namespace detail

/// "Tensor([1, 2], shape=[2], dtype=float64, grad_fn=<MulBackward>)".
template <Scalar T> std::string to_string(Tensor<T> const& t, NumberFormat format = {}) {
    if (!t.defined()) return "Tensor(undefined)";
    std::string s = "Tensor(";
    detail::array_text(t.array_of(), format, 0, 0, s);
    return detail::message_of(
        {s, ", shape=", t.shape(), ", dtype=", name(t.dtype()), detail::grad_fn_text(t), ")"});
}
/// Prints a tensor of any type. A template, as all functions here, so that only programs that print
/// contain it.
template <std::same_as<AnyTensor> A> std::string to_string(A const& t, NumberFormat format = {}) {
    if (!t.defined()) return "Tensor(undefined)";
    return detail::with_type(t, [&](auto const& typed) { return to_string(typed, format); });
}
/// A shape, strides or a list of axes: "[2, 3]".
template <class T> std::string to_string(Dims<T> const& dims) { return detail::message_of({dims}); }
/// NumPy's name of a scalar type: "float64".
template <std::same_as<DType> T> std::string to_string(T type) { return std::string(name(type)); }

template <Scalar T> std::ostream& operator<<(std::ostream& out, Tensor<T> const& t) {
    return out << to_string(t, detail::format_of(out));
}
template <std::same_as<AnyTensor> A> std::ostream& operator<<(std::ostream& out, A const& t) {
    return out << to_string(t, detail::format_of(out));
}
template <class T> std::ostream& operator<<(std::ostream& out, Dims<T> const& dims) {
    return out << to_string(dims);
}
template <std::same_as<DType> T> std::ostream& operator<<(std::ostream& out, T type) {
    return out << name(type);
}
template <class Op, class... X>
std::ostream& operator<<(std::ostream& out, Expression<Op, X...> const& e) {
    return out << detail::materialize(e);
}
/// What sort(), topk() and median() return: both tensors, with their names.
template <class V, class I>
std::ostream& operator<<(std::ostream& out, OrderedPair<V, I> const& x) {
    return out << "values=" << x.values << ",\nindices=" << x.indices;
}

} // namespace xgrad
