// Complex functions at zeros of either sign, infinities, NaN and on both sides of branch cuts: as
// in glibc, whose values are those of C99, Annex G. Quotients follow Annex G, too; products do not
// look for infinities, as in NumPy.
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

namespace {

template <class P> using Z = std::complex<P>;

template <class P> constexpr P infinity = std::numeric_limits<P>::infinity();
template <class P> constexpr P no_number = std::numeric_limits<P>::quiet_NaN();

/// Values of the last lane, alone in its batch and beside ordinary numbers.
template <class P, class F, class... More> std::array<Z<P>, 2> values(F f, Z<P> z, More... more) {
    using B = xg::simd::ComplexBatch<P>;
    std::array<Z<P>, 2> w;
    for (std::size_t alone = 0; alone < 2; ++alone) {
        auto const batch_of = [alone](Z<P> v) {
            Z<P> lanes[B::width];
            for (Z<P>& lane : lanes) lane = alone ? v : Z<P>(P(0.7), P(0.3));
            lanes[B::width - 1] = v;
            return B::load(lanes);
        };
        Z<P> lanes[B::width];
        B(f(batch_of(z), batch_of(more)...)).store(lanes);
        w[alone] = lanes[B::width - 1];
    }
    return w;
}

bool is_infinite(auto z) { return std::isinf(z.real()) || std::isinf(z.imag()); }
bool is_nan(auto z) { return std::isnan(z.real()) && std::isnan(z.imag()); }

template <class P> bool same_number(P got, P want) {
    if (std::isnan(want)) return std::isnan(got);
    return got == want && std::signbit(got) == std::signbit(want);
}
template <class P> bool same_part(P got, P want, P size) {
    if (same_number(got, want)) return true;
    return std::isfinite(want) && want != 0 &&
           std::abs(got - want) <= 4 * std::numeric_limits<P>::epsilon() * size;
}
template <class P> bool same(Z<P> got, Z<P> want) {
    P const size = std::abs(want);
    return same_part(got.real(), want.real(), size) && same_part(got.imag(), want.imag(), size);
}
/// The same parts, whatever their signs.
template <class P> bool same_but_for_signs(Z<P> got, Z<P> want) {
    auto const size = [](P v) { return std::abs(v); };
    return same_number(size(got.real()), size(want.real())) &&
           same_number(size(got.imag()), size(want.imag()));
}

} // namespace

#if defined(__GLIBC__) && defined(__GLIBCXX__) // others have their own complex functions
namespace {

template <class P> std::vector<P> special_parts() {
    using limits = std::numeric_limits<P>;
    return {0, P(-0.), 1, -1, P(0.5), 2, -2, 100, -1000, infinity<P>, -infinity<P>, no_number<P>,
        limits::max(), -limits::max(), limits::min(), -limits::min()};
}
/// Where signs are open, that of a zero or an infinity beside NaN is not compared.
template <class P, class F, class G>
void check(F f, G of_library, bool signs_beside_nan_are_open = false) {
    for (P const re : special_parts<P>())
        for (P const im : special_parts<P>()) {
            Z<P> const z(re, im), want = of_library(z);
            bool const is_open =
                signs_beside_nan_are_open && (std::isnan(want.real()) || std::isnan(want.imag()));
            for (Z<P> const got : values<P>(f, z)) {
                INFO(z.real() << " " << z.imag() << ": " << got.real() << " " << got.imag()
                              << ", expected " << want.real() << " " << want.imag());
                CHECK((same(got, want) || (is_open && same_but_for_signs(got, want))));
            }
        }
}

} // namespace

#    define XGRAD_CHECK(f)                                                                         \
        SUBCASE(#f) {                                                                              \
            check<T>([](auto z) { return f(z); }, [](Z<T> z) { return Z<T>(std::f(z)); });         \
        }
TEST_CASE_TEMPLATE("complex functions have glibc's values at zeros, infinities, NaN and on both "
                   "sides of branch cuts, alone and beside ordinary numbers",
    T, float, double) {
    XGRAD_CHECK(abs);
    XGRAD_CHECK(exp);
    XGRAD_CHECK(log);
    XGRAD_CHECK(log10);
    XGRAD_CHECK(sqrt);
    SUBCASE("sin") { // C leaves the sign of an infinite part beside NaN open
        check<T>([](auto z) { return sin(z); }, [](Z<T> z) { return std::sin(z); }, true);
    }
    XGRAD_CHECK(cos);
    XGRAD_CHECK(tan);
    XGRAD_CHECK(sinh);
    XGRAD_CHECK(cosh);
    XGRAD_CHECK(tanh);
    XGRAD_CHECK(asin);
    XGRAD_CHECK(acos);
    XGRAD_CHECK(atan);
    XGRAD_CHECK(asinh);
    XGRAD_CHECK(acosh);
    XGRAD_CHECK(atanh);
    SUBCASE("angle") {
        check<T>([](auto z) { return angle(z); }, [](Z<T> z) { return Z<T>(std::arg(z)); });
    }
    SUBCASE("log2") {
        check<T>([](auto z) { return log2(z); },
            [](Z<T> z) { return std::log(z) / Z<T>(std::numbers::ln2_v<T>).real(); });
    }
    SUBCASE("log1p") {
        check<T>([](auto z) { return log1p(z); },
            [](Z<T> z) {
                bool const is_small = std::abs(z.real()) < T(0.1) && std::abs(z.imag()) < T(0.1);
                // Both parts are here 0 or the smallest numbers.
                return is_small ? Z<T>(std::log1p(z.real()) + T(0), z.imag()) : std::log(T(1) + z);
            });
    }
    SUBCASE("powers of infinities and NaN") {
        for (T const re : {infinity<T>, -infinity<T>, no_number<T>, T(1)})
            for (T const im : {infinity<T>, no_number<T>, T(2)})
                for (Z<T> const other : {Z<T>(1, 1), Z<T>(-2, T(0.5)), Z<T>(0, 3)}) {
                    auto const power = [](auto a, auto b) { return pow(a, b); };
                    for (Z<T> const got : values<T>(power, Z<T>(re, im), other))
                        if (re != 1 || im != 2) CHECK(same(got, std::pow(Z<T>(re, im), other)));
                    for (Z<T> const got : values<T>(power, other, Z<T>(re, im)))
                        if (re != 1 || im != 2) CHECK(same(got, std::pow(other, Z<T>(re, im))));
                }
    }
}
#endif

TEST_CASE_TEMPLATE("roots, logarithms and powers of numbers on the negative real axis lie on the "
                   "side that the sign of the zero says",
    T, float, double) {
    T const pi = std::numbers::pi_v<T>;
    for (T const sign : {T(1), T(-1)}) {
        Z<T> const z(-4, std::copysign(T(0), sign));
        for (Z<T> const w : values<T>([](auto v) { return sqrt(v); }, z))
            CHECK(same(w, Z<T>(0, 2 * sign)));
        for (Z<T> const w : values<T>([](auto v) { return log(v); }, z))
            CHECK(same(w, Z<T>(std::log(T(4)), pi * sign)));
        for (Z<T> const w : values<T>([](auto v) { return log1p(v - 1); }, z))
            CHECK(same(w, Z<T>(std::log(T(4)), pi * sign)));
        for (Z<T> const w : values<T>([](auto v) { return pow(v, 0.5); }, z))
            CHECK(same(w, Z<T>(0, 2 * sign)));
        for (Z<T> const w : values<T>([](auto v, auto p) { return pow(v, p); }, z, Z<T>(0, 1)))
            CHECK(std::abs(w - std::polar(std::exp(-pi * sign), std::log(T(4)))) <=
                  20 * std::numeric_limits<T>::epsilon() * std::exp(-pi * sign));
        for (Z<T> const w : values<T>([](auto v) { return angle(v); }, z))
            CHECK(w.real() == pi * sign);
    }
}

TEST_CASE_TEMPLATE("e^z - 1, log(1 + z), the sigmoid and directions of zeros, infinities and NaN",
    T, float, double) {
    T const inf = infinity<T>;
    auto const check = [](auto f, Z<T> z, Z<T> want) {
        for (Z<T> const w : values<T>(f, z)) {
            INFO(z.real() << " " << z.imag() << ": " << w.real() << " " << w.imag() << ", expected "
                          << want.real() << " " << want.imag());
            CHECK(same(w, want));
        }
    };
    auto const expm1_of = [](auto z) { return expm1(z); };
    check(expm1_of, {T(-0.), 0}, {T(-0.), 0});
    check(expm1_of, {0, T(-0.)}, {0, T(-0.)});
    check(expm1_of, {-inf, 1}, {-1, 0});
    check(expm1_of, {-inf, inf}, {-1, 0});
    check(expm1_of, {inf, 0}, {inf, 0});
    check(expm1_of, {inf, -1}, {inf, -inf});
    check(expm1_of, {no_number<T>, 0}, {no_number<T>, 0});
    check(expm1_of, {0, inf}, {no_number<T>, no_number<T>});

    auto const log1p_of = [](auto z) { return log1p(z); };
    check(log1p_of, {0, T(-0.)}, {0, T(-0.)});
    check(log1p_of, {-1, 0}, {-inf, 0});
    check(log1p_of, {-1, T(-0.)}, {-inf, T(-0.)});
    check(log1p_of, {inf, 1}, {inf, 0});
    check(log1p_of, {no_number<T>, inf}, {inf, no_number<T>});
    check(log1p_of, {inf, no_number<T>}, {inf, no_number<T>});
    check(log1p_of, {no_number<T>, 1}, {no_number<T>, no_number<T>});

    auto const sigmoid_of = [](auto z) { return sigmoid(z); };
    check(sigmoid_of, {0, 0}, {T(0.5), 0});
    check(sigmoid_of, {0, T(-0.)}, {T(0.5), T(-0.)});
    for (Z<T> const w : values<T>(sigmoid_of, {-inf, 1})) CHECK(w == Z<T>(0));
    for (Z<T> const w : values<T>(sigmoid_of, {inf, 1})) CHECK(w == Z<T>(1));
    for (Z<T> const w : values<T>(sigmoid_of, {1, inf})) CHECK(is_nan(w));
    for (Z<T> const w : values<T>(sigmoid_of, {no_number<T>, 1})) CHECK(is_nan(w));

    auto const sgn_of = [](auto z) { return sgn(z); };
    T const most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::denorm_min(),
            half_root = std::sqrt(T(0.5));
    check(sgn_of, {0, T(-0.)}, {0, 0});
    check(sgn_of, {most, -most}, {half_root, -half_root});
    check(sgn_of, {-least, least}, {-half_root, half_root});
    check(sgn_of, {0, least}, {0, 1});
    for (Z<T> const w : values<T>(sgn_of, {no_number<T>, 1})) CHECK(is_nan(w));
    // With a modulus that overflows or is subnormal, too, as gradients of abs() have it.
    auto const with_modulus = [](auto z) { return sgn(z, abs(z)); };
    check(with_modulus, {0, 0}, {0, 0});
    check(with_modulus, {most, -most}, {half_root, -half_root});
    check(with_modulus, {-least, least}, {-half_root, half_root});
}

TEST_CASE_TEMPLATE("powers of the complex zero are 0, 1 or NaN, beside ordinary numbers as well", T,
    float, double) {
    auto const power = [](auto a, auto b) { return pow(a, b); };
    for (Z<T> const zero : {Z<T>(0, 0), Z<T>(T(-0.), 0), Z<T>(0, T(-0.))}) {
        for (Z<T> const w : values<T>(power, zero, Z<T>(2, 1))) CHECK(w == Z<T>(0));
        for (Z<T> const w : values<T>(power, zero, Z<T>(0, 0))) CHECK(w == Z<T>(1));
        for (Z<T> const w : values<T>(power, zero, Z<T>(-1, 0))) CHECK(is_nan(w));
        for (Z<T> const w : values<T>(power, zero, Z<T>(0, 1))) CHECK(is_nan(w));
    }
}

TEST_CASE_TEMPLATE(
    "quotients of zeros, infinities and NaN are those of Annex G of C99", T, float, double) {
    T const inf = infinity<T>;
    auto const quotient = [](auto a, auto b) { return a / b; };
    std::vector<Z<T>> const finite{{1, 2}, {-3, T(0.5)}, {0, 1}, {2, 0}, {1, T(1e-30)}},
        infinite{{inf, 1}, {-inf, inf}, {2, -inf}, {inf, no_number<T>}, {no_number<T>, -inf}};
    Z<T> const zero(0, 0), none(no_number<T>, no_number<T>);
    for (Z<T> const z : finite) {
        for (Z<T> const w : values<T>(quotient, z, zero)) CHECK(is_infinite(w));
        for (Z<T> const w : values<T>(quotient, zero, z)) CHECK(w == zero);
        for (Z<T> const w : values<T>(quotient, z, none)) CHECK(is_nan(w));
        for (Z<T> const w : values<T>(quotient, none, z)) CHECK(is_nan(w));
        for (Z<T> const other : infinite) {
            INFO(z.real() << " " << z.imag() << ", " << other.real() << " " << other.imag());
            for (Z<T> const w : values<T>(quotient, z, other)) CHECK(w == zero);
            for (Z<T> const w : values<T>(quotient, other, z)) CHECK(is_infinite(w));
        }
    }
    for (Z<T> const z : infinite) {
        for (Z<T> const w : values<T>(quotient, z, zero)) CHECK(is_infinite(w));
        for (Z<T> const w : values<T>(quotient, zero, z)) CHECK(w == zero);
        for (Z<T> const other : infinite)
            for (Z<T> const w : values<T>(quotient, z, other)) CHECK(is_nan(w));
    }
    for (Z<T> const w : values<T>(quotient, zero, zero)) CHECK(is_nan(w));
    for (Z<T> const w : values<T>(quotient, Z<T>(1, -2), zero)) CHECK(same(w, Z<T>(inf, -inf)));
    for (Z<T> const w : values<T>(quotient, Z<T>(1, -2), -zero)) CHECK(same(w, Z<T>(-inf, inf)));
    for (Z<T> const w : values<T>([](auto z) { return 1 / z; }, zero)) CHECK(is_infinite(w));
}
