// What a manifold is: a struct with `project`, `retract` and `random`, and where they are not the
// usual ones `transport`, `inner`, `gradient` and `hessian`. GeometryOf<M, X> checks M for points
// of type X, and fills in what M leaves out.
//
// Shapes: a tangent has the shape of its point. A point of a product is a std::tuple.
// Gradients: a `project` of tensor operations is differentiated to get second derivatives.
// Errors: a struct that is no manifold for a type of points does not compile; the message is one
// sentence.
#pragma once

#include <cmath>
#include <functional>
#include <limits>

#include <xgrad/functional/jvp.hpp>
#include <xgrad/tensor/inplace.hpp>

namespace xgrad {

/// A manifold M whose points have type X, a tensor or a std::tuple of tensors:
/// - `project(x, v)` is the component of v that is tangent at x (the horizontal one of a quotient);
/// - `retract(x, v)` is a point reached from x along v; `retract(x, 0)` is x for a point x, and a
///   point near x for any other array;
/// - `random(x)` is a random point with the shape of x.
/// The rest may be left out:
/// - `transport(x, y, v)` takes a tangent v at x to one at y: `project(y, v)` if left out;
/// - `inner(x, u, v)` is a double, the inner product at x: Re sum conj(u) v if left out. It comes
///   with `gradient(x, g)`, the tangent r for which inner(x, r, v) is Re sum conj(g) v;
/// - `hessian(x, g, h, v)` is the covariant derivative of the gradient along v, where h is the
///   derivative of g along v. If left out, that of `gradient` is projected.
template <class M, class X>
concept Manifold = requires(M const& m, X const& x) {
    { m.project(x, x) } -> std::convertible_to<X>;
    { m.retract(x, x) } -> std::convertible_to<X>;
    { m.random(x) } -> std::convertible_to<X>;
};

template <class... M> struct Product;

/// X itself, for the tangents in functions of a manifold that are templates: the point alone
/// determines X there, so that an expression may be a tangent, as in retract(x, 0. * x).
template <class X> using Tangent = std::type_identity_t<X>;

namespace detail {

template <class M, class X>
concept TransportsTangents = requires(M const& m, X const& x) { m.transport(x, x, x); };
template <class M, class X>
concept HasInnerProduct = requires(M const& m, X const& x) { m.inner(x, x, x); };
template <class M, class X>
concept ConvertsGradients = requires(M const& m, X const& x) { m.gradient(x, x); };
template <class M, class X>
concept ConvertsHessians = requires(M const& m, X const& x) { m.hessian(x, x, x, x); };

/// Calls f(i) for each part of a product.
template <std::size_t n, class F> auto for_each_part(F const& f) {
    return [&f]<std::size_t... I>(std::index_sequence<I...>) {
        return f(std::integral_constant<std::size_t, I>()...);
    }(std::make_index_sequence<n>());
}

/// The unit roundoff of points X.
template <class X> inline constexpr double roundoff = 0;
template <TensorLike X>
inline constexpr double roundoff<X> =
    std::numeric_limits<precision_of<typename X::scalar>>::epsilon();
template <class... X>
inline constexpr double roundoff<std::tuple<X...>> = std::max({roundoff<X>...});

/// a x + b y, of one shape.
template <class X> X combined(double a, X const& x, double b, X const& y) {
    if constexpr (TensorLike<X>) {
        using P = precision_of<typename X::scalar>;
        if (!(x.shape() == y.shape()))
            fail<ShapeError>("manifold: a result has shape ", x.shape(), ", not ", y.shape());
        return static_cast<P>(a) * x + static_cast<P>(b) * y;
    } else
        return for_each_part<std::tuple_size_v<X>>([&](auto... i) {
            return X(combined(a, std::get<i.value>(x), b, std::get<i.value>(y))...);
        });
}
template <class X> X multiple_of(double a, X const& x) { return combined(a, x, 0, x); }

/// Re conj(u) v, element by element.
template <Scalar T> auto real_products(Tensor<T> const& u, Tensor<T> const& v) {
    if constexpr (is_complex<T>) return real(conj(u) * v);
    else return u * v;
}
/// Re sum conj(u) v.
template <class X> double usual_inner(X const& u, X const& v) {
    if constexpr (TensorLike<X>)
        return static_cast<double>(
            Tensor<precision_of<typename X::scalar>>(sum(real_products(u, v))).item());
    else
        return for_each_part<std::tuple_size_v<X>>([&](auto... i) {
            return (usual_inner(std::get<i.value>(u), std::get<i.value>(v)) + ...);
        });
}
template <class X> double length(X const& v) { return std::sqrt(usual_inner(v, v)); }

/// True if M has the functions of a manifold; otherwise the compiler says which one it lacks.
template <class M, class X> consteval bool check_functions() {
    constexpr bool projects = requires(M const& m, X const& x) {
        { m.project(x, x) } -> std::convertible_to<X>;
    };
    static_assert(projects, "manifold: project(x, v) const must return the component of v that is "
                            "tangent at x, of the type of x");
    constexpr bool retracts = requires(M const& m, X const& x) {
        { m.retract(x, x) } -> std::convertible_to<X>;
    };
    static_assert(retracts, "manifold: retract(x, v) const must return the point that is reached "
                            "from x along v, of the type of x");
    constexpr bool draws = requires(M const& m, X const& x) {
        { m.random(x) } -> std::convertible_to<X>;
    };
    static_assert(draws, "manifold: random(x) const must return a random point of the shape and "
                         "the type of x");
    constexpr bool transports = !TransportsTangents<M, X> || requires(M const& m, X const& x) {
        { m.transport(x, x, x) } -> std::convertible_to<X>;
    };
    static_assert(transports, "manifold: transport(x, y, v) const must return the tangent at y of "
                              "the tangent v at x, of the type of x");
    constexpr bool multiplies = !HasInnerProduct<M, X> || requires(M const& m, X const& x) {
        { m.inner(x, x, x) } -> std::same_as<double>;
    };
    static_assert(multiplies, "manifold: inner(x, u, v) const must return a double");
    constexpr bool converts = HasInnerProduct<M, X> == ConvertsGradients<M, X>;
    static_assert(converts, "manifold: inner(x, u, v) and gradient(x, g) belong together: the "
                            "gradient is the tangent r with inner(x, r, v) = Re sum conj(g) v");
    constexpr bool bends = !ConvertsHessians<M, X> || requires(M const& m, X const& x) {
        { m.hessian(x, x, x, x) } -> std::convertible_to<X>;
    };
    static_assert(bends, "manifold: hessian(x, g, h, v) const must return the covariant derivative "
                         "of the gradient along v, of the type of x");
    return projects && retracts && draws && transports && multiplies && converts && bends;
}

template <class M, class X> inline constexpr bool has_manifold_for_each = false;
template <class... M, class... X>
inline constexpr bool has_manifold_for_each<xgrad::Product<M...>, std::tuple<X...>> =
    sizeof...(M) == sizeof...(X);

/// True if M is a manifold of points X.
template <class M, class X> consteval bool check_geometry() {
    if constexpr (TensorLike<X>) {
        constexpr bool is_one = !requires(M const& m) { m.parts; };
        static_assert(is_one, "manifold: on(Sphere{}, Euclidean{}) is for a std::tuple of as many "
                              "tensors, and there is one");
        if constexpr (!is_one) return false;
        else return check_functions<M, X>();
    } else {
        constexpr bool fits = has_manifold_for_each<M, X>;
        static_assert(fits, "manifold: a std::tuple of tensors needs a manifold for each of them: "
                            "on(Sphere{}, Euclidean{})");
        if constexpr (!fits) return false;
        else
            return []<class... P, class... Y>(std::type_identity<xgrad::Product<P...>>,
                       std::type_identity<std::tuple<Y...>>) {
                return (check_functions<P, Y>() && ...);
            }(std::type_identity<M>{}, std::type_identity<X>{});
    }
}

/// A manifold of points X with all its functions. minimize() sees a manifold only so, and is
/// compiled once for each X.
template <class X> struct AnyManifold {
    virtual X project(X const& x, X const& v) const = 0;
    virtual X retract(X const& x, X const& v) const = 0;
    virtual X transport(X const& x, X const& y, X const& v) const = 0;
    virtual double inner(X const& x, X const& u, X const& v) const = 0;
    virtual X gradient(X const& x, X const& g) const = 0;
    virtual X hessian(X const& x, X const& g, X const& h, X const& v) const = 0;
    double norm(X const& x, X const& v) const { return std::sqrt(inner(x, v, v)); }
    /// How far x is from the manifold, relative to the size of x.
    double distance(X const& x) const {
        return length(combined(1, retract(x, multiple_of(0, x)), -1, x)) / std::max(1., length(x));
    }

protected:
    ~AnyManifold() = default;
};

template <class M, class X> struct GeometryOf final : AnyManifold<X> {
    M const& m;

    GeometryOf(M const& manifold) : m(manifold) {}
    X project(X const& x, X const& v) const override { return m.project(x, v); }
    X retract(X const& x, X const& v) const override { return m.retract(x, v); }
    X transport(X const& x, X const& y, X const& v) const override {
        if constexpr (TransportsTangents<M, X>) return m.transport(x, y, v);
        else return m.project(y, v);
    }
    double inner(X const& x, X const& u, X const& v) const override {
        if constexpr (HasInnerProduct<M, X>) return m.inner(x, u, v);
        else return usual_inner(u, v);
    }
    X gradient(X const& x, X const& g) const override {
        if constexpr (ConvertsGradients<M, X>) return m.gradient(x, g);
        else return m.project(x, g);
    }
    X hessian(X const& x, X const& g, X const& h, X const& v) const override {
        if constexpr (ConvertsHessians<M, X>) return m.hessian(x, g, h, v);
        else if constexpr (HasInnerProduct<M, X>)
            fail(type_name<M>, ": second derivatives need hessian(x, g, h, v), the covariant "
                               "derivative of the gradient along v, beside inner(x, u, v)");
        else {
            // not of its own type, so that jvp() is compiled once for each X
            std::function<X(X const&, X const&)> const r = [this](X const& at, X const& of) {
                return gradient(at, of);
            };
            return m.project(x, X(jvp(r, std::tuple(x, g), std::tuple(v, h)).second));
        }
    }
};

/// Throws unless x is on the manifold, up to rounding and a little more.
template <class M, class X> void check_on_manifold(std::string_view name, M const& m, X const& x) {
    visit_tensors(x, [&](AnyTensor const& t) { check_defined(name, t); });
    if constexpr (requires { m.parts; })
        return for_each_part<std::tuple_size_v<X>>([&](auto... i) {
            (check_on_manifold(std::string(name) + ": part " + std::to_string(i.value),
                 std::get<i.value>(m.parts), std::get<i.value>(x)),
                ...);
        });
    double const most = roundoff<X> > 1e-10 ? 1e-4 : 1e-8;
    double away = 0;
    Shape shape;
    visit_tensors(x, [&](AnyTensor const& t) { shape = t.shape(); });
    try {
        away = GeometryOf<M, X>{m}.distance(x);
    } catch (Error const& e) {
        fail(name, ": the point of shape ", shape, " is not on ", type_name<M>, ": ", e.what());
    }
    if (!(away <= most))
        fail(name, ": the point of shape ", shape, " is not on ", type_name<M>,
            ": retract(x, 0) differs from it by ", std::to_string(away), " of its length");
}

} // namespace detail

/// The product of manifolds: its points and tangents are tuples of theirs. on(a, b) makes it.
template <class... M> struct Product {
    std::tuple<M...> parts; // the manifolds

    template <class X> X project(X const& x, Tangent<X> const& v) const {
        return each(
            x, [](auto const& g, auto const&... t) { return g.project(t...); }, x, v);
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        return each(
            x, [](auto const& g, auto const&... t) { return g.retract(t...); }, x, v);
    }
    template <class X> X random(X const& x) const {
        return each(
            x, [](auto const& g, auto const& t) { return decltype(+t)(g.m.random(t)); }, x);
    }
    template <class X> X transport(X const& x, X const& y, Tangent<X> const& v) const {
        return each(
            x, [](auto const& g, auto const&... t) { return g.transport(t...); }, x, y, v);
    }
    template <class X> double inner(X const& x, Tangent<X> const& u, Tangent<X> const& v) const {
        double total = 0;
        each(
            x,
            [&](auto const& g, auto const& a, auto const&... t) {
                total += g.inner(a, t...);
                return a;
            },
            x, u, v);
        return total;
    }
    template <class X> X gradient(X const& x, Tangent<X> const& g) const {
        return each(
            x, [](auto const& p, auto const&... t) { return p.gradient(t...); }, x, g);
    }
    template <class X>
    X hessian(X const& x, Tangent<X> const& g, Tangent<X> const& h, Tangent<X> const& v) const {
        return each(
            x, [](auto const& p, auto const&... t) { return p.hessian(t...); }, x, g, h, v);
    }

private:
    template <class X, class F, class... A> X each(X const&, F const& f, A const&... a) const {
        return detail::for_each_part<sizeof...(M)>([&](auto... i) {
            auto const part = [&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
                using Part = std::tuple_element_t<k, X>;
                return Part(f(
                    detail::GeometryOf<std::tuple_element_t<k, std::tuple<M...>>, Part>{
                        std::get<k>(parts)},
                    std::get<k>(a)...));
            };
            return X{part(i)...};
        });
    }
};

/// The manifold of what is minimised, `minimize(f, x, on(Sphere{}))`; of several tensors the
/// product of theirs, `minimize(f, std::tuple(x, y), on(Sphere{}, Stiefel{}))`.
template <class M> M on(M const& manifold) { return manifold; }
template <class... M>
    requires(sizeof...(M) > 1)
Product<M...> on(M const&... manifolds) {
    return {{manifolds...}};
}

} // namespace xgrad
