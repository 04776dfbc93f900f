// Complex functions against the C++ library: in all magnitudes and directions, near the unit
// circle, at zeros of either sign, infinities and NaN, whatever numbers lie beside them in a pack.
#include <doctest/doctest.h>

#include <support/unary_operations.hpp>

using namespace support;

namespace {

using Exact = std::complex<long double>;

struct Reference {
    std::string name;
    Exact (*exact)(Exact);
    cd (*same)(cd);
    double decades; // of the moduli at which it is tried
};
#define REFERENCE(f, decades)                                                                      \
    {                                                                                              \
        #f "(x)", [](Exact z) -> Exact { return std::f(z); },                                      \
            [](cd z) -> cd { return std::f(z); }, decades                                          \
    }
Reference const references[] = {
    REFERENCE(abs, 290),
    REFERENCE(log, 290),
    REFERENCE(sqrt, 290),
    REFERENCE(exp, 2),
    REFERENCE(sin, 2),
    REFERENCE(cos, 2),
    REFERENCE(tan, 2),
    REFERENCE(sinh, 2),
    REFERENCE(cosh, 2),
    REFERENCE(tanh, 2),
};

template <class T> Values apply(std::string const& name, std::vector<cd> const& at) {
    static auto const all = unary_operations<T>();
    auto const& operation =
        *std::find_if(all.begin(), all.end(), [&](auto const& u) { return u.name == name; });
    return value_of(operation.f, {Values{xg::dtype_of<T>, {at.size()}, at}});
}

/// In all directions, some of them nearly along an axis or a diagonal, of any modulus, and some of
/// nearly 1. Zeros are among them.
template <class P> std::vector<cd> all_over(double decades) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<double> unit(-1, 1);
    decades = std::min(decades, double(std::numeric_limits<P>::max_exponent10 - 2));
    auto const tiny = [&] { return std::pow(10., 8 * unit(generator) - 8); };
    std::vector<cd> z;
    for (int i = 0; i < 4000; ++i) {
        double const modulus =
            i % 3 ? std::pow(10., decades * unit(generator)) : 1 + (i % 2 ? tiny() : -tiny());
        double const angle = i % 5
                                 ? std::numbers::pi * unit(generator)
                                 : std::round(4 * unit(generator)) * std::numbers::pi / 4 + tiny();
        z.push_back(i % 97 ? std::complex<P>(std::polar(modulus, angle)) : 0);
    }
    return z;
}

/// Off by so many units of the last place of the modulus at most. What overflows or underflows is
/// not compared.
template <class T> CheckResult is_accurate(Reference const& r, double ulps) {
    using P = typename T::value_type;
    using Limits = std::numeric_limits<P>;
    auto const at = all_over<P>(r.decades);
    auto const got = apply<T>(r.name, at).numbers;
    for (std::size_t i = 0; i < at.size(); ++i) {
        Exact const want = r.exact(Exact(at[i]));
        auto const size = std::abs(want);
        if (size > Limits::max() / 2 || size < Limits::min()) continue;
        if (!(std::abs(Exact(got[i]) - want) <= ulps * Limits::epsilon() * size))
            return {"at " + text(at[i]) + ": " + text(got[i]) + ", expected " + text(cd(want))};
    }
    return {};
}

bool same_number(double got, double want) {
    return std::isnan(want) ? std::isnan(got)
                            : got == want && std::signbit(got) == std::signbit(want);
}
bool same_part(double got, double want, double size) {
    return same_number(got, want) || (want != 0 && std::abs(got - want) <= 1e-15 * size);
}

} // namespace

TEST_CASE("complex functions of double are accurate for all moduli and directions") {
    for (auto const& r : references) {
        INFO(r.name);
        CHECK(is_accurate<cd>(r, 6));
    }
}

TEST_CASE("complex functions of float are accurate for all moduli and directions") {
    for (auto const& r : references) {
        INFO(r.name);
        CHECK(is_accurate<cf>(r, 6));
    }
}

TEST_CASE("complex functions have the C++ library's values at zeros, infinities and NaN, whatever "
          "lies beside them") {
    std::vector<double> const parts{
        0.0, -0.0, 1, -1, 0.5, 1e-320, -1e-200, 1e200, -1e300, inf, -inf, NaN, 690};
    for (auto const& r : references)
        for (cd const beside : {cd(1, 1), cd(0, 1), cd(inf, 1), cd(NaN, NaN)}) {
            std::vector<cd> at;
            for (double const re : parts)
                for (double const im : parts) at.insert(at.end(), {{re, im}, beside, beside});
            auto const got = apply<cd>(r.name, at).numbers;
            for (std::size_t i = 0; i < at.size(); ++i) {
                cd const want = r.same(at[i]);
                INFO(r.name << " at " << text(at[i]) << ": " << text(got[i]) << ", expected "
                            << text(want));
                CHECK((same_part(got[i].real(), want.real(), std::abs(want)) &&
                       same_part(got[i].imag(), want.imag(), std::abs(want))));
            }
        }
}

TEST_CASE("what is negated changes its sign, zeros too") {
    std::vector<cd> const at{{0.0, 1}, {-0.0, 1}, {1, 0.0}, {1, -0.0}, {inf, -inf}, {0.0, 0.0},
        {-0.0, -0.0}, {2, -3}, {0.0, -0.0}};
    auto const negative = apply<cd>("-x", at).numbers, conjugate = apply<cd>("conj(x)", at).numbers;
    for (std::size_t i = 0; i < at.size(); ++i) {
        CHECK((same_number(negative[i].real(), -at[i].real()) &&
               same_number(negative[i].imag(), -at[i].imag())));
        CHECK((same_number(conjugate[i].real(), at[i].real()) &&
               same_number(conjugate[i].imag(), -at[i].imag())));
    }
    std::vector<cd> real;
    for (cd const z : at) real.push_back(z.real());
    auto const opposite = apply<double>("-x", real).numbers;
    for (std::size_t i = 0; i < at.size(); ++i)
        CHECK(same_number(opposite[i].real(), -at[i].real()));
}

TEST_CASE(
    "complex powers: of zeros, and accurate for large exponents of numbers near the unit circle") {
    auto const x =
        leaf_of<cd>({.shape = {5}, .numbers = {0, {0.999, 0.04}, {-1, 1e-9}, 0, {3, -4}}});
    xg::Tensor<cd> const zero = pow(x, 0. * x), some = pow(x, cd(2.5, -0.5)), many = pow(x, 37.);
    for (std::size_t i = 0; i < 5; ++i) {
        cd const z = x.data()[i];
        CHECK(zero.data()[i] == cd(1));
        CHECK(distance(some.data()[i],
                  z == cd(0) ? cd(0) : cd(std::pow(Exact(z), Exact(2.5L, -0.5L)))) < 1e-14);
        CHECK(distance(many.data()[i], z == cd(0) ? cd(0) : cd(std::pow(Exact(z), Exact(37)))) <
              1e-13);
    }
}

TEST_CASE("a power that overflows is infinite and not NaN, for whole exponents, too") {
    auto const is_like = [](double got, double want) {
        return std::isinf(want) ? got == want : got == doctest::Approx(want).epsilon(1e-12);
    };
    std::vector<cd> const at{{1e200, 1e200}, {-1e200, 1e200}, {1e200, 1}, {1e130, -1e130}, {2, 1}};
    auto const x = leaf_of<cd>({.shape = {at.size()}, .numbers = at});
    for (double const p : {2., 3., 4., 5., 6., 7.}) {
        xg::Tensor<cd> const y = pow(x, p);
        for (std::size_t i = 0; i < at.size(); ++i) {
            cd const want = std::pow(at[i], p);
            INFO("pow(" << text(at[i]) << ", " << p << ") = " << text(y.data()[i]));
            CHECK(!(std::isnan(y.data()[i].real()) || std::isnan(y.data()[i].imag())));
            CHECK(std::isinf(std::abs(y.data()[i])) == std::isinf(std::abs(want)));
            if (i == 0 || i == 4) {
                // Products of equal parts, as in (1 + i)^2, are exactly 0 where the library rounds.
                CHECK((is_like(y.data()[i].real(), want.real()) || p == 2 || p == 6));
                CHECK((is_like(y.data()[i].imag(), want.imag()) || p == 4));
            }
        }
    }
    auto const z = leaf_of<cd>({.shape = {2}, .numbers = {{1e200, 1e200}, {2, 1}}});
    xg::Tensor<double>(sum(real(pow(z, 3)))).backward();
    CHECK(distance(z.grad().data()[1], std::conj(3. * cd(2, 1) * cd(2, 1))) < 1e-14);
    auto const f = leaf_of<cf>({.shape = {1}, .numbers = {{1e30, 1e30}}});
    xg::Tensor<cf> const cube = pow(f, 3);
    CHECK(cube.data()[0].real() == -inf);
    CHECK(cube.data()[0].imag() == inf);
}

TEST_CASE(
    "powers of 0 are 0 only for exponents with a positive real part; no gradient is 0 by mistake") {
    using Z = xg::Tensor<cd>;
    auto const is_nan = [](cd v) { return std::isnan(v.real()) || std::isnan(v.imag()); };
    Z const zero({cd(0)}, xg::requires_grad);
    CHECK(Z(pow(zero, Z({cd(2, 1)})))(0).item() == cd(0));
    CHECK(Z(pow(zero, Z({cd(0)})))(0).item() == cd(1));
    for (cd const p : {cd(-1), cd(-2, 1), cd(0, 1)}) CHECK(is_nan(Z(pow(zero, Z({p})))(0).item()));
    CHECK(is_nan(Z(pow(zero, -2.5))(0).item()));
    CHECK(is_nan(xg::grad(sum(real(pow(zero, 0.5))), zero)(0).item()));
    CHECK(is_nan(xg::grad(sum(real(pow(zero, Z({cd(0.5, 1)})))), zero)(0).item()));
}
