// Creation of tensors: constants, ranges, random numbers.
//
// Shapes: the given shape, or that of the other tensor; ranges and frequencies are vectors,
// one_hot() adds an axis, multinomial() replaces the last one. Strides are row-major.
// Gradients: none: the results are leaves, which require a gradient with `requires_grad` as last
// argument. tensor() of a list with tensors is no leaf, and has their gradients.
// Errors: a negative extent, or more elements than any memory holds, is a ShapeError; so are no
// points of fftfreq() and weights of multinomial() of another dimension than 1 or 2. A step of 0,
// an empty range of integers in randint(), a weight or a class that is out of range are an Error.
// requires_grad for integers does not compile.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

/// A tensor whose elements are `value`.
template <Scalar T = double>
Tensor<T> full(ShapeArgument const& shape, T value, std::type_identity_t<GradFlag<T>> g = {}) {
    return Tensor<T>(detail::Array<T>(shape, value), g);
}
/// Of an int: integers of any width become int64.
template <Number N>
    requires(!Scalar<N>)
auto full(ShapeArgument const& shape, N value) {
    return full<detail::tensor_scalar<N>>(shape, value);
}
template <Scalar T = double>
Tensor<T> zeros(ShapeArgument const& shape, std::type_identity_t<GradFlag<T>> g = {}) {
    return full<T>(shape, T(0), g);
}
template <Scalar T = double>
Tensor<T> ones(ShapeArgument const& shape, std::type_identity_t<GradFlag<T>> g = {}) {
    return full<T>(shape, T(1), g);
}

/// Without values: its memory is not initialised.
template <Scalar T = double> Tensor<T> empty(ShapeArgument const& shape) {
    return Tensor<T>::empty(shape);
}

/// The identity matrix.
template <Scalar T = double>
Tensor<T> eye(std::size_t n, std::type_identity_t<GradFlag<T>> g = {}) {
    detail::Array<T> a(Shape{n, n}, T(0));
    for (std::size_t i = 0; i < n; ++i) a.begin()[i * (n + 1)] = T(1);
    return Tensor<T>(std::move(a), g);
}

namespace detail {
/// The element type of a range of such numbers.
template <class... A>
using StepScalar = std::conditional_t<(std::integral<A> && ...), std::int64_t,
    std::common_type_t<std::conditional_t<std::integral<A>, float, A>...>>;
template <class A, class... B>
inline constexpr bool OneScalar = Scalar<A> && (std::same_as<A, B> && ...);

/// Number of elements of arange().
template <Scalar T> std::size_t steps_between(T start, T stop, T step) {
    constexpr auto most = static_cast<double>(max_elements);
    if (step == T(0)) fail<Error>("arange: the step is 0");
    double count;
    if constexpr (std::same_as<T, std::int64_t>) {
        auto const size = [](T from, T to) {
            return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
        };
        if (step > 0 ? start >= stop : start <= stop) return 0;
        std::uint64_t const exact = step > 0 ? (size(start, stop) - 1) / size(0, step) + 1
                                             : (size(stop, start) - 1) / size(step, 0) + 1;
        if (exact <= max_elements) return static_cast<std::size_t>(exact);
        count = HUGE_VAL;
    } else
        count = std::ceil(
            (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step));
    if (!(std::abs(count) < most))
        fail<Error>("arange: the number of steps is not finite, or more than any memory holds");
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}
} // namespace detail

/// A tensor of numbers, as torch.tensor has it: of double, whatever the numbers are; of another
/// type where it is named, as in tensor<float>({1, 2}).
template <Scalar T = double>
Tensor<T> tensor(std::initializer_list<detail::NestedList<std::type_identity_t<T>>> values,
    std::type_identity_t<GradFlag<T>> g = {}) {
    return Tensor<T>(values, g);
}
/// Without dimensions.
template <Scalar T = double, Number N>
    requires std::convertible_to<N, T>
Tensor<T> tensor(N value, std::type_identity_t<GradFlag<T>> g = {}) {
    return Tensor<T>(value, g);
}

/// start, start + step, ... below stop (above it for a negative step).
template <Scalar T = double>
Tensor<T> arange(T start, T stop, T step = T(1), std::type_identity_t<GradFlag<T>> g = {})
    requires(!detail::is_complex<T>)
{
    detail::Array<T> a(Shape{detail::steps_between(start, stop, step)});
    for (std::size_t i = 0; i < a.numel; ++i)
        a.begin()[i] = static_cast<T>(start + static_cast<T>(i) * step);
    return Tensor<T>(std::move(a), g);
}
/// 0, 1, ... below stop: int64 for an integer, else of the type of stop.
template <Scalar T> Tensor<T> arange(std::type_identity_t<T> stop) { return arange<T>(T(0), stop); }
// Numbers of several types, as Python takes them: of integers an int64 tensor. The first template
// parameter keeps these out of arange<double>(0, 5).
template <int = 0, class A, class... More>
    requires(std::is_arithmetic_v<A> && (std::is_arithmetic_v<More> && ...) &&
             (sizeof...(More) == 0 || (sizeof...(More) < 3 && !detail::OneScalar<A, More...>)))
auto arange(A first, More... more) {
    using T = detail::StepScalar<A, More...>;
    return arange<T>(static_cast<T>(first), static_cast<T>(more)...);
}
/// n equidistant numbers from start to stop, both included.
template <RealScalar T = double>
Tensor<T> linspace(T start, T stop, std::size_t n, std::type_identity_t<GradFlag<T>> g = {}) {
    detail::Array<T> a(Shape{n});
    for (std::size_t i = 0; i < n; ++i)
        a.begin()[i] = i + 1 == n && n > 1
                           ? stop
                           : start + (stop - start) *
                                         (n > 1 ? static_cast<T>(i) / static_cast<T>(n - 1) : T(0));
    return Tensor<T>(std::move(a), g);
}

// Integers, as Python takes them, give a double tensor.
template <int = 0, class A, class B>
    requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !detail::OneScalar<A, B>) ||
            (std::integral<A> && std::integral<B>)
auto linspace(A start, B stop, std::size_t n) {
    using T =
        std::conditional_t<std::integral<A> && std::integral<B>, double, detail::StepScalar<A, B>>;
    return linspace<T>(static_cast<T>(start), static_cast<T>(stop), n);
}

namespace detail {
/// Element i is i / (points * spacing), or (i - points) / (points * spacing) from i = `turn` on.
template <RealScalar T>
Tensor<T> frequencies(std::string_view operation, std::size_t n, std::size_t points, double spacing,
    std::size_t turn) {
    if (points == 0) fail<ShapeError>(operation, ": a transform needs at least one point");
    Array<T> a(Shape{n});
    double const unit = 1 / (static_cast<double>(points) * spacing);
    for (std::size_t i = 0; i < n; ++i)
        a.begin()[i] = static_cast<T>(
            (static_cast<double>(i) - (i < turn ? 0. : static_cast<double>(points))) * unit);
    return Tensor<T>(std::move(a));
}
} // namespace detail

/// The frequencies of fft() of n points with sample spacing `distance`, in its order: 0, 1, ...,
/// (n-1)/2, -(n/2), ..., -1, divided by n * distance.
template <RealScalar T = double> Tensor<T> fftfreq(std::size_t n, double distance = 1) {
    return detail::frequencies<T>("fftfreq", n, n, distance, n - n / 2);
}
/// The frequencies of rfft(): 0, 1, ..., n/2, divided by n * distance.
template <RealScalar T = double> Tensor<T> rfftfreq(std::size_t n, double distance = 1) {
    return detail::frequencies<T>("rfftfreq", n / 2 + 1, n, distance, n);
}

namespace detail {
/// Uniform random numbers in [0, 1).
XGRAD_LAZY void fill_uniform(float* x, std::size_t n);
XGRAD_LAZY void fill_uniform(double* x, std::size_t n);
/// Normal random numbers with mean 0.
XGRAD_LAZY void fill_normal(float* x, std::size_t n, float deviation);
XGRAD_LAZY void fill_normal(double* x, std::size_t n, double deviation);
/// Throws where a parameter is out of its range, or NaN. `name` says of which function.
XGRAD_LAZY void check_range(std::string_view name, double v, double least, double most = HUGE_VAL);
/// Throws where an operand is undefined, or where the shapes of two do not broadcast.
template <class A, class B>
void check_broadcast(std::string_view operation, A const& a, B const& b) {
    check_defined(operation, a);
    check_defined(operation, b, 1);
    broadcast(operation, a.shape(), b.shape());
}

/// A new tensor of which fill(elements, count) writes the elements, or their two parts.
template <class T, class Fill> Tensor<T> filled(Shape const& shape, GradFlag<T> g, Fill fill) {
    Array<T> a(shape);
    fill(reinterpret_cast<precision_of<T>*>(a.data), is_complex<T> ? 2 * a.numel : a.numel);
    return Tensor<T>(std::move(a), g);
}
} // namespace detail

/// Seeds the calling thread's random generator.
XGRAD_LAZY void manual_seed(std::uint64_t seed);

/// Uniform random numbers in [0, 1); both parts of complex numbers.
template <Differentiable T = double>
Tensor<T> rand(ShapeArgument const& shape, std::type_identity_t<GradFlag<T>> g = {}) {
    return detail::filled<T>(shape, g, [](auto* x, std::size_t n) { detail::fill_uniform(x, n); });
}
/// Normal random numbers with mean 0 and variance 1; each part of a complex number has variance
/// 1/2.
template <Differentiable T = double>
Tensor<T> randn(ShapeArgument const& shape, std::type_identity_t<GradFlag<T>> g = {}) {
    using P = precision_of<T>;
    return detail::filled<T>(shape, g, [](P* x, std::size_t n) {
        detail::fill_normal(x, n, detail::is_complex<T> ? std::sqrt(P(0.5)) : P(1));
    });
}

// With several extents: zeros(2, 3).
#define XGRAD_CREATION(f, Numbers)                                                                 \
    template <Numbers T = double, std::integral... N>                                              \
        requires(sizeof...(N) > 1 && (!std::same_as<N, bool> && ...))                              \
    Tensor<T> f(N... extents) {                                                                    \
        return f<T>(ShapeArgument{extents...});                                                    \
    }
XGRAD_CREATION(empty, Scalar)
XGRAD_CREATION(zeros, Scalar)
XGRAD_CREATION(ones, Scalar)
XGRAD_CREATION(rand, Differentiable)
XGRAD_CREATION(randn, Differentiable)
#undef XGRAD_CREATION

/// `f_like(t)` is `f()` of the shape and type of t.
#define XGRAD_CREATION(f, Numbers)                                                                 \
    template <Numbers T>                                                                           \
    Tensor<T> f##_like(Tensor<T> const& t, std::type_identity_t<GradFlag<T>> g = {}) {             \
        return f<T>(t.shape(), g);                                                                 \
    }
XGRAD_CREATION(zeros, Scalar)
XGRAD_CREATION(ones, Scalar)
XGRAD_CREATION(rand, Differentiable)
XGRAD_CREATION(randn, Differentiable)
#undef XGRAD_CREATION
/// full() of the shape and type of another tensor.
template <Scalar T>
Tensor<T> full_like(
    Tensor<T> const& t, std::type_identity_t<T> value, std::type_identity_t<GradFlag<T>> g = {}) {
    return full<T>(t.shape(), value, g);
}

/// empty() of the shape and type of another tensor.
template <Scalar T> Tensor<T> empty_like(Tensor<T> const& t) { return empty<T>(t.shape()); }

/// Uniform random integers from low to high - 1. Throws an Error unless low < high.
XGRAD_LAZY Tensor<std::int64_t> randint(
    std::int64_t low, std::int64_t high, ShapeArgument const& shape);
XGRAD_LAZY inline Tensor<std::int64_t> randint(std::int64_t high, ShapeArgument const& shape) {
    return randint(0, high, shape);
}
/// 0 ... n - 1 in random order.
XGRAD_LAZY Tensor<std::int64_t> randperm(std::size_t n);
/// n class numbers for each row of weights, which need not add up to 1; each at most once unless
/// `replacement`. The weights are a vector, or rows of a matrix.
XGRAD_LAZY Tensor<std::int64_t> multinomial(
    Tensor<double> const& weights, std::size_t n, Flag replacement = false);
/// 1 with the probability that each element says, else 0.
template <RealScalar T> Tensor<T> bernoulli(Tensor<T> const& probability) {
    detail::Array<T> a(probability.shape());
    Tensor<double> const u = rand<double>(probability.shape());
    detail::Array<T> p(probability.shape());
    detail::copy_elements(p, probability.array_of());
    for (std::size_t i = 0; i < a.numel; ++i)
        a.begin()[i] = T(u.data()[i] < static_cast<double>(p.begin()[i]) ? 1 : 0);
    return Tensor<T>(std::move(a));
}
/// For each class number of `labels` a row of zeros with a 1 at that place, along a new last axis.
/// Throws an Error for numbers that are not in 0 ... classes - 1.
XGRAD_LAZY Tensor<std::int64_t> one_hot(Tensor<std::int64_t> const& labels, std::size_t classes);

} // namespace xgrad
