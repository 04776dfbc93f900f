// How tests compare tensors: CHECK(difference(x.grad(), {1., 2.}) == ""). The text says what
// differs, so that a failed check needs no debugger.
#pragma once

#include <cmath>
#include <type_traits>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using F = xg::Tensor<float>;
using Z = xg::Tensor<std::complex<double>>;
using std::complex;

namespace doctest {
template <class T> struct StringMaker<xg::Dims<T>> {
    static String convert(xg::Dims<T> const& dims) {
        std::string s = "[";
        for (auto const n : dims) s += (s.size() > 1 ? ", " : "") + std::to_string(n);
        return (s + "]").c_str();
    }
};
} // namespace doctest

/// The elements in row-major order.
template <class T> std::vector<T> values(xg::Tensor<T> const& t) {
    auto const a = xg::detail::contiguous(t.array_of());
    return std::vector<T>(a.begin(), a.end());
}

/// Nothing where shapes agree and values do up to rounding (relative to 1 or to their size), else
/// both tensors. NaN equals NaN.
template <class T>
std::string difference(xg::Tensor<T> const& got, std::type_identity_t<xg::Tensor<T>> const& wanted,
    double tolerance = std::is_same_v<xg::precision_of<T>, float> ? 1e-5 : 1e-12) {
    if (!got.defined() && !wanted.defined()) return "";
    bool same = got.defined() && wanted.defined() && got.shape() == wanted.shape();
    if (same) {
        auto const a = values(got), b = values(wanted);
        for (std::size_t i = 0; i < a.size(); ++i) {
            if constexpr (xg::Differentiable<T>)
                same &= a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]) ||
                        std::abs(a[i] - b[i]) <= tolerance * std::max<double>(1, std::abs(b[i]));
            else same &= a[i] == b[i];
        }
    }
    return same ? "" : "got " + to_string(got) + ", wanted " + to_string(wanted);
}

/// True where two tensors begin at the same address or overlap.
inline bool share_memory(xg::AnyTensor const& a, xg::AnyTensor const& b) {
    return a.impl().array.storage == b.impl().array.storage;
}
