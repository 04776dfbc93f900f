// Checks of vmap() against a loop over the examples, with gradients.
#pragma once

#include <doctest/doctest.h>

#include <xgrad/vmap.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using C = xg::Tensor<std::complex<double>>;

namespace vmap_check {

/// All tensors of a result, as one list.
template <class Y> xg::detail::Tensors listed(Y const& y) {
    if constexpr (requires { y.values; }) return {y.values, y.indices};
    else return xg::detail::erased(y);
}
inline void check_same(xg::AnyTensor const& a, xg::AnyTensor const& b) {
    REQUIRE(a.dtype() == b.dtype());
    CHECK(a.shape() == b.shape());
    auto const near = [](auto const& p, auto const& q) {
        return bool(xg::allclose(p, q, 1e-10, 1e-12)) || (p.numel() == 0 && q.numel() == 0);
    };
    if (a.dtype() == xg::DType::float64) CHECK(near(a.as<double>(), b.as<double>()));
    else if (a.dtype() == xg::DType::int64) CHECK(near(a.as<std::int64_t>(), b.as<std::int64_t>()));
    else if (a.dtype() == xg::DType::boolean) CHECK(near(a.as<bool>(), b.as<bool>()));
    else CHECK(near(a.as<std::complex<double>>(), b.as<std::complex<double>>()));
}
/// A weighted sum, so that the gradients of all elements differ.
inline D loss_of(xg::detail::Tensors const& all) {
    D loss(0.);
    for (auto const& y : all) {
        if (y.dtype() == xg::DType::float64) {
            auto const t = y.as<double>();
            loss =
                loss + sum(t * xg::reshape(xg::linspace(0.5, 1.5, t.numel()), xg::Axes(t.shape())));
        } else if (y.dtype() == xg::DType::complex128) {
            auto const t = y.as<std::complex<double>>();
            auto const w = xg::reshape(xg::linspace(0.5, 1.5, t.numel()), xg::Axes(t.shape()));
            loss = loss + sum(real(t) * w) + sum(imag(t) * (2. - w));
        }
    }
    return loss;
}
/// vmap(f)(x...) against f of each example, with the gradients of real and complex arguments.
template <class F, class... X> void check_loop(char const* name, F const& f, X const&... x) {
    INFO(name);
    auto const mapped = listed(xg::vmap(f)(x...));
    std::size_t const n = std::get<0>(std::tie(x...)).shape(0);
    std::vector<xg::detail::Tensors> rows;
    for (std::size_t i = 0; i < n; ++i)
        rows.push_back(listed(f(X(select(x, 0, static_cast<std::ptrdiff_t>(i)))...)));
    xg::detail::Tensors looped;
    for (std::size_t k = 0; k < rows[0].size(); ++k) {
        std::vector<xg::AnyTensor const*> column;
        for (auto const& row : rows) column.push_back(&row[k]);
        looped.push_back(xg::detail::stack_any("loop", column, 0));
    }
    REQUIRE(mapped.size() == looped.size());
    for (std::size_t k = 0; k < mapped.size(); ++k) check_same(mapped[k], looped[k]);
    auto const of = [&]<class T>(T const& t) {
        if constexpr (xg::Differentiable<typename T::scalar>) {
            D const a = loss_of(mapped), b = loss_of(looped);
            CHECK(a.requires_grad() == b.requires_grad());
            if (!a.requires_grad() || !b.requires_grad()) return;
            check_same(xg::grad(a, t,
                           {.retain_graph = true, .allow_unused = true, .materialize_grads = true}),
                xg::grad(
                    b, t, {.retain_graph = true, .allow_unused = true, .materialize_grads = true}));
        }
    };
    (of(x), ...);
}

inline D some(xg::Shape const& shape, double from = 0.2) {
    auto const n = xg::numel(shape);
    return D(
        xg::reshape(sin(xg::linspace(from, from + 7., n) * 3.) + 1.5, xg::Axes(shape)).detach())
        .requires_grad_();
}
inline C complex_numbers(xg::Shape const& shape) {
    return C(xg::complex(some(shape), some(shape, 1.)).detach()).requires_grad_();
}

} // namespace vmap_check
using namespace vmap_check;

#define CHECK_LOOP(expression, ...)                                                                \
    vmap_check::check_loop(                                                                        \
        #expression, [&](auto const& x) { return expression; }, __VA_ARGS__)
#define CHECK_LOOP2(expression, ...)                                                               \
    vmap_check::check_loop(                                                                        \
        #expression, [&](auto const& x, auto const& y) { return expression; }, __VA_ARGS__)
