// Derivatives of map() for each pair and triple of operands, by every transform: beside the same
// function written with tensors, and beside differences of the derivative of one order less.
#include <xgrad/higher_order.hpp>
#include <xgrad/map.hpp>
#include <xgrad/sparse.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

template <class T> using Loss = std::function<D(xg::Tensor<T> const&)>;

D real_part(D const& x) { return x; }
D real_part(Z const& z) { return real(z) + square(imag(z)); }
/// The weighted sum of what `call` gives for the rows of one tensor, which are its operands.
template <class T, std::size_t operands, class Call> Loss<T> loss(Call const& call) {
    return [call](xg::Tensor<T> const& u) {
        auto const y = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return real_part(call(xg::Tensor<T>(u(static_cast<std::ptrdiff_t>(I)))...));
        }(std::make_index_sequence<operands>{});
        return D(sum((xg::arange<double>(static_cast<double>(y.numel())) * 0.3 + 1.) * y));
    };
}
/// The derivative in a direction, by differences.
template <class F, class T>
xg::Tensor<T> slope(F const& f, xg::Tensor<T> const& u, xg::Tensor<T> const& v) {
    double const h = 1e-3;
    return (8. * (f(u + h * v) - f(u - h * v)) - (f(u + 2. * h * v) - f(u - 2. * h * v))) /
           (12. * h);
}
template <class T>
xg::Tensor<T> product(Loss<T> const& f, xg::Tensor<T> const& u, xg::Tensor<T> const& v) {
    return xg::hvp(f, u, v).second;
}
/// The gradient of v^T H(u) v.
template <class T>
xg::Tensor<T> third(Loss<T> const& f, xg::Tensor<T> const& u, xg::Tensor<T> const& v) {
    auto const x = u.detach().clone().requires_grad_();
    auto const along = [&](xg::Tensor<T> const& t) { return D(sum(real(conj(v) * t))); };
    auto const g = xg::grad(f(x), {x}, {.create_graph = true})[0].template as<T>();
    auto const h = xg::grad(along(g), {x}, {.create_graph = true})[0].template as<T>();
    return xg::grad(along(h), {x})[0].template as<T>();
}

/// Directions that move each operand alone, and each two and three of them at once.
template <class T> std::vector<xg::Tensor<T>> directions(xg::Tensor<T> const& u) {
    std::vector<xg::Tensor<T>> all;
    for (std::size_t moved = 1; moved < std::size_t{1} << u.shape(0); ++moved) {
        xg::Tensor<T> v = xg::zeros_like(u);
        for (std::size_t i = 0; i < v.numel(); ++i) {
            double const t = 0.4 + 0.3 * static_cast<double>(i);
            if (moved >> i / u.shape(1) & 1) {
                if constexpr (std::same_as<T, double>) v.mutable_data()[i] = std::cos(t);
                else v.mutable_data()[i] = std::polar(1., t);
            }
        }
        all.push_back(v);
    }
    return all;
}
/// `mapped` is a loss made with map(), `expected` the same with tensors.
template <class T>
void agree(
    Loss<T> const& mapped, Loss<T> const& expected, xg::Tensor<T> const& u, bool has_third = true) {
    CHECK(difference(mapped(u), expected(u), 1e-13) == "");
    CHECK(difference(xg::grad(mapped)(u), xg::grad(expected)(u), 1e-12) == "");
    for (auto const& v : directions(u)) {
        auto const second = product(mapped, u, v);
        CHECK(difference(second, product(expected, u, v), 1e-11) == "");
        CHECK(difference(second, slope(xg::grad(mapped), u, v), 1e-8) == "");
        CHECK(difference(xg::vhp(mapped, u, v).second, second, 1e-11) == "");
        if (!has_third) continue;
        auto const along = [&](xg::Tensor<T> const& t) { return product(mapped, t, v); };
        auto const got = third(mapped, u, v);
        CHECK(difference(got, third(expected, u, v), 1e-10) == "");
        CHECK(difference(got, slope(along, u, v), 1e-7) == "");
        if constexpr (std::same_as<T, double>) {
            auto const forward = [&](auto const& f) {
                return [f, &v](D const& t) { return xg::jvp(f, t, v).second; };
            };
            CHECK(difference(xg::jvp(along, u, v).second, got, 1e-10) == "");
            CHECK(difference(xg::vjp(along, u, v).second, got, 1e-10) == "");
            CHECK(difference(xg::grad(forward(forward(mapped)))(u), got, 1e-10) == "");
            CHECK(difference(forward(forward(xg::grad(mapped)))(u), got, 1e-10) == "");
            CHECK(forward(forward(forward(mapped)))(u).item() ==
                  doctest::Approx(sum(got * v).item()).epsilon(1e-9));
        }
    }
    if constexpr (std::same_as<T, double>) {
        D const h = xg::hessian(mapped, u);
        CHECK(difference(h, xg::hessian(expected, u), 1e-11) == "");
        auto const n = static_cast<std::ptrdiff_t>(u.numel());
        CHECK(
            difference(xg::sparse_hessian(mapped, u).to_dense(), reshape(h, {n, n}), 1e-11) == "");
    }
}
template <class T, std::size_t operands, class F, class... Tag>
void check(char const* name, F const& f, xg::Tensor<T> const& u, Tag... tag) {
    CAPTURE(name);
    agree(loss<T, operands>([&](auto const&... x) { return xg::map(tag..., f, x...); }),
        loss<T, operands>([&](auto const&... x) { return f(x...) * 1.; }), u);
}
auto const monomial = [](auto s, auto v) { return s * s * v * v * v; };
D const two({{1., 0.7, 1.5, 2., 0.4}, {3., 0.5, 1.2, 0.8, 2.2}});
D const three({{1., 0.7, 1.5}, {3., 0.5, 1.2}, {0.6, 1.1, 0.9}});
Z const complex_two({{1. + 0.5i, -0.3 + 1.i}, {0.2 - 1.i, 0.7 + 0.4i}});

} // namespace

TEST_CASE("functions of two real numbers") {
    check<double, 2>("monomial", monomial, two);
    check<double, 2>("monomial, by number", monomial, two, xg::with_branches);
    check<double, 2>(
        "root", [](auto s, auto v) { return exp(s / v) + sqrt(s + v); }, two);
}
TEST_CASE("functions of three real numbers") {
    check<double, 3>(
        "three", [](auto a, auto b, auto c) { return a * b * c * c + sin(a * b) / c; }, three);
}
TEST_CASE("functions of complex numbers") {
    using C = std::complex<double>;
    auto const power = [](auto z, auto w) { return exp(z) * w * w; };
    check<C, 2>("holomorphic", power, complex_two);
    check<C, 2>("holomorphic, as is said", power, complex_two, xg::holomorphic);
    check<C, 2>(
        "both parts", [](auto z, auto w) { return conj(z) * z * conj(w) * w * w; }, complex_two);
    check<C, 2>(
        "real", [](auto z, auto w) { return abs2(z) * real(w) + imag(z * w * w); }, complex_two);
}
TEST_CASE("functions with two results") {
    auto const both = [](auto s, auto v) { return std::pair(s * s * v * v * v, exp(s / v)); };
    auto const expected = loss<double, 2>(
        [&](auto const& s, auto const& v) { return s * s * v * v * v * exp(s / v); });
    agree(loss<double, 2>([&](auto const& s, auto const& v) {
        auto const [y, z] = xg::map(both, s, v);
        return y * z;
    }),
        expected, two, false);
    agree(loss<double, 2>([&](auto const& s, auto const& v) {
        auto const [y, z] = xg::map(xg::with_branches, both, s, v);
        return y * z;
    }),
        expected, two, false);
    auto const of_complex = [](auto z, auto w) { return std::pair(abs2(z) * w, conj(w) * z * z); };
    agree(loss<std::complex<double>, 2>([&](auto const& z, auto const& w) {
        auto const [y, u] = xg::map(of_complex, z, w);
        return Z(y * u);
    }),
        loss<std::complex<double>, 2>(
            [&](auto const& z, auto const& w) { return Z(abs2(z) * w * conj(w) * z * z); }),
        complex_two, false);
}
TEST_CASE("a third derivative of two results is an error in each mode") {
    auto const f = [](D const& p) {
        auto const [x, y] =
            xg::map([](auto s, auto t) { return std::pair(s * cos(t), s * sin(t) * t); }, p, p);
        return D(pow(sum(x * y + x), 3));
    };
    auto const second = [&](D const& p) { return D(xg::hvp(f, p, p).second); };
    D const p{0.28, -0.08};
    auto const* const told =
        "map: of a function of several results there are derivatives up to the second";
    CHECK_THROWS_WITH_AS(xg::jvp(second, p, p), told, xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::vjp(second, p, p), told, xg::GraphError);
}

TEST_CASE("closed forms of mixed derivatives") {
    D const s = D({1., 2.}).requires_grad_(), v = D({3., 0.5}).requires_grad_();
    auto const along = [](D const& y, D const& x, bool again = true) {
        return xg::grad(sum(y), {x}, {.create_graph = again})[0].as<double>();
    };
    D const y = xg::map(monomial, s, v), ys = along(y, s), yv = along(y, v);
    CHECK(difference(along(ys, v), 6. * s * v * v) == "");
    CHECK(difference(along(yv, s), 6. * s * v * v) == "");
    CHECK(difference(along(along(ys, v), v, false), 12. * s * v) == "");
    CHECK(difference(along(along(yv, v), s, false), 12. * s * v) == "");
    CHECK(difference(along(along(ys, s), v, false), 6. * v * v) == "");
    CHECK(xg::hessian([&](D const& a) { return sum(xg::map(monomial, a, a)); }, D(1.5)).item() ==
          doctest::Approx(67.5)); // 20 a^3
    D const rows({{1., 3.}, {2., 0.5}});
    CHECK(difference(
              xg::hessian(
                  [&](D const& a) { return D(xg::map(monomial, a(xg::all, 0), a(xg::all, 1))); },
                  rows, {.rows = true}),
              D({{{54., 54.}, {54., 18.}}, {{0.25, 3.}, {3., 12.}}})) == "");
}
