// The definitions of what values.hpp and derivatives.hpp declare. One file of each test program
// includes this: it instantiates tensors of every scalar type.
#pragma once

#include <sstream>

#include <support/derivatives.hpp>
#include <xgrad/functional/forward_pass.hpp>

namespace support {

std::ostream& operator<<(std::ostream& out, CheckResult const& v) {
    return out << (v ? "as expected" : v.wrong);
}

/// Calls f.operator()<T>() for the scalar type that a dtype stands for.
template <class F> auto with_type(xg::DType dtype, F f) {
    switch (dtype) {
    case xg::DType::boolean:
        return f.template operator()<bool>();
    case xg::DType::int64:
        return f.template operator()<std::int64_t>();
    case xg::DType::float32:
        return f.template operator()<float>();
    case xg::DType::float64:
        return f.template operator()<double>();
    case xg::DType::complex64:
        return f.template operator()<cf>();
    default:
        return f.template operator()<cd>();
    }
}

template <class To, class From> To converted(From v) {
    if constexpr (std::is_same_v<From, cd> && std::is_same_v<To, cf>)
        return {static_cast<float>(v.real()), static_cast<float>(v.imag())};
    else if constexpr (std::is_same_v<From, cf>) return {v.real(), v.imag()};
    else if constexpr (std::is_same_v<From, To>) return v;
    else if constexpr (std::is_same_v<From, cd>) return static_cast<To>(v.real());
    else return {static_cast<double>(v), 0};
}

/// Where each element lies, in row-major order of the indices.
std::vector<std::ptrdiff_t> offsets(xg::Shape const& shape, xg::Strides const& strides) {
    std::vector<std::ptrdiff_t> at{0};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        std::vector<std::ptrdiff_t> next;
        for (auto const start : at)
            for (std::size_t i = 0; i < shape[d]; ++i)
                next.push_back(start + static_cast<std::ptrdiff_t>(i) * strides[d]);
        at = std::move(next);
    }
    return at;
}

Values values(xg::AnyTensor const& t) {
    Values v{t.dtype(), t.shape(), {}};
    with_type(t.dtype(), [&]<class T>() {
        auto const typed = t.as<T>();
        for (auto const at : offsets(t.shape(), t.strides()))
            v.numbers.push_back(converted<cd>(typed.strided_data()[at]));
    });
    return v;
}

/// Writes the elements, and asks for a gradient where the type can have one.
template <class T> xg::AnyTensor filled(xg::Tensor<T> t, Values const& v) {
    auto const to = offsets(v.shape, t.strides());
    T* const out = t.mutable_strided_data();
    for (std::size_t i = 0; i < to.size(); ++i) out[to[i]] = converted<T>(v.numbers[i]);
    if constexpr (xg::Differentiable<T>) t.requires_grad_();
    return t;
}
xg::AnyTensor leaf(Values const& v) {
    return with_type(v.dtype, [&]<class T>() { return filled(xg::zeros<T>(v.shape), v); });
}
xg::AnyTensor strided_leaf(Values const& v) {
    return with_type(v.dtype, [&]<class T>() {
        xg::Shape shape(v.shape.rbegin(), v.shape.rend());
        if (shape.empty()) shape.push_back(1);
        shape.back() = 2 * shape.back() + 1;
        auto const memory = xg::full<T>(shape, T(77));
        return filled(
            v.shape.empty() ? memory(1) : memory(xt::ellipsis(), xg::slice(1, {}, 2)).transpose(),
            v);
    });
}

Values sample(xg::DType dtype, xg::Shape shape, unsigned seed, double from, double to) {
    Random random(seed);
    Values v{dtype, std::move(shape), {}};
    for (std::size_t i = 0, n = xg::numel(v.shape); i < n; ++i)
        v.numbers.push_back(xg::is_complex(dtype) ? random.complex() : cd(random.real(from, to)));
    return v;
}

double distance(double got, double want) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : inf;
    if (got == want) return 0;
    if (std::isinf(got) || std::isinf(want)) return inf;
    return std::abs(got - want);
}
double distance(cd got, cd want) {
    auto const size = std::abs(want);
    return std::hypot(distance(got.real(), want.real()), distance(got.imag(), want.imag())) /
           (size > 1 && std::isfinite(size) ? size : 1);
}

std::string text(cd z) {
    std::ostringstream s;
    s.precision(12);
    s << z.real();
    if (z.imag() != 0) s << (std::signbit(z.imag()) ? "" : "+") << z.imag() << "i";
    return s.str();
}
std::string text(xg::Shape const& shape) {
    std::string s = "[";
    for (auto const n : shape) s += (s.size() > 1 ? ", " : "") + std::to_string(n);
    return s + "]";
}

Wanted::Wanted(xg::AnyTensor const& t) : numbers(values(t).numbers) {}

CheckResult holds(std::vector<cd> const& got, Wanted const& wanted, double tolerance) {
    auto const& want = wanted.numbers;
    if (got.size() != want.size())
        return {std::to_string(got.size()) + " elements, expected " + std::to_string(want.size())};
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(distance(got[i], want[i]) <= tolerance))
            return {"element " + std::to_string(i) + " is " + text(got[i]) + ", expected " +
                    text(want[i])};
    return {};
}
CheckResult holds(xg::AnyTensor const& got, Wanted const& want, double tolerance) {
    if (!got.defined()) return {"an undefined tensor"};
    return holds(values(got).numbers, want, tolerance);
}

CheckResult has(std::string const& text, std::initializer_list<std::string_view> parts) {
    for (auto const part : parts)
        if (text.find(part) == std::string::npos)
            return {"no \"" + std::string(part) + "\" in: " + text};
    return {};
}

Tensors leaves(Point const& at, bool strided = false) {
    Tensors x;
    for (auto const& v : at) x.push_back(strided ? strided_leaf(v) : leaf(v));
    return x;
}

/// Re <a, b>: the real function of b whose gradient is a.
double inner(Values const& a, Values const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.numbers.size(); ++i)
        sum += (std::conj(a.numbers[i]) * b.numbers[i]).real();
    return sum;
}

/// The values of a gradient, zeros where there is none; it must have its tensor's type and shape.
Values gradient_values(xg::AnyTensor const& g, Values const& x) {
    if (!g.defined()) return {x.dtype, x.shape, std::vector<cd>(x.numbers.size())};
    if (g.dtype() != x.dtype)
        throw std::logic_error("a gradient has type " + std::string(name(g.dtype())) +
                               ", its tensor " + std::string(name(x.dtype)));
    if (g.shape() != x.shape)
        throw std::logic_error(
            "a gradient has shape " + text(g.shape()) + ", its tensor " + text(x.shape));
    return values(g);
}

/// One gradient for each argument, from those of the differentiable ones.
Point gradients_of(Point const& at, Tensors const& gradients) {
    Point all;
    std::size_t k = 0;
    for (auto const& x : at)
        all.push_back(gradient_values(
            xg::is_differentiable(x.dtype) && !gradients.empty() ? gradients[k++] : xg::AnyTensor(),
            x));
    return all;
}
Tensors differentiable(Tensors x) {
    std::erase_if(x, [](auto const& t) { return !xg::is_differentiable(t.dtype()); });
    return x;
}

Values value_of(Function const& f, Point const& at) { return values(f(leaves(at))); }

Point first_order(
    Function const& f, Point const& at, Values const& w, bool create_graph, bool strided) {
    auto const x = leaves(at, strided);
    auto const y = f(x);
    if (!y.requires_grad()) return gradients_of(at, {});
    return gradients_of(at, xg::grad({y}, differentiable(x),
                                {.gradients = {strided ? strided_leaf(w) : leaf(w)},
                                    .create_graph = create_graph,
                                    .allow_unused = true}));
}

CheckResult is_the_same_when_large(Function const& f, Point const& at) {
    static constexpr std::size_t n = (std::size_t{1} << 15) + 3;
    auto const repeated = [](Values v) {
        auto const few = v.numbers;
        v.shape = {n};
        v.numbers.resize(n);
        for (std::size_t i = 0; i < n; ++i) v.numbers[i] = few[i % few.size()];
        return v;
    };
    Point large;
    for (auto const& v : at) large.push_back(repeated(v));
    // A batch of pow() with a number that its polynomial does not take is computed number by
    // number.
    auto const same = [&](cd a, cd b, xg::DType type) {
        bool const is_single = type == xg::DType::float32 || type == xg::DType::complex64;
        double const rounding = is_single ? 1e-6 : 2e-15;
        auto const close = [](double p, double q, double by) {
            return p == q || (std::isnan(p) && std::isnan(q)) || std::abs(p - q) <= by;
        };
        return close(a.real(), b.real(), rounding * std::abs(b)) &&
               close(a.imag(), b.imag(), rounding * std::abs(b));
    };
    auto const compared = [&](char const* what, Values const& some,
                              Values const& few) -> CheckResult {
        if (some.dtype != few.dtype || !(some.shape == xg::Shape{n}))
            return {std::string(what) + ": type or shape"};
        for (std::size_t i = 0; i < n; ++i) {
            cd const a = some.numbers[i], b = few.numbers[i % few.numbers.size()];
            if (same(a, b, few.dtype)) continue;
            std::ostringstream text;
            text << what << ": element " << i << " of " << n << " is " << a << " and not " << b;
            return {text.str()};
        }
        return {};
    };
    Values w = value_of(f, at);
    if (auto const found = compared("value", value_of(f, large), w); !found) return found;
    if (!xg::is_differentiable(w.dtype)) return {};
    w.numbers.assign(w.numbers.size(), 1.);
    auto const few = first_order(f, at, w), some = first_order(f, large, repeated(w));
    for (std::size_t k = 0; k < at.size(); ++k)
        if (auto const found = compared("gradient", some[k], few[k]); !found) return found;
    return {};
}

Point second_order(
    Function const& f, Point const& at, Values const& w, Point const& v, bool constant_seed) {
    auto const x = leaves(at);
    auto const y = f(x);
    auto inputs = differentiable(x);
    Point with_w = at;
    with_w.push_back(w);
    if (!y.requires_grad()) return gradients_of(with_w, {});
    auto const seed = leaf(w), constant = with_type(w.dtype, [&]<class T>() -> xg::AnyTensor {
        return seed.as<T>().detach();
    });
    auto const g = xg::grad({y}, inputs,
        {.gradients = {constant_seed ? constant : seed},
            .create_graph = true,
            .allow_unused = true});
    Tensors outputs, contracted;
    for (std::size_t i = 0, k = 0; i < x.size(); ++i) {
        if (!xg::is_differentiable(x[i].dtype())) continue;
        if (g[k].defined() && g[k].requires_grad()) {
            outputs.push_back(g[k]);
            contracted.push_back(leaf(v[i]));
        }
        ++k;
    }
    inputs.push_back(seed);
    return gradients_of(
        with_w, outputs.empty()
                    ? Tensors()
                    : xg::grad(outputs, inputs, {.gradients = contracted, .allow_unused = true}));
}

/// Tangents of what is computed from x, where those of x are v.
Tensors push(Tensors const& x, Tensors const& outputs, Point const& v, bool record) {
    Tensors tangents;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (xg::is_differentiable(x[i].dtype())) tangents.push_back(leaf(v[i]));
    xg::AutoGradMode const mode(record);
    Tensors results(outputs.size());
    xg::detail::ForwardPass(differentiable(x), outputs).run(tangents, results);
    return results;
}

Values forward_mode(Function const& f, Point const& at, Point const& v, bool record) {
    auto const x = leaves(at);
    auto const y = f(x);
    auto const tangent = push(x, {y}, v, record)[0];
    if (tangent.defined()) return values(tangent);
    auto zeros = values(y);
    std::ranges::fill(zeros.numbers, 0);
    return zeros;
}

Point forward_over_reverse(Function const& f, Point const& at, Values const& w, Point const& v) {
    auto const x = leaves(at);
    auto const y = f(x);
    if (!y.requires_grad()) return gradients_of(at, {});
    auto const inputs = differentiable(x);
    auto g =
        xg::grad({y}, inputs, {.gradients = {leaf(w)}, .create_graph = true, .allow_unused = true});
    Tensors outputs;
    for (auto const& each : g)
        if (each.defined()) outputs.push_back(each);
    auto pushed = push(x, outputs, v, false);
    for (std::size_t i = 0, k = 0; i < g.size(); ++i)
        if (g[i].defined()) g[i] = pushed[k++];
    return gradients_of(at, g);
}

/// The derivative of f along v, with an error of fourth order.
std::vector<cd> difference_along(Function const& f, Point const& at, Point const& v) {
    double const h = 1.0 / 1024;
    auto const value = [&](double step) {
        Point x = at;
        for (std::size_t k = 0; k < x.size(); ++k)
            for (std::size_t i = 0; xg::is_differentiable(x[k].dtype) && i < x[k].numbers.size();
                 ++i)
                x[k].numbers[i] += step * v[k].numbers[i];
        return value_of(f, x).numbers;
    };
    auto const a = value(h), b = value(-h), c = value(2 * h), d = value(-2 * h);
    std::vector<cd> all(a.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = (8. * (a[i] - b[i]) - (c[i] - d[i])) / (12 * h);
    return all;
}

/// The gradient of a real function for one number of its arguments, with an error of fourth order.
cd central_difference(std::function<double(Point const&)> const& phi, Point at,
    std::size_t argument, std::size_t element) {
    double const h = 1.0 / 1024;
    cd& z = at[argument].numbers[element];
    cd const keep = z;
    auto const along = [&](cd direction) {
        auto const value = [&](double step) {
            z = keep + step * direction;
            return phi(at);
        };
        double const d = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
        z = keep;
        return d;
    };
    double const re = along(1);
    return xg::is_complex(at[argument].dtype) ? cd(re, along(cd(0, 1))) : cd(re);
}

CheckResult agree_with_differences(std::string const& what, Point const& got,
    std::function<double(Point const&)> const& phi, Point const& at, double tolerance) {
    for (std::size_t k = 0; k < at.size(); ++k) {
        if (!xg::is_differentiable(at[k].dtype)) continue;
        for (std::size_t i = 0; i < at[k].numbers.size(); ++i) {
            auto const want = central_difference(phi, at, k, i), g = got[k].numbers[i];
            if (!(distance(g, want) <= tolerance))
                return {what + " for argument " + std::to_string(k) + ", element " +
                        std::to_string(i) + " is " + text(g) + ", by central differences " +
                        text(want)};
        }
    }
    return {};
}

CheckResult agree(std::string const& what, Point const& got, Point const& want, double tolerance) {
    for (std::size_t k = 0; k < want.size(); ++k)
        if (auto const v = holds(got[k].numbers, want[k].numbers, tolerance); !v)
            return {what + " for argument " + std::to_string(k) + ": " + v.wrong};
    return {};
}

Directions directions(Function const& f, Point const& at) {
    auto const y = f(leaves(at));
    Directions d{sample(y.dtype(), y.shape(), 91, -1, 1), {}};
    for (std::size_t k = 0; k < at.size(); ++k)
        d.v.push_back(sample(at[k].dtype, at[k].shape, 92 + static_cast<unsigned>(k), -1, 1));
    return d;
}

CheckResult differentiates(Function const& f, Point const& at, double tolerance) {
    auto const both = directions(f, at);
    auto const& w = both.w;
    auto const& v = both.v;
    auto const fused = first_order(f, at, w), second = second_order(f, at, w, v);
    Point with_w = at;
    with_w.push_back(w);
    auto const value = [&](Point const& x) { return inner(w, value_of(f, x)); };
    auto const gradient = [&](Point const& x) {
        auto const g = first_order(f, Point(x.begin(), x.end() - 1), x.back());
        double sum = 0;
        for (std::size_t k = 0; k < g.size(); ++k) sum += inner(v[k], g[k]);
        return sum;
    };
    if (auto const wrong = agree_with_differences("the gradient", fused, value, at, tolerance);
        !wrong)
        return wrong;
    if (auto const wrong =
            agree("the recorded gradient", first_order(f, at, w, true), fused, 1e-11);
        !wrong)
        return wrong;
    if (auto const wrong = agree(
            "the gradient of a strided operand", first_order(f, at, w, false, true), fused, 1e-11);
        !wrong)
        return wrong;
    if (auto const wrong =
            agree_with_differences("the second derivative", second, gradient, with_w, tolerance);
        !wrong)
        return wrong;
    auto const tangent = forward_mode(f, at, v, false).numbers;
    if (auto const wrong = holds(tangent, difference_along(f, at, v), tolerance); !wrong)
        return {"the tangent: " + wrong.wrong};
    if (auto const wrong = holds(forward_mode(f, at, v, true).numbers, tangent, 1e-11); !wrong)
        return {"the recorded tangent: " + wrong.wrong};
    auto without_w = second;
    without_w.back().numbers.assign(w.numbers.size(), 0);
    if (auto const wrong = agree("forward over reverse", forward_over_reverse(f, at, w, v),
            Point(second.begin(), second.end() - 1), 1e-11);
        !wrong)
        return wrong;
    return agree("the second derivative for a constant seed", second_order(f, at, w, v, true),
        without_w, 1e-11);
}

CheckResult compare(Function const& f, Point const& at, Function const& other,
    Point const& other_at, double tolerance) {
    auto const [w, v] = directions(f, at);
    auto const [other_w, other_v] = directions(other, other_at);
    if (w.shape != other_w.shape)
        return {"the value has shape " + text(w.shape) + ", expected " + text(other_w.shape)};
    if (auto const wrong =
            holds(value_of(f, at).numbers, value_of(other, other_at).numbers, tolerance);
        !wrong)
        return {"the value: " + wrong.wrong};
    auto const want = first_order(other, other_at, other_w);
    if (auto const wrong = agree("the gradient", first_order(f, at, w), want, tolerance); !wrong)
        return wrong;
    if (auto const wrong =
            agree("the recorded gradient", first_order(f, at, w, true), want, tolerance);
        !wrong)
        return wrong;
    return agree("the second derivative", second_order(f, at, w, v),
        second_order(other, other_at, other_w, other_v), tolerance);
}
CheckResult agrees_with(
    Function const& f, Function const& other, Point const& at, double tolerance) {
    return compare(f, at, other, at, tolerance);
}
CheckResult agrees_with_double(
    Function const& f, Function const& f_of_double, Point const& at, double tolerance) {
    Point wide = at;
    for (auto& v : wide)
        v.dtype = v.dtype == xg::DType::float32     ? xg::DType::float64
                  : v.dtype == xg::DType::complex64 ? xg::DType::complex128
                                                    : v.dtype;
    return compare(f, at, f_of_double, wide, tolerance);
}

} // namespace support
