// Manifolds of vectors and arrays: Euclidean, Sphere, UnitModulus, Oblique. They need no LAPACK.
//
// Shapes: any; of Sphere the whole tensor is one vector, UnitModulus has one circle for each
// element, Oblique one sphere for each vector along its axis.
// Gradients: functions of a manifold are tensor operations, which record what they are asked for.
// Errors: UnitModulus of real numbers does not compile.
#pragma once

#include <xgrad/manifold/geometry.hpp>
#include <xgrad/tensor/create.hpp>

namespace xgrad {

/// All tensors: minimising on it is minimising without a constraint.
struct Euclidean {
    template <class X> X project(X const&, Tangent<X> const& v) const { return v; }
    template <class X> X retract(X const& x, Tangent<X> const& v) const { return x + v; }
    template <class X> X transport(X const&, X const&, Tangent<X> const& v) const { return v; }
    template <class X> X random(X const& x) const { return randn_like(x); }
};

/// Tensors of norm 1.
struct Sphere {
    template <class X> X project(X const& x, Tangent<X> const& v) const {
        return v - x * sum(detail::real_products(x, v));
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        X const y = x + v;
        return y / norm(y);
    }
    template <class X> X random(X const& x) const { return retract(randn_like(x), zeros_like(x)); }
};

/// Complex tensors whose elements all have modulus 1: phases.
struct UnitModulus {
    template <class X> X project(X const& x, Tangent<X> const& v) const {
        return v - x * detail::real_products(x, v);
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        constexpr bool is_complex = ComplexScalar<typename X::scalar>;
        static_assert(is_complex, "UnitModulus: its elements are complex; the real numbers of "
                                  "modulus 1 are 1 and -1, between which nothing leads");
        X const y = x + v;
        return y / abs(y);
    }
    template <class X> X random(X const& x) const { return retract(randn_like(x), zeros_like(x)); }
};

/// Matrices whose columns have norm 1; with `axis` = -1 their rows, and so on.
struct Oblique {
    std::ptrdiff_t axis = -2; // the axis along which vectors have norm 1

    template <class X> X project(X const& x, Tangent<X> const& v) const {
        return v - x * sum(detail::real_products(x, v), {axis}, keepdims);
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        X const y = x + v;
        return y / norm(y, 2, {axis}, true);
    }
    template <class X> X random(X const& x) const { return retract(randn_like(x), zeros_like(x)); }
};

} // namespace xgrad
