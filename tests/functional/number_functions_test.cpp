// Each function that <xgrad/dual.hpp> lists: values beside those of C++, derivatives beside
// differences; and all of them in map() and in sum_over(), on batches and number by number.
#include <xgrad/sum_over.hpp>

#include "tensor/compare.hpp"

namespace {

/// A result as a real number: a mask chooses, and both parts of a complex number count.
template <class Y, class T> auto real_of(Y const& y, T const& x) {
    using K = typename xg::detail::RuleValue<Y>::kind;
    if constexpr (std::same_as<K, xg::B>) return where(y, x, 2. * x);
    else if constexpr (std::same_as<K, xg::C>) return real(y) + 2. * imag(y);
    else return y;
}

// All with x = 0.3: acosh() takes numbers from 1 on. There are no complex numbers in sum_over().
#define ONE(name)                                                                                  \
    result += weight++ * real_of(name(std::string_view(#name) == "acosh" ? x + 1. : x), x);
#define TWO(name)                                                                                  \
    if constexpr (std::string_view(#name) != "polar" && std::string_view(#name) != "complex")      \
        result += weight++ * name(x, y);
#define THREE(name) result += weight++ * real_of(name(x, y, z), x);
auto const all_of_c = [](auto x, auto y, auto z) {
    decltype(x) result = 0;
    double weight = 1;
    XGRAD_NUMBER_FUNCTIONS(ONE, TWO, THREE)
    return result;
};
auto const all_of_xgrad = [](auto x, auto y, auto z) {
    decltype(x) result = 0;
    double weight = 1;
    XGRAD_OTHER_NUMBER_FUNCTIONS(ONE, TWO, THREE)
    return result;
};

using N = xg::Dual<double, 3>;
using Twice = xg::Dual<N, 3>;

template <class F> Twice nested(F const& f, double const* x) {
    auto const variable = [&](std::size_t i) { return Twice::variable(N::variable(x[i], i), i); };
    return f(variable(0), variable(1), variable(2));
}
template <class F> void check(char const* name, F const& function) {
    CAPTURE(name);
    auto const f = [&](auto const& x, auto const& y, auto const& z) {
        return real_of(function(x, y, z), x);
    };
    bool const has_bound = std::string_view("acos asin atanh").find(name) != std::string_view::npos;
    double const x[] = {has_bound ? 0.3 : 1.3, 0.4, 1.7}, h = 1e-5;
    Twice const y = nested(f, x);
    for (std::size_t i = 0; i < 3; ++i) {
        auto const moved = [&](double by) {
            N const a(x[0] + (i == 0) * by), b(x[1] + (i == 1) * by), c(x[2] + (i == 2) * by);
            return N(f(a, b, c)).value;
        };
        double const slope = (moved(h) - moved(-h)) / (2 * h),
                     curvature = (moved(10 * h) - 2 * moved(0) + moved(-10 * h)) / (100 * h * h);
        CHECK(std::abs(y.value.tangent[i] - slope) < 1e-7 * (1 + std::abs(slope)));
        CHECK(std::abs(y.tangent[i].value - slope) < 1e-7 * (1 + std::abs(slope)));
        CHECK(std::abs(y.tangent[i].tangent[i] - curvature) < 1e-4 * (1 + std::abs(curvature)));
    }
}
/// The value on dual numbers beside that on numbers.
template <class F, class... X> void same_value(char const* name, F const& f, X... x) {
    CAPTURE(name);
    std::complex<double> const got = xg::val(f(xg::Dual<double>(x)...)), expected = f(x...);
    CHECK(std::abs(got - expected) <= 2e-15 * std::max(1., std::abs(expected)));
}
template <class F> void check_in_loops(F const& f) {
    double const x[] = {0.3, 0.4, 1.7};
    Twice const y = nested(f, x);
    D gradient = xg::zeros<double>({3}), hessian = xg::zeros<double>({3, 3});
    for (std::size_t i = 0; i < 3; ++i) {
        gradient.mutable_data()[i] = y.value.tangent[i];
        for (std::size_t j = 0; j < 3; ++j)
            hessian.mutable_data()[3 * i + j] = y.tangent[i].tangent[j];
    }
    D const p({x[0], x[1], x[2]});
    auto const in_map = [&](auto... tag) {
        D const t = p.detach().clone().requires_grad_();
        D const z = xg::map(tag..., f, t(0), t(1), t(2));
        CHECK(z.item() == doctest::Approx(y.value.value).epsilon(1e-13));
        z.backward();
        CHECK(difference(t.grad(), gradient, 1e-12) == "");
    };
    in_map();
    in_map(xg::with_branches);
    auto const in_sum = [&](auto... tag) {
        auto e = xg::sum_over<3>(
            tag..., [&](auto const& q) { return f(q[0], q[1], q[2]); }, p,
            xg::Tensor<std::int64_t>({{0, 1, 2}}));
        CHECK(difference(e.hessian().to_dense(), hessian, 1e-11) == "");
        CHECK(difference(e.gradient(), gradient, 1e-12) == "");
    };
    in_sum();
    in_sum(xg::with_branches);
}

} // namespace

#define CHECK_ONE(name) check(#name, [](auto x, auto, auto) { return xg::name(x); });
#define CHECK_TWO(name) check(#name, [](auto x, auto y, auto) { return xg::name(x, y); });
#define CHECK_THREE(name) check(#name, [](auto x, auto y, auto z) { return xg::name(x, y, z); });
TEST_CASE("derivatives of each function"){XGRAD_NUMBER_FUNCTIONS(CHECK_ONE, CHECK_TWO, CHECK_THREE)
        XGRAD_OTHER_NUMBER_FUNCTIONS(CHECK_ONE, CHECK_TWO, CHECK_THREE)}

#define VALUE_ONE(name)                                                                            \
    same_value(                                                                                    \
        #name, [](auto x) { return std::name(x); },                                                \
        std::isnan(std::abs(1. * std::name(1.3))) ? .3 : 1.3);
#define VALUE_TWO(name)                                                                            \
    same_value(                                                                                    \
        #name, [](auto x, auto y) { return std::name(x, y); }, 1.3, .4);
#define VALUE_THREE(name)                                                                          \
    same_value(                                                                                    \
        #name, [](auto x, auto y, auto z) { return std::name(x, y, z); }, 1.3, .4, 1.7);
TEST_CASE("values are those of the functions of C++, also by their names"){
    XGRAD_NUMBER_FUNCTIONS(VALUE_ONE, VALUE_TWO, VALUE_THREE)}

TEST_CASE("all of them in map() and in sum_over()") {
    check_in_loops(all_of_c);
    check_in_loops(all_of_xgrad);
}

TEST_CASE("signbit() tells -0 from 0") {
    D const x({-2., -0., 0., 3.}), expected({1., 1., 0., 0.});
    auto const f = [](auto a) { return where(signbit(a), 1., 0. * a); };
    CHECK(difference(D(xg::map(f, x)), expected, 0) == "");
    CHECK(difference(D(xg::map(xg::with_branches, f, x)), expected, 0) == "");
}
