// Functions of numbers: map() and sum_over(). Their alternative is a loop over plain numbers.
#include "program.hpp"

#include <xgrad/map.hpp>
#include <xgrad/sum_over.hpp>

namespace composed {

namespace {

template <class T, class... X> Value looped(auto const& f, X const&... x) {
    xg::Shape shape;
    auto const join = [&](xg::Shape const& other) {
        xg::Shape both(std::max(shape.size(), other.size()), 1);
        for (auto const* each : {static_cast<xg::Shape const*>(&shape), &other})
            for (std::size_t i = 1; i <= each->size(); ++i)
                both[both.size() - i] = std::max(both[both.size() - i], (*each)[each->size() - i]);
        shape = both;
    };
    (join(x.shape()), ...);
    auto const all =
        std::tuple(xg::eval(xg::broadcast_to(x.detach(), shape)).contiguous().clone()...);
    auto y = T::empty(shape);
    for (std::size_t i = 0; i < xg::numel(shape); ++i)
        y.mutable_data()[i] = std::apply([&](auto const&... t) { return f(t.data()[i]...); }, all);
    return y;
}

/// The value of a sum over elements; its gradient and its Hessian must be those of that value, or
/// else the result is another one.
template <class Sum> Value checked_sum(double value, D const& x, Sum const& sum) {
    auto energy = sum(x.detach());
    auto const f = [&](Values const& at) -> Value { return sum(std::get<D>(at[0])).value(); };
    auto const gradient = [&](Values const& at) { return vjp_of(f, at, D(1.)).second[0]; };
    auto const h = energy.hessian().to_dense();
    D const g = reshape(energy.gradient(), {-1}),
            at = reshape(std::get<D>(gradient({x.detach()})), {-1});
    if (!(largest(xg::eval(g - at)) < 1e-9)) value += 1;
    for (std::size_t k = 0; k < x.numel(); ++k) {
        D const row = reshape(
            std::get<D>(jvp_of(gradient, {x.detach()}, {unit_of({false, x.shape()}, k)}).second),
            {-1});
        if (!(largest(xg::eval(row - h(static_cast<std::ptrdiff_t>(k)))) < 1e-9)) value += 10;
    }
    if (!(largest(xg::eval(
              sum(D(x.detach() * 1.1)).value() - energy.at(D(x.detach() * 1.1)).value())) < 1e-9))
        value += 100;
    return D(value);
}

} // namespace

// clang-format off
// The alternative of the line before.
#define PLAIN(...) all.all.back()->is_plain = true; all.all.back()->alternative = [](Call const& c) -> Value { return __VA_ARGS__; };
#define MAP1(tag, slots, ...) { REAL(slots, xg::map(tag __VA_ARGS__, a)); PLAIN(looped<D>(__VA_ARGS__, std::get<D>(c.operands[0]))) }
#define MAP2(tag, slots, ...) { REAL2(slots, slots, xg::map(tag __VA_ARGS__, a, b)); PLAIN(looped<D>(__VA_ARGS__, std::get<D>(c.operands[0]), std::get<D>(c.operands[1]))) }
#define MAP3(tag, slots, ...) { REAL3(slots, slots, slots, xg::map(tag __VA_ARGS__, a, b, c)); PLAIN(looped<D>(__VA_ARGS__, std::get<D>(c.operands[0]), std::get<D>(c.operands[1]), std::get<D>(c.operands[2]))) }
#define MAPC(tag, slots, ...) { COMPLEX(slots, xg::map(tag __VA_ARGS__, a)); PLAIN(looped<Z>(__VA_ARGS__, std::get<Z>(c.operands[0]))) }
#define MAPCC(tag, slots, ...) { COMPLEX2(slots, slots, xg::map(tag __VA_ARGS__, a, b)); PLAIN(looped<Z>(__VA_ARGS__, std::get<Z>(c.operands[0]), std::get<Z>(c.operands[1]))) }
#define MAPRC(tag, slots, ...) { MIXED(slots, slots, xg::map(tag __VA_ARGS__, a, b)); PLAIN(looped<Z>(__VA_ARGS__, std::get<D>(c.operands[0]), std::get<Z>(c.operands[1]))) }
#define NOTHING
#define BRANCHES xg::with_branches,
#define HOLOMORPHIC xg::holomorphic,

namespace { I const pairs({{0, 1}, {1, 2}, {3, 0}, {2, 2}}), triples({{0, 1, 2}, {2, 0, 0}}); }

void add_numbers(Catalogue& all) {
    std::string group = "map";
    using std::cos, std::exp, std::sin, std::sqrt, std::tanh, std::conj;
    MAP1(NOTHING, "*", [](auto s) { return s * s * s + sin(s); })
    MAP2(NOTHING, "*", [](auto s, auto t) { return s * s * t * t * t; })
    MAP3(NOTHING, "*", [](auto s, auto t, auto u) { return s * t * u + exp(-s * s) * u; })
    MAP1(BRANCHES, "*", [](auto s) { if (s < 0.2) return 0.5 * s * s; return s * s * s - s; })
    MAP2(BRANCHES, "*", [](auto s, auto t) { auto r = s; for (int i = 0; i < 3; ++i) r = r * cos(t) + s; return s > t ? r : r * t; })
    MAPC(NOTHING, "*", [](auto z) { return z * z * conj(z) + 2. * z; })
    MAPC(HOLOMORPHIC, "* unit", [](auto z) { return z * z * z + exp(z); })
    MAPCC(NOTHING, "*", [](auto z, auto w) { return z * conj(w) * w; })
    MAPRC(NOTHING, "*", [](auto s, auto z) { return s * z * z + conj(z) * s * s; })
    REAL2_T("*", "*", [&] { auto const [x, y] = xg::map([](auto s, auto t) { return std::pair(s * cos(t), s * sin(t) * t); }, a, b); return xg::eval(x * y + x); }());
    PLAIN([&] { auto const f = [](double s, double t) { return s * cos(t) * s * sin(t) * t + s * cos(t); }; return looped<D>(f, std::get<D>(c.operands[0]), std::get<D>(c.operands[1])); }())

    group = "sum over elements";
    REAL_T("4", xg::sum_over<2>([](auto const& p) { auto const d = p[1] - p[0]; return exp(-d * d) + p[0] * d; }, a, I({{0, 1}, {1, 2}, {3, 0}, {2, 2}})).value());
    PLAIN([&] {
        auto const& x = std::get<D>(c.operands[0]);
        double total = 0;
        for (std::size_t e = 0; e < 4; ++e) { auto const p = x.data()[pairs.data()[2 * e]], d = x.data()[pairs.data()[2 * e + 1]] - p; total += exp(-d * d) + p * d; }
        return checked_sum(total, x, [](D const& t) { return xg::sum_over<2>([](auto const& p) { auto const d = p[1] - p[0]; return exp(-d * d) + p[0] * d; }, t, pairs); });
    }())
    REAL_T("3,2", xg::sum_over<3, 2>(xg::with_branches, [](auto const& p, auto const& k) { auto const v = p[0][0] * p[1][1] - p[2][0] * sin(p[0][1]); return v < 0. ? k() * v * v : v * v * v; }, a, I({{0, 1, 2}, {2, 0, 0}}), D({1.5, 0.5})).value());
    PLAIN([&] {
        auto const f = [](auto const& p, auto const& k) { auto const v = p[0][0] * p[1][1] - p[2][0] * sin(p[0][1]); return v < 0. ? k() * v * v : v * v * v; };
        auto const& x = std::get<D>(c.operands[0]);
        double total = 0;
        for (std::size_t e = 0; e < 2; ++e) {
            std::array<std::array<double, 2>, 3> p{};
            for (std::size_t m = 0; m < 3; ++m) for (std::size_t d = 0; d < 2; ++d) p[m][d] = x.data()[2 * static_cast<std::size_t>(triples.data()[3 * e + m]) + d];
            total += f(p, [&] { return e ? 0.5 : 1.5; });
        }
        return checked_sum(total, x, [&](D const& t) { return xg::sum_over<3, 2>(xg::with_branches, f, t, triples, D({1.5, 0.5})); });
    }())
}
// clang-format on

} // namespace composed
