// Lengths around the width of a register and around the size of a tile, where the last, incomplete
// part of a loop begins: values and gradients against plain loops, element by element, so that a
// missed or repeated one shows.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

#if defined(__GLIBC__) && defined(__x86_64__)
#    include <fenv.h>
#endif

using namespace support;

namespace {

std::vector<std::size_t> lengths() {
    std::vector<std::size_t> n;
    for (std::size_t i = 0; i <= 40; ++i) n.push_back(i);
    for (std::size_t const i :
        {63u, 64u, 65u, 127u, 128u, 129u, 255u, 256u, 257u, 511u, 512u, 513u, 768u, 1000u, 1025u})
        n.push_back(i);
    return n;
}

auto const real = [](cd z) { return z.real(); };

/// y = a^2 b + a: all of value, gradients and sum in closed form.
template <class A, class B> void check_lengths(double tolerance) {
    auto const f = function_of<A, B>([](auto a, auto b) { return a * a * b + a; });
    auto const total = function_of<A, B>([](auto a, auto b) { return sum(a * a * b + a); });
    bool const real_a = xg::RealScalar<A>, real_b = xg::RealScalar<B>;
    for (auto const n : lengths()) {
        Point const at{sample(xg::dtype_of<A>, {n}, 1), sample(xg::dtype_of<B>, {n}, 2)};
        auto const w = sample(value_of(f, at).dtype, {n}, 3), one = sample(w.dtype, {}, 4);
        std::vector<cd> y, ga, gb, ga_total, gb_total;
        cd sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            cd const p = at[0].numbers[i], q = at[1].numbers[i], da = std::conj(2. * p * q + 1.),
                     db = std::conj(p * p);
            sum += p * p * q + p;
            y.push_back(p * p * q + p);
            ga.push_back(real_a ? real(w.numbers[i] * da) : w.numbers[i] * da);
            gb.push_back(real_b ? real(w.numbers[i] * db) : w.numbers[i] * db);
            ga_total.push_back(real_a ? real(one.numbers[0] * da) : one.numbers[0] * da);
            gb_total.push_back(real_b ? real(one.numbers[0] * db) : one.numbers[0] * db);
        }
        INFO("length " << n);
        CHECK(holds(value_of(f, at).numbers, y, tolerance));
        CHECK(holds(value_of(total, at).numbers, {sum}, tolerance));
        for (bool const strided : {false, true}) {
            auto const g = first_order(f, at, w, false, strided),
                       g_total = first_order(total, at, one, false, strided);
            CHECK(holds(g[0].numbers, ga, tolerance));
            CHECK(holds(g[1].numbers, gb, tolerance));
            CHECK(holds(g_total[0].numbers, ga_total, tolerance));
            CHECK(holds(g_total[1].numbers, gb_total, tolerance));
        }
    }
}

} // namespace

TEST_CASE("formulas of double are right at every length") { check_lengths<double, double>(1e-13); }
TEST_CASE("formulas of float are right at every length") { check_lengths<float, float>(1e-5); }
TEST_CASE("formulas of complex<double> are right at every length") { check_lengths<cd, cd>(1e-13); }
TEST_CASE("formulas of complex<float> are right at every length") { check_lengths<cf, cf>(1e-5); }
TEST_CASE("formulas of two types are right at every length") { check_lengths<float, cd>(2e-6); }

TEST_CASE("whole numbers and masks are right at every length") {
    for (auto const n : lengths()) {
        auto const i = xg::arange<std::int64_t>(0, static_cast<std::int64_t>(n));
        std::vector<double> squares, mask;
        double count = 0;
        for (std::size_t k = 0; k < n; ++k) {
            squares.push_back(static_cast<double>(k * k) - 3);
            mask.push_back(k * k > 100 || k == 2);
            count += mask.back();
        }
        INFO("length " << n);
        CHECK(holds(i * i - 3, squares));
        CHECK(holds(i * i > 100 || i == 2, mask));
        CHECK(holds(sum(i * i > 100 || i == 2), {count}));
    }
}

TEST_CASE_TEMPLATE("what is beside a view, or memory of the program, is neither written nor summed",
    T, double, float, cd, cf) {
    using X = xg::Tensor<T>;
    double const tolerance = sizeof(xg::precision_of<T>) == 8 ? 1e-13 : 1e-5;
    for (std::size_t n = 1; n < 20; ++n)
        for (std::size_t const first : {0u, 3u, 20u}) {
            std::vector<T> memory(n + 20, T(7));
            for (std::size_t i = 0; i < n; ++i)
                memory[first + i] = T(1 + static_cast<xg::precision_of<T>>(i));
            X const factor = xg::full({n}, T(2));
            std::vector<cd> expected(n + 20, 7.), gradient(n + 20, 0.);
            cd total = 0;
            for (std::size_t i = 0; i < n; ++i) {
                cd const x(1. + static_cast<double>(i));
                expected[first + i] = 2. * x + 1.;
                gradient[first + i] = 3. * x * x + 4. * x;
                total += x * x * x + 2. * x * x;
            }
            auto const from = static_cast<std::ptrdiff_t>(first);
            auto const place = xg::range(from, from + static_cast<std::ptrdiff_t>(n));
            X const leaf = X(xt::adapt(memory, {n + 20})).requires_grad_();
            X const part = leaf(place);
            X const sum_of = sum(part * part * part + part * part * factor);
            CHECK(holds(sum_of, {total}, tolerance));
            sum_of.backward(X(T(1)));
            CHECK(holds(leaf.grad(), gradient, tolerance));
            xg::NoGradGuard const off;
            X const whole = leaf.detach().clone();
            X view = whole(place);
            view *= factor;
            view += T(1);
            CHECK(holds(whole, expected, tolerance));
            X borrowed = xg::from_blob(memory.data() + first, {n});
            borrowed *= factor;
            borrowed += T(1);
            CHECK(holds(X(xt::adapt(memory, {n + 20})), expected, tolerance));
        }
}

TEST_CASE("a part of a number is no whole array") {
    for (std::size_t n = 1; n < 20; ++n) {
        std::vector<cd> z;
        for (std::size_t i = 0; i < n; ++i) z.emplace_back(1. + static_cast<double>(i), 7.);
        xg::Tensor<cd> const parts(xt::adapt(z, {n}));
        auto real_part = parts.real(), imaginary_part = parts.imag();
        real_part *= 2.;
        imaginary_part += real_part;
        for (auto& x : z) x = cd(2. * x.real(), 7. + 2. * x.real());
        CHECK(holds(parts, z));
        auto reals = view_as_real(parts);
        reals += 1.;
        for (auto& x : z) x += cd(1., 1.);
        CHECK(holds(parts, z));
    }
}

#if defined(__GLIBC__) && defined(__x86_64__)
TEST_CASE("nothing is trapped that the elements do not do, at any length") {
    for (std::size_t n = 1; n < 20; ++n) {
        xg::Tensor<double> const x = xg::linspace(0.5, 2.5, n).requires_grad_(), y = x.detach() - 3;
        ::feclearexcept(FE_ALL_EXCEPT); // what other tests have left
        ::feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
        auto const value = sum(1 / (x - y - 3.5 * x) + log(x) / (x - 2 * y) + sqrt(-y) + pow(x, y));
        value.backward();
        xg::Tensor<double> const quotient = (x - x * 2) / y;
        ::fedisableexcept(FE_ALL_EXCEPT);
        CHECK(holds(isfinite(x.grad()), std::vector<double>(n, 1.)));
        CHECK(holds(isfinite(quotient), std::vector<double>(n, 1.)));
    }
}
#endif
