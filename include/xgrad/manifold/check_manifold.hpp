// check_manifold(): tests the functions of a manifold against each other, as gradcheck() tests a
// derivative.
//
// Errors: an Error says which function is wrong, and by how much. A struct that is no manifold does
// not compile.
#pragma once

#include <optional>

#include <xgrad/manifold/geometry.hpp>

namespace xgrad {

namespace detail {

template <class X> X random_like(X const& x) {
    if constexpr (TensorLike<X>) return randn_like(x);
    else
        return for_each_part<std::tuple_size_v<X>>(
            [&](auto... i) { return X(random_like(std::get<i.value>(x))...); });
}

/// By which power of t a quantity falls from t = 0.02 to t = 0.01; infinite where it is 0.
template <class F> double slope_of(F const& size_at) {
    double const large = size_at(0.02), small = size_at(0.01);
    return small < 1e-13 ? HUGE_VAL : std::log2(large / small);
}

template <class M, class X> struct ManifoldTest {
    GeometryOf<M, X> g;
    double tolerance;

    /// Throws if two tensors, or two numbers, differ.
    void same(std::string_view what, X const& a, X const& b) const {
        small(what, length(combined(1, a, -1, b)) / std::max(1., length(b)));
    }
    void same(std::string_view what, double a, double b) const {
        small(what, std::abs(a - b) / std::max(1., std::abs(b)));
    }
    void small(std::string_view what, double error) const {
        if (!(error <= tolerance))
            fail("check_manifold: ", type_name<M>, ": ", what, " (they differ by ",
                std::to_string(error), ")");
    }

    /// Throws if x, of which `what` tells, is no point: project(x, v) is a projection at each
    /// point, and often at no other array.
    void is_point(std::string const& what, X const& x) const {
        small(what + " is not on the manifold: retract(y, 0) of that y is another point",
            g.distance(x));
        X const v = g.project(x, random_like(x));
        same(what + " is not on the manifold: project(y, v) changes a tangent v of that y",
            g.project(x, v), v);
    }
    /// The order of |retract(x, t v) - x - t v| in t.
    double order_along(X const& x, X const& v) const {
        return slope_of([&](double t) { return length(beside_line(x, v, t)); });
    }
    X beside_line(X const& x, X const& v, double t) const {
        return combined(1, combined(1, g.retract(x, multiple_of(t, v)), -1, x), -t, v);
    }

    /// The derivative of f at t, from differences.
    template <class F> X derivative(F const& f, double t) const {
        return combined(5e4, f(t + 1e-5), -5e4, f(t - 1e-5));
    }
    /// Throws if tangents differ by more than the errors of differences.
    void nearly_same(std::string_view what, X const& a, X const& b) const {
        ManifoldTest{g, std::sqrt(tolerance)}.same(what, a, b);
    }

    int run(X const& like) const {
        X const x = combined(1, X(g.m.random(like)), 0, random_like(like)), a = random_like(x),
                b = random_like(x);
        if (X const y = g.retract(x, multiple_of(0, x)); !(g.distance(x) <= tolerance)) {
            is_point("retract(x, 0)", y);
            small(
                "random(x) is not on the manifold: retract(x, 0) is another point", g.distance(x));
        }
        X const u = g.project(x, a), v = g.project(x, b);
        same("project(x, v) changes a tangent v", g.project(x, v), v);
        same("project(x, v) is not linear in v", g.project(x, combined(2, a, -3, b)),
            combined(2, u, -3, v));
        if constexpr (!HasInnerProduct<M, X>)
            same("project(x, v) is not the nearest tangent: <project(x, u), v> is not "
                 "<u, project(x, v)>",
                usual_inner(u, b), usual_inner(a, v));

        // The retraction: its points, and its curve beside the straight line.
        double const order = order_along(x, v);
        if (!(order > 1.8)) {
            // where it does follow its own direction, v is none that it can follow
            X const own = combined(1e5, g.retract(x, multiple_of(1e-5, v)), -1e5, x);
            fail("check_manifold: ", type_name<M>,
                order_along(x, own) > 1.8
                    ? ": project(x, v) is no tangent, or retract(x, v) drops a part of it: "
                      "retract(x, t v) leaves x in another direction than v, and keeps that one: "
                      "it differs from x + t v by t to the power of "
                    : ": retract(x, t v) leaves x in another direction than v: "
                      "it differs from x + t v by t to the power of ",
                std::to_string(order), ", not 2");
        }
        X const y = g.retract(x, v);
        is_point("retract(x, v)", y);
        for (X const& beside : {a, multiple_of(2, x)}) {
            std::optional<X> point;
            try {
                point = g.retract(beside, multiple_of(0, beside));
            } catch (Error const&) {} // a manifold may refuse an array, by NaN, too
            if (point && std::isfinite(length(*point)))
                is_point("retract(x, 0) of an x beside the manifold", *point);
            // what keeps any array checks no points: then `project` has to
            if (point && length(combined(1, *point, -1, beside)) == 0) {
                X const velocity =
                    derivative([&](double t) { return g.retract(x, multiple_of(t, v)); }, 1);
                nearly_same("retract(x, t v) leaves the manifold: its derivative at t = 1 is no "
                            "tangent there",
                    g.project(y, velocity), velocity);
            }
        }

        if constexpr (TransportsTangents<M, X>) {
            X const moved = g.transport(x, y, u);
            same("transport(x, y, v) is no tangent at y", g.project(y, moved), moved);
            same("transport(x, x, v) is not v", g.transport(x, x, u), u);
            same("transport(x, y, v) is not linear in v", g.transport(x, y, combined(2, u, -3, v)),
                combined(2, moved, -3, g.transport(x, y, v)));
        }
        if constexpr (HasInnerProduct<M, X>) {
            same("inner(x, u, v) is not inner(x, v, u)", g.inner(x, u, v), g.inner(x, v, u));
            same("inner(x, u, v) is not linear in u", g.inner(x, combined(2, u, 1, v), v),
                2 * g.inner(x, u, v) + g.inner(x, v, v));
            if (!(g.inner(x, v, v) > 0)) small("inner(x, v, v) is not positive", HUGE_VAL);
            X const r = g.gradient(x, a);
            same("gradient(x, g) is no tangent", g.project(x, r), r);
            same("inner(x, gradient(x, g), v) is not Re sum conj(g) v", g.inner(x, r, v),
                usual_inner(a, v));
        }
        bool const is_second = !HasInnerProduct<M, X> && slope_of([&](double t) {
            return length(g.project(x, beside_line(x, v, t)));
        }) > 2.8;
        if constexpr (TensorLike<X> && ConvertsHessians<M, X>) {
            X const zero = multiple_of(0, a), bent = g.hessian(x, a, zero, v);
            same("hessian(x, g, h, v) is not symmetric", g.inner(x, g.hessian(x, a, zero, u), v),
                g.inner(x, u, bent));
            // Re sum conj(a) x along the retraction, against its expansion of second order
            if constexpr (HasInnerProduct<M, X>) {
                if (slope_of([&](double t) {
                        return std::abs(
                            usual_inner(a, beside_line(x, v, t)) - t * t / 2 * g.inner(x, bent, v));
                    }) > 2.8)
                    return 2;
            } else
                nearly_same("hessian(x, g, h, v) is not the derivative of project(x, g) along v",
                    g.hessian(x, a, b, v),
                    g.project(x, derivative(
                                     [&](double t) {
                                         X const at = g.retract(x, multiple_of(t, v));
                                         return g.project(at, combined(1, a, t, b));
                                     },
                                     0)));
        }
        return is_second ? 2 : 1;
    }
};

} // namespace detail

/// Options of check_manifold().
struct ManifoldCheckOptions {
    double tolerance = 1e-9; // of what must be equal, relative to its size
};

/// Tests a manifold at a random point with the shape and type of `like`, which must have double
/// precision: that `random` and `retract` give points, also from an array that is none, that
/// `project` and `transport` give tangents, that `retract(x, t v)` is x + t v up to t^2, that
/// `inner` is an inner product, and that `gradient` and `hessian` belong to it. Throws an Error
/// that says what does not hold. Returns the order of the retraction: 2 if the component of
/// `retract(x, t v)` - x - t v that is tangent at x is as small as t^3, and with an inner product
/// of its own if `hessian` is the second derivative along it; else 1. A product has the least of
/// its parts.
template <class M, class X>
int check_manifold(M const& manifold, X const& like, ManifoldCheckOptions const& options = {}) {
    constexpr bool is_double = detail::roundoff<X> < 1e-10;
    static_assert(is_double, "check_manifold: `like` must be of double precision");
    if constexpr (is_double && detail::check_geometry<M, X>()) {
        NoGradGuard const off;
        int parts = 2;
        if constexpr (!detail::TensorLike<X>)
            parts = detail::for_each_part<std::tuple_size_v<X>>([&](auto... i) {
                return std::min({check_manifold(
                    std::get<i.value>(manifold.parts), std::get<i.value>(like), options)...});
            });
        int const order = detail::ManifoldTest<M, X>{{manifold}, options.tolerance}.run(like);
        return detail::TensorLike<X> ? order : parts;
    } else return 0;
}

} // namespace xgrad
