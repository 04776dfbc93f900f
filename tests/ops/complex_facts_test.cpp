// Gradients of complex functions in numbers: those of PyTorch, which are twice the derivative with
// respect to conj(z).
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

constexpr cd z0(1, 2);
constexpr double r0 = 3;

/// Gradients for all arguments, each a single number, with seed 1.
template <class... T, class F> std::vector<cd> gradients(F f, T... at) {
    Point const x{Values{xg::dtype_of<T>, {}, {at}}...};
    auto const erased = function_of<T...>(f);
    auto const y = value_of(erased, x);
    std::vector<cd> all;
    for (auto const& g : first_order(erased, x, {y.dtype, y.shape, {1}}))
        all.push_back(g.numbers[0]);
    return all;
}

} // namespace

TEST_CASE("the gradient of |z|^2 is 2z: dL/dx + i dL/dy, not dL/dconj(z)") {
    CHECK(holds(gradients([](auto z) { return abs2(z); }, z0), {{2, 4}}));
    CHECK(holds(gradients([](auto z) { return real(z * conj(z)); }, z0), {{2, 4}}));
    CHECK(holds(gradients([](auto z) { return z * conj(z); }, z0), {{2, 4}}));
}

TEST_CASE("parts, modulus, argument and direction of a complex number have PyTorch's gradients") {
    CHECK(holds(gradients([](auto z) { return abs(z); }, z0), {{.447213595, .894427191}}, 1e-9));
    CHECK(holds(gradients([](auto z) { return angle(z); }, z0), {{-.4, .2}}));
    CHECK(holds(gradients([](auto z) { return conj(z); }, z0), {1}));
    CHECK(holds(gradients([](auto z) { return real(z); }, z0), {1}));
    CHECK(holds(gradients([](auto z) { return imag(z); }, z0), {{0, 1}}));
    CHECK(holds(gradients([](auto z) { return sgn(z); }, z0), {{.357770876, -.178885438}}, 1e-9));
}

TEST_CASE("holomorphic functions have the conjugate of their derivative for a gradient") {
    CHECK(holds(gradients([](auto z) { return exp(z); }, z0), {{-1.131204, -2.471727}}, 1e-6));
    CHECK(holds(gradients([](auto z) { return log(z); }, z0), {{.2, .4}}));
    CHECK(holds(gradients([](auto z) { return sqrt(z); }, z0), {{.284432, .175789}}, 1e-6));
    CHECK(holds(gradients([](auto z) { return z * z; }, z0), {{2, -4}}));
    CHECK(holds(gradients([](auto z) { return tanh(z); }, z0), {{-.302002, -.568103}}, 1e-6));
    CHECK(holds(gradients([](auto z) { return 1 / z; }, z0), {{.12, -.16}}));
    CHECK(holds(gradients([](auto z) { return reciprocal(z); }, z0), {{.12, -.16}}));
}

TEST_CASE("a real factor, divisor, base or exponent beside a complex number gets a real gradient") {
    CHECK(holds(gradients([](auto r, auto z) { return r * z; }, r0, z0), {1, 3}));
    CHECK(holds(gradients([](auto r, auto z) { return r / z; }, r0, z0), {.2, {.36, -.48}}));
    CHECK(holds(gradients([](auto r, auto z) { return z / r; }, r0, z0), {-1 / 9., 1 / 3.}));
    CHECK(holds(gradients([](auto r, auto z) { return pow(r, z); }, r0, z0),
        {-2.206508, {-1.932201, -2.670045}}, 1e-6));
    CHECK(holds(
        gradients([](auto r, auto z) { return pow(z, r); }, r0, z0), {-6.637611, {-9, -12}}, 1e-6));
    CHECK(holds(gradients([](auto r) { return r * cd(0, 2); }, r0), {0}));
    CHECK(holds(gradients([](auto r) { return r * cd(2, 3); }, r0), {2}));
}

TEST_CASE("complex numbers made of real ones send the matching parts of the gradient back") {
    CHECK(holds(gradients([](auto r, auto phi) { return polar(r, phi); }, 3., .5),
        {.877583, -1.438277}, 1e-6));
    CHECK(holds(gradients([](auto a, auto b) { return complex(a, b); }, 1.5, -2.), {1, 0}));
}

TEST_CASE("modulus, direction and argument of 0 are 0, and so are their gradients") {
    auto const value = [](auto f) {
        return value_of(function_of<cd>(f), {{xg::DType::complex128, {}, {0}}}).numbers;
    };
    CHECK(holds(value([](auto z) { return abs(z); }), {0}));
    CHECK(holds(value([](auto z) { return sgn(z); }), {0}));
    CHECK(holds(value([](auto z) { return angle(z); }), {0}));
    CHECK(holds(gradients([](auto z) { return abs(z); }, cd(0)), {0}));
    CHECK(holds(gradients([](auto z) { return sgn(z); }, cd(0)), {0}));
    CHECK(holds(gradients([](auto z) { return angle(z); }, cd(0)), {0}));
    CHECK(holds(gradients([](auto z) { return abs2(z); }, cd(0)), {0}));
}

TEST_CASE("modulus, direction and argument survive very small and very large numbers") {
    for (double const s : {1e-170, 1e170}) {
        CHECK(holds(gradients([](auto z) { return abs(z); }, cd(3, 4) * s), {{.6, .8}}));
        CHECK(holds(value_of(function_of<cd>([](auto z) { return abs(z); }),
                        {{xg::DType::complex128, {}, {cd(3, 4) * s}}})
                        .numbers,
            {5 * s}));
        CHECK(holds(
            gradients([](auto z) { return angle(z) * 1.; }, cd(3, 4) * s), {cd(-.16, .12) / s}));
    }
}

TEST_CASE("a negative real base to a complex exponent has the right gradients") {
    auto const g = gradients([](auto r, auto z) { return pow(r, z); }, -2., cd(1, 1));
    cd const y = std::pow(cd(-2), cd(1, 1));
    CHECK(holds(g, {std::real(std::conj(cd(1, 1) * std::pow(cd(-2), cd(0, 1)))),
                       std::conj(y * std::log(cd(-2)))}));
}

TEST_CASE("powers of the complex 0 are those of the real 0") {
    auto const power = function_of<cd, cd>([](auto a, auto b) { return pow(a, b); });
    Point const at{
        {xg::DType::complex128, {3}, {0, 0, 0}}, {xg::DType::complex128, {3}, {0, 2, cd(1, 1)}}};
    CHECK(holds(value_of(power, at).numbers, {1, 0, 0}, 0));
    auto const g = first_order(power, at, {xg::DType::complex128, {3}, {1, 1, 1}});
    CHECK(g[0].numbers[0] == cd(0));
    CHECK(holds(g[1].numbers, {0, 0, 0}, 0));
}

TEST_CASE("complex sigmoid and expm1 know where exp overflows") {
    using xg::Tensor;
    Tensor<cd> const z({cd(-800, 1), cd(800, 1), cd(-30, 2), cd(-800, 0)}), y = sigmoid(z);
    CHECK(y(0).item() == cd(0));
    CHECK(y(1).item() == cd(1));
    CHECK(std::abs(y(2).item() - std::exp(cd(-30, 2))) < 1e-25);
    CHECK(y(3).item() == cd(0));
    Tensor<cd> const e = expm1(Tensor<cd>({cd(1000, 0), cd(50, 1), cd(1e-9, 1e-9), cd(0)}));
    CHECK(e(0).item() == cd(HUGE_VAL, 0));
    CHECK(std::abs(e(1).item() / std::exp(cd(50, 1)) - 1.) < 1e-14);
    CHECK(std::abs(e(2).item() / cd(1e-9, 1e-9) - 1.) < 1e-8);
    CHECK(e(3).item() == cd(0));
}

TEST_CASE("complex division and modulus do not overflow on the way") {
    auto const value = [](auto f, cd a, cd b) {
        return value_of(function_of<cd, cd>(f),
            {{xg::DType::complex128, {}, {a}}, {xg::DType::complex128, {}, {b}}})
            .numbers;
    };
    auto const quotient = [](auto a, auto b) { return a / b; };
    CHECK(holds(value(quotient, {1e300, 1e300}, {1e300, 1e300}), {1}));
    CHECK(holds(value(quotient, {1e-300, 0}, {1e-300, 1e-300}), {{0.5, -0.5}}));
    CHECK(holds(value(quotient, {4, 2}, {0, 2}), {{1, -2}}));
    CHECK(holds(value(quotient, {4, 2}, {2, 0}), {{2, 1}}));
}
