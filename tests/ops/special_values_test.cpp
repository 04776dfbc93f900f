// Kernels against the C++ library: over the whole range of each function, at infinities, NaN, zeros
// and denormals. The operations are those of the table in support/unary_operations.hpp.
#include <doctest/doctest.h>

#include <support/unary_operations.hpp>

using namespace support;

namespace {

using RealForm = double (*)(double);

struct Reference {
    std::string name;
    RealForm f;
};
Reference const references[] = {
    {"sqrt(x)", [](double x) { return std::sqrt(x); }},
    {"exp(x)", [](double x) { return std::exp(x); }},
    {"expm1(x)", [](double x) { return std::expm1(x); }},
    {"log(x)", [](double x) { return std::log(x); }},
    {"log1p(x)", [](double x) { return std::log1p(x); }},
    {"log2(x)", [](double x) { return std::log2(x); }},
    {"log10(x)", [](double x) { return std::log10(x); }},
    {"sin(x)", [](double x) { return std::sin(x); }},
    {"cos(x)", [](double x) { return std::cos(x); }},
    {"tan(x)", [](double x) { return std::tan(x); }},
    {"asin(x)", [](double x) { return std::asin(x); }},
    {"acos(x)", [](double x) { return std::acos(x); }},
    {"atan(x)", [](double x) { return std::atan(x); }},
    {"sinh(x)", [](double x) { return std::sinh(x); }},
    {"cosh(x)", [](double x) { return std::cosh(x); }},
    {"tanh(x)", [](double x) { return std::tanh(x); }},
    {"asinh(x)", [](double x) { return std::asinh(x); }},
    {"acosh(x)", [](double x) { return std::acosh(x); }},
    {"atanh(x)", [](double x) { return std::atanh(x); }},
    {"abs(x)", [](double x) { return std::abs(x); }},
    {"reciprocal(x)", [](double x) { return 1 / x; }},
    {"square(x)", [](double x) { return x * x; }},
    {"pow(x, 2.5)", [](double x) { return std::pow(x, 2.5); }},
    {"pow(x, 5)", [](double x) { return std::pow(x, 5); }},
    {"floor(x)", [](double x) { return std::floor(x); }},
    {"ceil(x)", [](double x) { return std::ceil(x); }},
    {"trunc(x)", [](double x) { return std::trunc(x); }},
    {"round(x)", [](double x) { return std::nearbyint(x); }},
    {"erfc(x)", [](double x) { return std::erfc(x); }},
    {"lgamma(x)", [](double x) { return std::lgamma(x); }},
};

template <class T> Unary const& operation(std::string const& name) {
    static auto const all = unary_operations<T>();
    return *std::find_if(all.begin(), all.end(), [&](auto const& u) { return u.name == name; });
}

/// Of both signs, over all magnitudes that the type has, and evenly where most functions live.
template <class P> std::vector<cd> range() {
    std::vector<cd> x{0.0, -0.0, inf, -inf, NaN, 1, -1};
    for (double e = std::log10(std::numeric_limits<P>::min()) + 1;
         e < std::log10(std::numeric_limits<P>::max()) - 1; e += 0.37)
        for (double const sign : {1., -1.}) x.push_back(static_cast<P>(sign * std::pow(10., e)));
    for (double v = -12; v <= 12; v += 0.0317) x.push_back(static_cast<P>(v));
    return x;
}

/// Off by `ulps` units in the last place at most; `got` was rounded to P.
template <class P> CheckResult is_near(double x, double got, double want, double ulps) {
    double const rounded = static_cast<P>(want);
    if (std::isnan(rounded) ? std::isnan(got) : got == rounded) return {};
    if (std::isfinite(rounded) &&
        std::abs(got - rounded) <=
            ulps * std::numeric_limits<P>::epsilon() *
                std::max(std::abs(rounded), double(std::numeric_limits<P>::min())))
        return {};
    return {"at " + text(x) + ": " + text(got) + ", expected " + text(rounded)};
}

template <class P> CheckResult matches(Reference const& r, double ulps) {
    Values const at{xg::dtype_of<P>, {range<P>().size()}, range<P>()};
    auto const y = value_of(operation<P>(r.name).f, {at});
    for (std::size_t i = 0; i < at.numbers.size(); ++i)
        if (auto const wrong = is_near<P>(
                at.numbers[i].real(), y.numbers[i].real(), r.f(at.numbers[i].real()), ulps);
            !wrong)
            return wrong;
    return {};
}

} // namespace

TEST_CASE(
    "real functions of double agree with the C++ library over their whole range and at its edges") {
    for (auto const& r : references) {
        INFO(r.name);
        CHECK(matches<double>(r, 8));
    }
}

TEST_CASE(
    "real functions of float agree with the C++ library over their whole range and at its edges") {
    for (auto const& r : references) {
        INFO(r.name);
        CHECK(matches<float>(r, 8));
    }
}

TEST_CASE("expm1 and log1p keep their digits near 0, real and complex") {
    for (double const x : {1e-3, -1e-5, 1e-8, 1e-12, -1e-16}) {
        CHECK(value_of(operation<double>("expm1(x)").f, {{xg::DType::float64, {}, {x}}})
                      .numbers[0]
                      .real() /
                  std::expm1(x) ==
              doctest::Approx(1).epsilon(1e-14));
        CHECK(value_of(operation<double>("log1p(x)").f, {{xg::DType::float64, {}, {x}}})
                      .numbers[0]
                      .real() /
                  std::log1p(x) ==
              doctest::Approx(1).epsilon(1e-14));
        cd const z(x, -2 * x);
        cd const e = z * (1. + z / 2. * (1. + z / 3. * (1. + z / 4. * (1. + z / 5.)))),
                 l = z * (1. - z * (1 / 2. - z * (1 / 3. - z * (1 / 4. - z * (1 / 5. - z / 6.)))));
        CHECK(std::abs(value_of(operation<cd>("expm1(x)").f, {{xg::DType::complex128, {}, {z}}})
                               .numbers[0] /
                           e -
                       1.) < 1e-13);
        CHECK(std::abs(value_of(operation<cd>("log1p(x)").f, {{xg::DType::complex128, {}, {z}}})
                               .numbers[0] /
                           l -
                       1.) < 1e-13);
    }
}

TEST_CASE("gradients of powers are those of the C++ library's powers at zeros, infinities, NaN and "
          "where the power overflows") {
    auto const power = [](double p) {
        return [p](Values const& x) {
            auto const at = leaf_of<double>(x);
            xg::Tensor<double>(sum(pow(at, p))).backward();
            return values(at.grad()).numbers;
        };
    };
    std::vector<cd> const at{
        0.0, -0.0, 1e-200, 1e200, -2, inf, -inf, NaN, 1, 3, 1e-160, 1e160, 0.5};
    for (double const p : {1.6, -1.5, 7., -3., 0.3}) {
        auto const all = power(p)({xg::DType::float64, {at.size()}, at});
        for (std::size_t i = 0; i < at.size(); ++i) {
            INFO("pow(x, " << p << ") at " << text(at[i]));
            double const want = p * std::pow(at[i].real(), p - 1);
            CHECK(is_near<double>(at[i].real(), all[i].real(), want, 8));
            CHECK(is_near<double>(
                at[i].real(), power(p)({xg::DType::float64, {1}, {at[i]}})[0].real(), want, 8));
        }
    }
}

TEST_CASE("complex functions keep the branches of the C++ library on both sides of their cuts") {
    using Name = std::pair<char const*, Form>;
    for (auto const& [name, f] : {Name{"sqrt(x)", [](cd z) { return std::sqrt(z); }},
             Name{"log(x)", [](cd z) { return std::log(z); }},
             Name{"asin(x)", [](cd z) { return std::asin(z); }},
             Name{"acos(x)", [](cd z) { return std::acos(z); }},
             Name{"atan(x)", [](cd z) { return std::atan(z); }},
             Name{"asinh(x)", [](cd z) { return std::asinh(z); }},
             Name{"acosh(x)", [](cd z) { return std::acosh(z); }},
             Name{"atanh(x)", [](cd z) { return std::atanh(z); }},
             Name{"angle(x)", [](cd z) { return cd(std::arg(z)); }}})
        for (cd const z : {cd(-2, 0.0), cd(-2, -0.0), cd(2, 0.0), cd(2, -0.0), cd(0.0, 2),
                 cd(-0.0, 2), cd(0.0, -2), cd(-0.0, -2), cd(0.5, 0.0), cd(0.0, -0.5)}) {
            INFO(std::string(name) << " at " << text(z));
            CHECK(holds(value_of(operation<cd>(name).f, {{xg::DType::complex128, {}, {z}}}).numbers,
                {f(z)}, 1e-14));
        }
}

TEST_CASE("in every lane, NaN and infinity stay where they are") {
    auto const& f = operation<double>("square(x)").f;
    for (std::size_t n = 1; n <= 20; ++n)
        for (std::size_t k = 0; k < n; ++k) {
            Values x{xg::DType::float64, {n}, std::vector<cd>(n, 2)};
            std::vector<cd> y(n, 4), g(n, 4);
            x.numbers[k] = NaN;
            y[k] = g[k] = NaN;
            CHECK(holds(value_of(f, {x}).numbers, y));
            CHECK(holds(
                first_order(f, {x}, {xg::DType::float64, {n}, std::vector<cd>(n, 1)})[0].numbers,
                g));
            x.numbers[k] = -inf;
            y[k] = inf;
            g[k] = -inf;
            CHECK(holds(value_of(f, {x}).numbers, y));
            CHECK(holds(
                first_order(f, {x}, {xg::DType::float64, {n}, std::vector<cd>(n, 1)})[0].numbers,
                g));
        }
}

TEST_CASE("at corners, poles and edges float and complex<float> are what double and "
          "complex<double> are, in value and gradient") {
    std::vector<cd> reals, complexes;
    for (int repeat = 0; repeat < 3; ++repeat) { // so that each comes to stand in several lanes
        for (double const x : {0.0, -0.0, 1., -1., 0.5, -0.5, 2., -2., inf, -inf, NaN})
            reals.push_back(x);
        for (cd const z : {cd(0.5, 0.25), cd(1, 0), cd(-1, 0.5), cd(0, 1.5), cd(-0.25, -1)})
            complexes.push_back(z);
    }
    auto const compare = [](auto const& narrow, auto const& wide, xg::DType type,
                             xg::DType wide_type, std::vector<cd> const& at) {
        for (std::size_t k = 0; k < narrow.size(); ++k) {
            INFO(narrow[k].name);
            Point const x{{type, {at.size()}, at}}, wide_x{{wide_type, {at.size()}, at}};
            auto const y = value_of(narrow[k].f, x), wide_y = value_of(wide[k].f, wide_x);
            Values const w{y.dtype, y.shape, std::vector<cd>(at.size(), 1)},
                wide_w{wide_y.dtype, y.shape, w.numbers};
            CHECK(holds(y.numbers, wide_y.numbers, 1e-6));
            CHECK(holds(first_order(narrow[k].f, x, w)[0].numbers,
                first_order(wide[k].f, wide_x, wide_w)[0].numbers, 1e-5));
        }
    };
    compare(unary_operations<float>(), unary_operations<double>(), xg::DType::float32,
        xg::DType::float64, reals);
    compare(unary_operations<cf>(), unary_operations<cd>(), xg::DType::complex64,
        xg::DType::complex128, complexes);
}

TEST_CASE("infinite and NaN complex numbers have an infinite or NaN modulus") {
    auto const modulus = [](cd z) {
        return value_of(operation<cd>("abs(x)").f, {{xg::DType::complex128, {}, {z}}}).numbers;
    };
    CHECK(holds(modulus({inf, 1}), {inf}));
    CHECK(holds(modulus({1, -inf}), {inf}));
    CHECK(holds(modulus({inf, NaN}), {inf}));
    CHECK(holds(modulus({NaN, inf}), {inf}));
    CHECK(holds(modulus({NaN, 1}), {NaN}));
    CHECK(holds(modulus({1, NaN}), {NaN}));
    CHECK(holds(modulus({0, NaN}), {NaN}));
}
