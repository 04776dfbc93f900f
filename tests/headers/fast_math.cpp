// A program that is compiled with -ffast-math: NaN and infinity in xgrad are as without it. The
// program itself reads bits only, since comparisons of its own take NaN for a number.
#include <xgrad/xgrad.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

int faults = 0;

std::uint64_t bits_of(double v) { return std::bit_cast<std::uint64_t>(v); }
std::uint64_t bits_of(float v) { return bits_of(static_cast<double>(v)); }

double const nan = std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
double const inf = std::bit_cast<double>(std::uint64_t{0x7ff0000000000000});
double const minus_inf = std::bit_cast<double>(std::uint64_t{0xfff0000000000000});

bool is_nan(std::uint64_t bits) { return (bits << 1) > 0xffe0000000000000u; }
bool is_finite(std::uint64_t bits) { return (bits << 1) < 0xffe0000000000000u; }

/// NaN matches NaN; an infinity and a zero match themselves, with their signs; a number matches to
/// 12 digits.
bool matches(double is, double wanted) {
    auto const a = bits_of(is);
    auto const b = bits_of(wanted);
    if (is_nan(b)) return is_nan(a);
    if (!is_finite(b) || !is_finite(a) || (b << 1) == 0) return a == b;
    double const difference = is < wanted ? wanted - is : is - wanted;
    double const size = wanted < 0 ? -wanted : wanted;
    return difference <= 1e-12 * size;
}

void expect(std::string const& what, xgrad::Tensor<double> const& is, std::vector<double> wanted) {
    bool same = is.numel() == wanted.size();
    for (std::size_t i = 0; same && i < wanted.size(); ++i)
        same = matches(is.contiguous().data()[i], wanted[i]);
    if (same) return;
    ++faults;
    std::printf("%s:", what.c_str());
    for (double const v : is.array())
        std::printf(" %g (%llx)", v, static_cast<unsigned long long>(bits_of(v)));
    std::printf(", not");
    for (double const v : wanted) std::printf(" %g", v);
    std::printf("\n");
}
void expect(
    std::string const& what, xgrad::Tensor<bool> const& is, std::vector<double> const& wanted) {
    expect(what, is.to<double>(), wanted);
}

using Real = xgrad::Tensor<double>;
using Complex = xgrad::Tensor<std::complex<double>>;

/// The same values once in a few elements, and once in a tensor that is computed in blocks.
void check_values(std::string const& size, std::size_t rows) {
    auto const all = [&](std::vector<double> const& v) {
        std::vector<double> repeated;
        for (std::size_t i = 0; i < rows; ++i) repeated.insert(repeated.end(), v.begin(), v.end());
        return repeated;
    };
    std::vector<double> const special = all({nan, inf, minus_inf, 0., -1.5});
    Real const x(special);
    Real const y(all({1., 1., 1., nan, 1.}));

    expect(size + "isnan", isnan(x), all({1., 0., 0., 0., 0.}));
    expect(size + "isinf", isinf(x), all({0., 1., 1., 0., 0.}));
    expect(size + "isfinite", isfinite(x), all({0., 0., 0., 1., 1.}));
    expect(size + "x == x", x == x, all({0., 1., 1., 1., 1.}));
    expect(size + "x != x", x != x, all({1., 0., 0., 0., 0.}));
    expect(size + "maximum", maximum(x, y), all({nan, inf, 1., nan, 1.}));
    expect(size + "minimum", minimum(x, y), all({nan, 1., minus_inf, nan, -1.5}));
    expect(size + "x - x", x - x, all({nan, nan, nan, 0., 0.}));
    expect(size + "x * 0", x * 0., all({nan, nan, nan, 0., -0.}));
    expect(size + "x / x", x / x, all({nan, nan, nan, nan, 1.}));
    expect(size + "1 / x", 1. / x, all({nan, 0., -0., inf, 1 / -1.5}));
    expect(size + "exp", exp(x), all({nan, inf, 0., 1., 0.22313016014842982}));
    expect(size + "log", log(x), all({nan, inf, nan, minus_inf, nan}));
    expect(size + "log1p", log1p(x), all({nan, inf, nan, 0., nan}));
    expect(size + "sqrt", sqrt(x), all({nan, inf, nan, 0., nan}));
    expect(size + "sin", sin(x), all({nan, nan, nan, 0., -0.9974949866040544}));
    expect(size + "tanh", tanh(x), all({nan, 1., -1., 0., -0.9051482536448664}));
    expect(size + "atan", atan(x),
        all({nan, 1.5707963267948966, -1.5707963267948966, 0., -0.982793723247329}));
    expect(size + "sigmoid", sigmoid(x), all({nan, 1., 0., 0.5, 0.18242552380635635}));
    expect(
        size + "softplus", softplus(x), all({nan, inf, 0., 0.6931471805599453, 0.201413277982752}));
    expect(size + "relu", relu(x), all({nan, inf, 0., 0., 0.}));
    expect(size + "erf", erf(x), all({nan, 1., -1., 0., -0.9661051464753108}));
    expect(size + "pow", pow(x, 2.), all({nan, inf, inf, 0., 2.25}));
    expect(size + "xlogy", xlogy(xgrad::zeros_like(x), x), all({nan, 0., 0., 0., 0.}));
    expect(size + "nan_to_num", nan_to_num(x, 7.),
        all({7., 1.7976931348623157e308, -1.7976931348623157e308, 0., -1.5}));
    expect(size + "where", where(isnan(x), 3., x), all({3., inf, minus_inf, 0., -1.5}));
    expect(size + "clip", clip(x, -1., 1.), all({nan, 1., -1., 0., -1.}));

    xgrad::Tensor<float> const xf(std::vector<float>(special.begin(), special.end()));
    expect(size + "float: isnan", isnan(xf), all({1., 0., 0., 0., 0.}));
    expect(size + "float: exp - exp", xgrad::Tensor<float>(exp(xf) - exp(xf)).to<double>(),
        all({nan, nan, 0., 0., 0.}));

    Complex const z = complex(x, xgrad::zeros_like(x));
    expect(size + "complex: isnan", isnan(z), all({1., 0., 0., 0., 0.}));
    expect(size + "complex: isinf", isinf(z), all({0., 1., 1., 0., 0.}));
    expect(size + "complex: abs", abs(z), all({nan, inf, inf, 0., 1.5}));
    expect(size + "complex: real(z * z)", real(z * z), all({nan, inf, inf, 0., 2.25}));
    expect(
        size + "complex: real(exp(z))", real(exp(z)), all({nan, inf, 0., 1., 0.22313016014842982}));
}

void check_reductions() {
    Real const x({1., nan, 3., -2., 5., 0.5, 7., -9., 11.});
    Real const finite({1., 4., 3., -2., 5., 0.5, 7., -9., 11.});
    expect("max with NaN", max(x), {nan});
    expect("min with NaN", min(x), {nan});
    expect("sum with NaN", sum(x), {nan});
    expect("max", max(finite), {11.});
    expect("min", min(finite), {-9.});
    expect("logsumexp of -inf", logsumexp(Real({minus_inf, minus_inf}), 0), {minus_inf});
    expect("logsumexp of inf", logsumexp(Real({inf, 1.}), 0), {inf});
    expect("logcumsumexp", logcumsumexp(Real({minus_inf, 0., inf}), 0), {minus_inf, 0., inf});
    expect("cumsum", cumsum(Real({1., inf, minus_inf}), 0), {1., inf, nan});
    expect("sort", sort(Real({nan, 1., inf, minus_inf, -0.5}), 0).values,
        {minus_inf, -0.5, 1., inf, nan});
    expect("argmax", argmax(x).to<double>(), {1.});
    expect("argmin", argmin(x).to<double>(), {1.});
    expect("median", median(Real({1., nan, 3.})), {nan});
    expect("isclose", isclose(Real({nan, inf, 1.}), Real({nan, inf, 1.})), {0., 1., 1.});
    if (allclose(x, x)) {
        ++faults;
        std::printf("allclose takes NaN for NaN\n");
    }
    // A sum is added in the order that xgrad writes: the compiler does not reassociate it.
    expect("(a + b) - a", (Real({1e17}) + Real({1.})) - Real({1e17}), {0.});
}

void check_gradients() {
    Real const x({0.5, -1.25, nan, inf}, xgrad::requires_grad);
    sum(x * sin(x) + exp(-x) / (x * x + 1.)).backward();
    auto const slope = [](double v) {
        double const q = v * v + 1;
        return std::sin(v) + v * std::cos(v) - std::exp(-v) / q - 2 * v * std::exp(-v) / (q * q);
    };
    expect("gradient of a formula", x.grad(), {slope(0.5), slope(-1.25), nan, nan});

    Real const y({nan, 1., minus_inf, 3.}, xgrad::requires_grad);
    sum(where(isnan(y), 0., y * 2.)).backward();
    expect("gradient of where", y.grad(), {0., 2., 2., 2.});

    Real const m({1., nan, 2., nan}, xgrad::requires_grad);
    max(m).backward();
    expect("gradient of max with NaN", m.grad(), {0., 0.5, 0., 0.5});

    Real const s({inf, minus_inf, 0., 800., -800.}, xgrad::requires_grad);
    sum(sigmoid(s)).backward();
    expect("gradient of sigmoid", s.grad(), {0., 0., 0.25, 0., 0.});

    Real const q({0., 4., nan}, xgrad::requires_grad);
    sum(sqrt(q)).backward();
    expect("gradient of sqrt", q.grad(), {inf, 0.25, nan});

    // Second derivatives, which other kernels compute.
    Real const t({0.5, nan}, xgrad::requires_grad);
    auto const first = xgrad::grad(sum(sin(t) * t), {t}, {.create_graph = true})[0];
    sum(first).backward();
    expect("second derivative", t.grad(), {2 * std::cos(0.5) - 0.5 * std::sin(0.5), nan});
}

void check_anomaly() {
    bool found = false;
    try {
        xgrad::AnomalyMode const mode;
        Real const x({0., 1.}, xgrad::requires_grad);
        sum(sqrt(x) * 0.).backward(); // 0 times infinity
    } catch (xgrad::GraphError const&) { found = true; }
    if (!found) {
        ++faults;
        std::printf("anomaly mode misses a NaN\n");
    }
}

} // namespace

int main() {
    check_values("", 1);
    check_values("blocks of ", 1000);
    check_reductions();
    check_gradients();
    check_anomaly();
    if (faults == 0) std::printf("NaN and infinity are kept\n");
    return faults == 0 ? 0 : 1;
}
