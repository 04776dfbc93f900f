// Fused expressions against long double. Each is written once, as a generic lambda: called with
// tensors it returns an expression that becomes one Node, and called with dual numbers it computes
// the reference, element by element.
#pragma once

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace formulas {

namespace xg = xgrad;
using Real = long double;

/// value + derivative * epsilon. Of dual numbers it is a second derivative, too.
template <class T> struct Dual {
    T value{}, derivative{};
    Dual() = default;
    Dual(double number) : value(number) {}
    Dual(Real number) : value(number) {}
    Dual(T v, T d) : value(v), derivative(d) {}
};

inline Real number_of(Real x) { return x; }
template <class T> Real number_of(Dual<T> const& x) { return number_of(x.value); }

template <class T> Dual<T> operator+(Dual<T> const& a, Dual<T> const& b) {
    return {a.value + b.value, a.derivative + b.derivative};
}
template <class T> Dual<T> operator-(Dual<T> const& a, Dual<T> const& b) {
    return {a.value - b.value, a.derivative - b.derivative};
}
template <class T> Dual<T> operator-(Dual<T> const& a) {
    return {T(0.) - a.value, T(0.) - a.derivative};
}
template <class T> Dual<T> operator*(Dual<T> const& a, Dual<T> const& b) {
    return {a.value * b.value, a.value * b.derivative + a.derivative * b.value};
}
template <class T> Dual<T> operator/(Dual<T> const& a, Dual<T> const& b) {
    T const q = a.value / b.value;
    return {q, (a.derivative - q * b.derivative) / b.value};
}
template <class T> bool operator<(Dual<T> const& a, Dual<T> const& b) {
    return number_of(a) < number_of(b);
}
template <class T> bool operator>(Dual<T> const& a, Dual<T> const& b) {
    return number_of(a) > number_of(b);
}
#define FORMULAS_WITH_NUMBER(op)                                                                   \
    template <class T> auto operator op(Dual<T> const& a, double b) { return a op Dual<T>(b); }    \
    template <class T> auto operator op(double a, Dual<T> const& b) { return Dual<T>(a) op b; }
FORMULAS_WITH_NUMBER(+)
FORMULAS_WITH_NUMBER(-)
FORMULAS_WITH_NUMBER(*)
FORMULAS_WITH_NUMBER(/)
FORMULAS_WITH_NUMBER(<)
FORMULAS_WITH_NUMBER(>)
#undef FORMULAS_WITH_NUMBER

using std::atan, std::cos, std::cosh, std::erf, std::exp, std::log, std::sin, std::sqrt, std::tanh;
template <class T> Dual<T> sin(Dual<T> const& x) {
    return {sin(x.value), x.derivative * cos(x.value)};
}
template <class T> Dual<T> cos(Dual<T> const& x) {
    return {cos(x.value), -x.derivative * sin(x.value)};
}
template <class T> Dual<T> exp(Dual<T> const& x) {
    return {exp(x.value), x.derivative * exp(x.value)};
}
template <class T> Dual<T> log(Dual<T> const& x) { return {log(x.value), x.derivative / x.value}; }
template <class T> Dual<T> sqrt(Dual<T> const& x) {
    return {sqrt(x.value), x.derivative / (T(2.) * sqrt(x.value))};
}
template <class T> Dual<T> tanh(Dual<T> const& x) {
    return {tanh(x.value), x.derivative * (T(1.) - tanh(x.value) * tanh(x.value))};
}
template <class T> Dual<T> atan(Dual<T> const& x) {
    return {atan(x.value), x.derivative / (T(1.) + x.value * x.value)};
}
template <class T> Dual<T> erf(Dual<T> const& x) {
    return {erf(x.value),
        x.derivative * T(1.12837916709551257389615890312154517L) * exp(-x.value * x.value)};
}
template <class T> Dual<T> square(Dual<T> const& x) { return x * x; }
template <class T> Dual<T> sigmoid(Dual<T> const& x) { return 1. / (1. + exp(-x)); }
template <class T> Dual<T> softplus(Dual<T> const& x) { return log(1. + exp(x)); }
template <class T> Dual<T> abs(Dual<T> const& x) { return number_of(x) < 0 ? -x : x; }
template <class T> Dual<T> relu(Dual<T> const& x) { return number_of(x) > 0 ? x : Dual<T>(0.); }
template <class T> Dual<T> maximum(Dual<T> const& a, Dual<T> const& b) { return a < b ? b : a; }
template <class T> Dual<T> minimum(Dual<T> const& a, Dual<T> const& b) { return a < b ? a : b; }
template <class T> Dual<T> where(bool c, Dual<T> const& a, Dual<T> const& b) { return c ? a : b; }

class Random {
public:
    explicit Random(unsigned seed) : numbers_(seed) {}
    std::size_t below(std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(numbers_);
    }
    double number() { return std::uniform_real_distribution<double>(-1.5, 1.5)(numbers_); }

private:
    std::mt19937_64 numbers_;
};

/// An argument of the lambda: its leaf, the view of it that the lambda gets, and its elements in
/// row-major order.
template <class T> struct Argument {
    xg::Tensor<T> leaf, view;
    std::vector<Real> numbers, direction;
};

template <class T> xg::Tensor<T> random_tensor(Random& random, xg::Shape const& shape) {
    xg::Tensor<T> const t = xg::Tensor<T>::empty(shape);
    for (std::size_t i = 0; i < t.numel(); ++i)
        const_cast<T*>(t.data())[i] = static_cast<T>(random.number());
    return t;
}
template <class T> std::vector<Real> numbers_of(xg::Tensor<T> const& t) {
    auto const row_major = t.detach().clone();
    return {row_major.data(), row_major.data() + row_major.numel()};
}

/// A tensor that broadcasts to the space: whole, without some of its first axes, or with extents of
/// 1; as it is, transposed, or every second one.
template <class T> Argument<T> random_argument(Random& random, xg::Shape const& space) {
    xg::Shape shape;
    for (std::size_t d = random.below(3) ? 0 : random.below(space.size() + 1); d < space.size();
         ++d)
        shape.push_back(random.below(4) ? space[d] : 1);
    Argument<T> argument;
    auto const layout = random.below(4);
    if (shape.size() >= 2 && layout == 0) {
        xg::Shape swapped = shape;
        std::swap(swapped[0], swapped[swapped.size() - 1]);
        argument.leaf = random_tensor<T>(random, swapped);
        argument.leaf.requires_grad_();
        argument.view = argument.leaf.transpose(0, -1);
    } else if (!shape.empty() && layout == 1) {
        xg::Shape longer = shape;
        longer[0] *= 2;
        argument.leaf = random_tensor<T>(random, longer);
        argument.leaf.requires_grad_();
        argument.view =
            argument.leaf(xt::range(0, static_cast<std::ptrdiff_t>(longer[0]), 2), xt::ellipsis());
    } else {
        argument.leaf = random_tensor<T>(random, shape);
        argument.leaf.requires_grad_();
        argument.view = argument.leaf;
    }
    argument.numbers = numbers_of(argument.view);
    argument.direction = numbers_of(random_tensor<T>(random, shape));
    return argument;
}

/// Where an element of the space is found in an argument of this shape.
inline std::size_t position(std::size_t element, xg::Shape const& space, xg::Shape const& shape) {
    std::size_t at = 0, step = 1;
    for (std::size_t d = space.size(); d-- > 0;) {
        std::size_t const index = element % space[d];
        element /= space[d];
        std::size_t const missing = space.size() - shape.size();
        if (d < missing) continue;
        auto const extent = shape[d - missing];
        if (extent != 1) at += index * step;
        step *= extent;
    }
    return at;
}

inline std::string difference(std::string const& what, std::vector<Real> const& got,
    std::vector<Real> const& wanted, Real tolerance) {
    Real scale = 1;
    for (auto const x : wanted) scale = std::max(scale, std::abs(x));
    if (got.size() != wanted.size())
        return what + ": " + std::to_string(got.size()) + " elements for " +
               std::to_string(wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::abs(got[i] - wanted[i]) <= tolerance * scale))
            return what + " at " + std::to_string(i) + ": " + std::to_string(got[i]) + " for " +
                   std::to_string(wanted[i]);
    return "";
}

template <class T, std::size_t count, class F> std::string check_once(F const& f, Random& random) {
    static constexpr std::size_t extents[] = {1, 2, 3, 4, 5, 7, 8, 17, 33};
    xg::Shape space;
    for (std::size_t d = 0, dims = random.below(4); d < dims; ++d)
        space.push_back(extents[random.below(std::size(extents))]);
    if (!space.empty() && random.below(4) == 0)
        space.back() = 250 + random.below(60); // longer than a tile
    if (!space.empty() && random.below(12) == 0) space[0] = 0;
    std::vector<Argument<T>> x;
    for (std::size_t k = 0; k < count; ++k) x.push_back(random_argument<T>(random, space));
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> std::string {
        xg::Tensor<T> const y = f(x[I].view...);
        auto const weights_tensor = random_tensor<T>(random, y.shape());
        auto const weights = numbers_of(weights_tensor);
        std::vector<xg::Tensor<T>> const leaves{x[I].view...};
        auto const first =
            xg::grad(sum(y * weights_tensor), leaves, {.create_graph = true, .allow_unused = true});
        xg::Tensor<T> product(T(0));
        for (std::size_t k = 0; k < count; ++k) {
            auto const along = xg::Tensor<T>::empty(x[k].view.shape());
            for (std::size_t i = 0; i < along.numel(); ++i)
                const_cast<T*>(along.data())[i] = static_cast<T>(x[k].direction[i]);
            if (first[k].defined()) product = product + sum(first[k] * along);
        }
        auto second = std::vector<xg::Tensor<T>>(count);
        if (product.requires_grad()) second = xg::grad(product, leaves, {.allow_unused = true});

        // The reference: for each argument a pass with it as the inner variable, and the direction
        // outside.
        std::vector<Real> values(y.numel());
        std::vector<std::vector<Real>> wanted_first, wanted_second;
        for (std::size_t k = 0; k < count; ++k) {
            wanted_first.emplace_back(x[k].numbers.size());
            wanted_second.emplace_back(x[k].numbers.size());
            for (std::size_t e = 0; e < values.size(); ++e) {
                auto const argument = [&](std::size_t n) {
                    auto const at = position(e, y.shape(), x[n].view.shape());
                    return Dual<Dual<Real>>(Dual<Real>(x[n].numbers[at], x[n].direction[at]),
                        Dual<Real>(n == k ? 1. : 0.));
                };
                Dual<Dual<Real>> const r = f(argument(I)...);
                values[e] = r.value.value;
                auto const at = position(e, y.shape(), x[k].view.shape());
                wanted_first[k][at] += weights[e] * r.derivative.value;
                wanted_second[k][at] += weights[e] * r.derivative.derivative;
            }
        }
        Real const tolerance = std::is_same_v<T, float> ? 2e-4L : 1e-11L;
        auto text = difference("value", numbers_of(y), values, tolerance);
        for (std::size_t k = 0; k < count && text.empty(); ++k) {
            auto const of = " for argument " + std::to_string(k);
            auto const got = [&](xg::Tensor<T> const& g) {
                return g.defined() ? numbers_of(g) : std::vector<Real>(x[k].numbers.size());
            };
            text = difference("gradient" + of, got(first[k]), wanted_first[k], tolerance);
            if (text.empty())
                text = difference("Hessian-vector product" + of, got(second[k]), wanted_second[k],
                    tolerance * 10);
        }
        if (text.empty()) return text;
        text += ", shapes";
        for (auto const& a : x) {
            text += " [";
            for (auto const n : a.view.shape()) text += std::to_string(n) + ' ';
            text += "]";
        }
        return text;
    }(std::make_index_sequence<count>());
}

template <std::size_t count, class F> void check(char const* formula, unsigned seed, F const& f) {
    Random random(seed);
    for (int trial = 0; trial < 12; ++trial) {
        INFO(formula, ", trial ", trial);
        CHECK(check_once<double, count>(f, random) == "");
        if (trial % 3 == 0) CHECK(check_once<float, count>(f, random) == "");
    }
}

} // namespace formulas
