// Gradients of any function of tensors in both orders, and what they should be by central
// differences. A function here is type-erased, so that all of this is compiled once.
#pragma once

#include <functional>

#include <support/values.hpp>

namespace support {

using Tensors = std::vector<xg::AnyTensor>;
using Function = std::function<xg::AnyTensor(Tensors const&)>;
/// The arguments of a function, without a graph.
using Point = std::vector<Values>;

namespace erased {
template <class F, class... T> xg::AnyTensor call(F const& f, Tensors const& x) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return xg::AnyTensor(xg::materialize_expression(f(x[I].as<T>()...)));
    }(std::index_sequence_for<T...>{});
}
} // namespace erased

/// f, a function of Tensor<T>..., for tensors whose types are not known. A lambda without captures
/// costs little to compile.
template <class... T, class F> Function function_of(F f) {
    if constexpr (std::is_empty_v<F>)
        return static_cast<xg::AnyTensor (*)(Tensors const&)>(
            [](Tensors const& x) { return erased::call<F, T...>(F{}, x); });
    else return [f](Tensors const& x) { return erased::call<F, T...>(f, x); };
}

/// Gradients of <w, f(x)> = Re sum conj(w) f(x) for all arguments; zeros where there is none.
Point first_order(Function const& f, Point const& at, Values const& w, bool create_graph = false,
    bool strided = false);
/// Gradients of sum_k <v_k, g_k(x, w)> for all arguments x and, last, for w, where g_k are those of
/// first_order. A constant seed w takes no part in the graph, and gets zeros.
Point second_order(Function const& f, Point const& at, Values const& w, Point const& v,
    bool constant_seed = false);

/// Numbers to contract derivatives with: one set for the result, one for each argument.
struct Directions {
    Values w;
    Point v;
};
Directions directions(Function const& f, Point const& at);

/// The value of f, without its graph.
Values value_of(Function const& f, Point const& at);

/// Checks both orders: against central differences, the recorded pass against the fused one, and
/// strided operands against contiguous ones.
CheckResult differentiates(Function const& f, Point const& at, double tolerance = 1e-8);
/// Compares value and both orders of a function of float, or of float and double, with those of the
/// same function of double.
CheckResult agrees_with_double(
    Function const& f, Function const& f_of_double, Point const& at, double tolerance = 1e-5);
/// Compares value and gradients of an elementwise function of vectors with those of the vectors
/// repeated until a loop has more than one part and a tail.
CheckResult is_the_same_when_large(Function const& f, Point const& at);
/// Compares value and both orders of a function with those of another one.
CheckResult agrees_with(
    Function const& f, Function const& other, Point const& at, double tolerance = 1e-12);

} // namespace support
