// Values and gradients at the points where a function has a corner, a pole or no value: as PyTorch
// has them, to the last bit.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

Values reals(std::vector<cd> numbers) { return {xg::DType::float64, {numbers.size()}, numbers}; }

/// Value and gradients for all arguments with seed 1, fused and recorded.
CheckResult has_gradients(Function const& f, Point const& at, Wanted const& value,
    std::vector<Wanted> const& gradients, double tolerance = 0) {
    auto const y = value_of(f, at);
    if (auto const wrong = holds(y.numbers, value, tolerance); !wrong)
        return {"value: " + wrong.wrong};
    Values const ones{y.dtype, y.shape, std::vector<cd>(y.numbers.size(), 1)};
    for (bool const recorded : {false, true}) {
        auto const g = first_order(f, at, ones, recorded);
        for (std::size_t k = 0; k < gradients.size(); ++k)
            if (auto const wrong = holds(g[k].numbers, gradients[k], tolerance); !wrong)
                return {std::string(recorded ? "recorded " : "") + "gradient of argument " +
                        std::to_string(k) + ": " + wrong.wrong};
    }
    return {};
}
template <class F>
CheckResult at(F f, std::vector<cd> x, Wanted const& value, Wanted const& gradient) {
    return has_gradients(function_of<double>(f), {reals(std::move(x))}, value, {gradient});
}
template <class F>
CheckResult at2(F f, std::vector<cd> a, std::vector<cd> b, Wanted const& value, Wanted const& ga,
    Wanted const& gb) {
    return has_gradients(function_of<double, double>(f), {reals(std::move(a)), reals(std::move(b))},
        value, {ga, gb});
}

} // namespace

TEST_CASE("abs, relu, sign and sgn have gradient 0 at 0") {
    CHECK(at([](auto x) { return abs(x); }, {0, -0.0, 1e-300, -1e-300}, {0, 0, 1e-300, 1e-300},
        {0, 0, 1, -1}));
    CHECK(at([](auto x) { return relu(x); }, {0, -0.0, 1e-300, -1e-300}, {0, 0, 1e-300, 0},
        {0, 0, 1, 0}));
    CHECK(at([](auto x) { return sign(x); }, {0, -0.0, 3, -3, inf, -inf}, {0, 0, 1, -1, 1, -1},
        {0, 0, 0, 0, 0, 0}));
    CHECK(at([](auto x) { return sgn(x); }, {0, -0.0, 3, -3, 1e-310, inf, -inf},
        {0, 0, 1, -1, 1, 1, -1}, {0, 0, 0, 0, 0, 0, 0}));
}

TEST_CASE("NaN goes through abs, relu, sign and sgn, and relu passes its gradient on") {
    CHECK(at([](auto x) { return relu(x); }, {NaN, inf, -inf}, {NaN, inf, 0}, {1, 1, 0}));
    CHECK(holds(
        value_of(function_of<double>([](auto x) { return abs(x); }), {reals({NaN, inf, -inf})})
            .numbers,
        {NaN, inf, inf}));
    CHECK(
        holds(value_of(function_of<double>([](auto x) { return sgn(x); }), {reals({NaN})}).numbers,
            {NaN}));
    CHECK(
        holds(value_of(function_of<double>([](auto x) { return sign(x); }), {reals({NaN})}).numbers,
            {NaN}));
}

TEST_CASE("the angle of a real number is 0 or pi, and flat everywhere") {
    double const pi = std::numbers::pi;
    CHECK(at([](auto x) { return angle(x); }, {0, 2, -2, 1e-160, -1e-160, 1e200, inf, -inf},
        {0, 0, pi, 0, pi, 0, 0, pi}, {0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(holds(
        value_of(function_of<double>([](auto x) { return angle(x); }), {reals({NaN})}).numbers,
        {NaN}));
}

TEST_CASE("what is flat everywhere passes on no infinite gradient and no NaN") {
    auto const slope = [](auto f, double x) {
        return first_order(function_of<double>(f), {reals({x})}, reals({1}))[0].numbers[0];
    };
    for (double const x : {2., -2., 0.}) {
        CHECK(slope([](auto v) { return sqrt(angle(v) * 0.); }, x) == 0.);
        CHECK(slope([](auto v) { return sqrt(imag(v)); }, x) == 0.);
        CHECK(slope([](auto v) { return sqrt(angle(abs(v))); }, x) == 0.);
        CHECK(slope([](auto v) { return sqrt(sign(v) * 0.); }, x) == 0.);
        CHECK(slope([](auto v) { return sqrt(round(v * 0.)); }, x) == 0.);
    }
    xg::Tensor<double> const zero({0.}), x({3.}, xg::requires_grad);
    sum(atan2(zero, angle(x))).backward();
    CHECK(x.grad()(0).item() == 0.);
}

TEST_CASE("roots, logarithms and inverses have the poles of their derivatives") {
    CHECK(at([](auto x) { return sqrt(x); }, {0, -1}, {0, NaN}, {inf, NaN}));
    CHECK(at([](auto x) { return rsqrt(x); }, {0, -1}, {inf, NaN}, {-inf, NaN}));
    CHECK(at([](auto x) { return log(x); }, {0, -1, inf}, {-inf, NaN, inf}, {inf, -1, 0}));
    CHECK(at([](auto x) { return log1p(x); }, {-1, -2}, {-inf, NaN}, {inf, -1}));
    CHECK(at([](auto x) { return reciprocal(x); }, {0, inf}, {inf, 0}, {-inf, 0}));
    CHECK(at([](auto x) { return 1 / x; }, {0, inf}, {inf, 0}, {-inf, 0}));
    CHECK(at([](auto x) { return asin(x); }, {1, -1, 2}, {std::asin(1.0), std::asin(-1.0), NaN},
        {inf, inf, NaN}));
    CHECK(at([](auto x) { return acos(x); }, {1, -1}, {0, std::acos(-1.0)}, {-inf, -inf}));
    CHECK(at([](auto x) { return acosh(x); }, {1, 0.5}, {0, NaN}, {inf, NaN}));
    CHECK(at([](auto x) { return atanh(x); }, {1, -1}, {inf, -inf}, {inf, inf}));
}

TEST_CASE("the sigmoid family neither overflows nor loses its gradient") {
    CHECK(at([](auto x) { return sigmoid(x); }, {1000, -1000, inf, -inf, NaN}, {1, 0, 1, 0, NaN},
        {0, 0, 0, 0, NaN}));
    CHECK(at([](auto x) { return softplus(x); }, {1000, -1000, inf, -inf, NaN},
        {1000, 0, inf, 0, NaN}, {1, 0, 1, 0, NaN}));
    CHECK(at([](auto x) { return tanh(x); }, {1000, -1000, inf, -inf, NaN}, {1, -1, 1, -1, NaN},
        {0, 0, 0, 0, NaN}));
    CHECK(at([](auto x) { return exp(x); }, {1000, -1000, inf, -inf, NaN}, {inf, 0, inf, 0, NaN},
        {inf, 0, inf, 0, NaN}));
}

TEST_CASE("clamp has gradient 1 at both bounds, 0 outside and for NaN") {
    CHECK(at([](auto x) { return clamp(x, -1, 2); }, {-1, 2, -1.5, 2.5, 0, NaN, inf, -inf},
        {-1, 2, -1, 2, 0, NaN, 2, -1}, {1, 1, 0, 0, 1, 0, 0, 0}));
    CHECK(at([](auto x) { return clamp(x, 2, -1); }, {0, 3, -3, 2, -1}, {-1, -1, -1, -1, -1},
        {0, 0, 0, 0, 0}));
    CHECK(at([](auto x) { return clamp_min(x, 1); }, {1, 0, 2, NaN}, {1, 1, 2, NaN}, {1, 0, 1, 0}));
    CHECK(at([](auto x) { return clamp_max(x, 1); }, {1, 0, 2, NaN}, {1, 0, 1, NaN}, {1, 1, 0, 0}));
}

TEST_CASE("clamp between tensors gives a tie to x, a bound that is taken its gradient, and crossed "
          "bounds all to the upper one") {
    auto const f = function_of<double, double, double>(
        [](auto x, auto lower, auto upper) { return clamp(x, lower, upper); });
    Point const at{reals({1, 3, 0, 4, 2, 0}), reals({1, 1, 1, 1, 1, 5}), reals({3, 3, 3, 3, 3, 2})};
    CHECK(has_gradients(
        f, at, {1, 3, 1, 3, 2, 2}, {{1, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 1}}));
    CHECK(at2([](auto x, auto bound) { return clamp_min(x, bound); }, {1, 0, 2}, {1, 1, 1},
        {1, 1, 2}, {1, 0, 1}, {0, 1, 0}));
    CHECK(at2([](auto x, auto bound) { return clamp_max(x, bound); }, {1, 0, 2}, {1, 1, 1},
        {1, 0, 1}, {1, 1, 0}, {0, 0, 1}));
}

TEST_CASE(
    "maximum and minimum share the gradient of a tie, and pass NaN on with its gradient to both") {
    CHECK(at2([](auto a, auto b) { return maximum(a, b); }, {1, 2, 3, inf, -inf},
        {2, 2, 2, inf, -inf}, {2, 2, 3, inf, -inf}, {0, 0.5, 1, 0.5, 0.5}, {1, 0.5, 0, 0.5, 0.5}));
    CHECK(at2([](auto a, auto b) { return minimum(a, b); }, {1, 2, 3, inf, -inf},
        {2, 2, 2, inf, -inf}, {1, 2, 2, inf, -inf}, {1, 0.5, 0, 0.5, 0.5}, {0, 0.5, 1, 0.5, 0.5}));
    CHECK(at2([](auto a, auto b) { return maximum(a, b); }, {NaN, 1, NaN}, {1, NaN, NaN},
        {NaN, NaN, NaN}, {1, 1, 1}, {1, 1, 1}));
    CHECK(at2([](auto a, auto b) { return minimum(a, b); }, {NaN, 1, NaN}, {1, NaN, NaN},
        {NaN, NaN, NaN}, {1, 1, 1}, {1, 1, 1}));
}

TEST_CASE("powers of 0 and of negative numbers have the gradients of their limits") {
    auto const power = [](auto a, auto b) { return pow(a, b); };
    CHECK(at2(power, {0, 0, 0, 0}, {0, 1, 2, 0.5}, {1, 0, 0, 0}, {0, 1, 0, inf}, {0, 0, 0, 0}));
    CHECK(at2(power, {0}, {-1}, {inf}, {-inf}, {-inf}));
    CHECK(at2(power, {-2, -2}, {2, 3}, {4, -8}, {-4, 12}, {NaN, NaN}));
    CHECK(at2(power, {-2}, {0.5}, {NaN}, {NaN}, {NaN}));
    CHECK(has_gradients(function_of<double, double>(power),
        {reals({NaN, inf, -2}), reals({0, 0, 0})}, {1, 1, 1}, {{0, 0, 0}}));
    CHECK(differentiates(function_of<double, double>(power),
        {reals({2, 0.5, 3}), reals({0, 0, 1})})); // a^b log(a) for b, of which 1/a is left at b = 0
    CHECK(differentiates(
        function_of<cd, cd>(power), {{xg::DType::complex128, {2}, {cd(2, 1), cd(0.5, -1)}},
                                        {xg::DType::complex128, {2}, {0., 0.}}}));
    auto const x = xg::Tensor<double>({0., 2.}, xg::requires_grad);
    auto const z = xg::Tensor<cd>({cd(0), cd(2, 1)}, xg::requires_grad);
    auto const second = [](auto const& t, auto const& exponents) { // x^0 is flat
        auto const first =
            xg::grad(xg::Tensor<double>(sum(real(pow(t, exponents)))), t, {.create_graph = true});
        return xg::grad(xg::Tensor<double>(sum(real(first))), t,
            {.create_graph = true, .materialize_grads = true});
    };
    CHECK(holds_exactly(second(x, xg::Tensor<double>({0., 0.})), xg::zeros({2})));
    CHECK(holds_exactly(second(z, xg::Tensor<cd>({cd(0), cd(0)})), xg::zeros<cd>({2})));
    CHECK(holds_exactly(xg::grad(xg::Tensor<double>(sum(second(x, xg::Tensor<double>({0., 0.})))),
                            x, {.materialize_grads = true}),
        xg::zeros({2})));
    CHECK(at([](auto x) { return pow(x, 0); }, {0, -2, NaN, inf}, {1, 1, 1, 1}, {0, 0, 0, 0}));
    CHECK(at([](auto x) { return pow(x, 1); }, {0}, {0}, {1}));
    CHECK(at([](auto x) { return pow(x, 2); }, {0, -3}, {0, 9}, {0, -6}));
    CHECK(at([](auto x) { return pow(x, 0.5); }, {0}, {0}, {inf}));
    CHECK(at([](auto x) { return pow(x, -1); }, {0}, {inf}, {-inf}));
    CHECK(at([](auto x) { return pow(0, x); }, {0, 2}, {1, 0}, {0, 0}));
}

namespace {
/// The second derivatives of f at one point: xx, xy (by x first), yx, yy.
using SecondDerivatives = std::vector<cd>;

/// From a fused second pass, from a recorded one, from the Hessian, from vhp() and from hvp().
template <class F>
std::vector<SecondDerivatives> second_derivatives(F f, double at_x, double at_y) {
    using D = xg::Tensor<double>;
    std::vector<SecondDerivatives> all;
    for (bool const recorded : {false, true}) {
        D const x({at_x}, xg::requires_grad), y({at_y}, xg::requires_grad);
        D const value = sum(f(x, y));
        auto const [gx, gy] = xg::grad(value, xg::inputs(x, y), {.create_graph = true});
        xg::GradOptions again;
        again.retain_graph = again.allow_unused = again.materialize_grads = true;
        if (recorded) again.create_graph = true;
        auto const [xx, xy] = xg::grad(gx, xg::inputs(x, y), again);
        auto const [yx, yy] = xg::grad(gy, xg::inputs(x, y), again);
        all.push_back({xx.item(), xy.item(), yx.item(), yy.item()});
    }
    auto const total = [f](D const& x, D const& y) { return D(sum(f(x, y))); };
    D const zero({0.}), one({1.});
    auto const at = xg::inputs(D({at_x}), D({at_y}));
    auto const [of_x, of_y] = xg::hessian(total, at);
    all.push_back({std::get<0>(of_x).item(), std::get<1>(of_x).item(), std::get<0>(of_y).item(),
        std::get<1>(of_y).item()});
    auto const [xx, xy] = xg::vhp(total, at, xg::inputs(one, zero)).second;
    auto const [yx, yy] = xg::vhp(total, at, xg::inputs(zero, one)).second;
    all.push_back({xx.item(), xy.item(), yx.item(), yy.item()});
    auto const [along_x_x, along_x_y] = xg::hvp(total, at, xg::inputs(one, zero)).second;
    auto const [along_y_x, along_y_y] = xg::hvp(total, at, xg::inputs(zero, one)).second;
    all.push_back({along_x_x.item(), along_x_y.item(), along_y_x.item(), along_y_y.item()});
    return all;
}
/// Compares all of them with xx, xy and yy; the two mixed ones of each must be the same to the last
/// bit.
template <class F>
CheckResult has_second_derivatives(
    F f, double x, double y, double xx, double xy, double yy, double tolerance = 0) {
    char const* const names[] = {"fused: ", "recorded: ", "hessian: ", "vhp: ", "hvp: "};
    auto const all = second_derivatives(f, x, y);
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (auto const wrong = holds(all[k], {xx, xy, xy, yy}, tolerance); !wrong)
            return {names[k] + wrong.wrong};
        if (auto const wrong = holds({all[k][1]}, {all[k][2]}, 0); !wrong)
            return {names[k] + ("mixed: " + wrong.wrong)};
    }
    return {};
}
} // namespace

TEST_CASE("second derivatives of powers of 0 are the limits from above, and mixed ones are equal") {
    auto const check = [](double a, double b, double aa, double ab, double bb) {
        CAPTURE(a);
        CAPTURE(b);
        CHECK(has_second_derivatives([](auto x, auto y) { return pow(x, y); }, a, b, aa, ab, bb));
    };
    check(0, -1, inf, inf, inf);
    check(0, -0.5, inf, inf, inf);
    check(0, 0, 0, inf, 0); // the gradient for the exponent of 0^b is 0 where b >= 0
    check(0, 1e-300, -inf, -inf, 0);
    check(0, 0.5, -inf, -inf, 0);
    check(0, 1, 0, -inf, 0);
    check(0, 1.5, inf, 0, 0);
    check(0, 2, 2, 0, 0);
    check(0, 2.5, 0, 0, 0);
    check(0, 3, 0, 0, 0);
    check(-0.0, 1, 0, -inf, 0);
    check(-2, 2, 2, NaN, NaN);
    check(-2, 3, -12, NaN, NaN);
    check(-2, 0, 0, NaN, NaN);
    check(-2, 1, 0, NaN, NaN);
    check(-2, 0.5, NaN, NaN, NaN);
    check(NaN, 2.5, NaN, NaN, NaN);
    check(0, NaN, NaN, NaN, NaN);
}

TEST_CASE("second derivatives of powers are those of the closed forms, also beside 0") {
    auto const power = [](auto x, auto y) { return pow(x, y); };
    for (double const a : {0.3, 1., 2.5, 1e-5, 1e-150, 1e-310, 1e100})
        for (double const b : {-1., -0.25, 0., 0.5, 1., 1.5, 2., 3.}) {
            CAPTURE(a);
            CAPTURE(b);
            double const l = std::log(a),
                         aa = b * (b - 1) == 0 ? 0 : b * (b - 1) * std::pow(a, b - 2);
            double const ab = std::pow(a, b - 1) * (1 + b * l), bb = std::pow(a, b) * (l * l);
            CHECK(has_second_derivatives(power, a, b, aa, ab, bb, 1e-13));
        }
    CHECK(differentiates(
        function_of<double, double>(power), {reals({0.3, 1, 2.5, 0.7}), reals({-1, 0, 0.5, 3})}));
}

TEST_CASE("mixed third derivatives of powers are equal, too") {
    using D = xg::Tensor<double>;
    auto const third = [](double at_a, double at_b, std::string const& order) {
        D const a({at_a}, xg::requires_grad), b({at_b}, xg::requires_grad);
        D y = sum(pow(a, b));
        for (char const by : order) y = xg::grad(y, by == 'a' ? a : b, {.create_graph = true});
        return y.item();
    };
    auto const all = [&](double a, double b, std::vector<std::string> const& orders) {
        std::vector<cd> found;
        for (auto const& order : orders) found.push_back(third(a, b, order));
        return found;
    };
    double const l = std::log(1.5);
    CHECK(holds(
        all(1.5, 2.5, {"aab", "aba", "baa"}), std::vector<cd>(3, std::sqrt(1.5) * (4 + 3.75 * l))));
    CHECK(holds(all(1.5, 2.5, {"abb", "bab", "bba"}),
        std::vector<cd>(3, std::pow(1.5, 1.5) * l * (2 + 2.5 * l))));
    CHECK(holds(all(0, 1, {"aab", "aba", "baa"}), {inf, inf, inf}));    // 1/a
    CHECK(holds(all(0, 2, {"aab", "aba", "baa"}), {-inf, -inf, -inf})); // 3 + 2 log(a)
    CHECK(holds(all(0, 1, {"abb", "bab", "bba"}), {inf, inf, inf}));    // log(a) (2 + log(a))
    CHECK(holds(all(0, 0, {"abb", "bab", "bba"}), {-inf, -inf, -inf})); // 2 log(a) / a
    CHECK(holds(all(0, 3, {"aab", "aba", "baa"}), {0., 0., 0.}));
}

TEST_CASE("atan2 at the origin is 0 and has no gradient") {
    CHECK(at2([](auto y, auto x) { return atan2(y, x); }, {0}, {0}, {0}, {NaN}, {NaN}));
    CHECK(at2([](auto y, auto x) { return atan2(y, x); }, {0, 0}, {2, -2}, {0, std::numbers::pi},
        {0.5, -0.5}, {0, 0}));
}

TEST_CASE("rounding is flat everywhere, and keeps the sign of 0") {
    double const huge = 4503599627370495.5;
    std::vector<cd> const x{0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.25, inf, -inf, NaN, huge},
        flat(x.size(), 0);
    CHECK(at([](auto v) { return floor(v); }, x,
        {0, 0, 0, -1, 1, 2, -2, -3, inf, -inf, NaN, huge - 0.5}, flat));
    CHECK(at([](auto v) { return ceil(v); }, x,
        {0, 0, 1, 0, 2, 3, -1, -2, inf, -inf, NaN, huge + 0.5}, flat));
    CHECK(at([](auto v) { return trunc(v); }, x,
        {0, 0, 0, 0, 1, 2, -1, -2, inf, -inf, NaN, huge - 0.5}, flat));
    CHECK(at([](auto v) { return round(v); }, x,
        {0, 0, 0, 0, 2, 2, -2, -2, inf, -inf, NaN, huge + 0.5}, flat));
    CHECK(at([](auto v) { return 1 / floor(v); }, {0, -0.0}, {inf, -inf}, {0, 0}));
    CHECK(at([](auto v) { return 1 / ceil(v); }, {0.0, -0.5}, {inf, -inf}, {0, 0}));
    CHECK(at([](auto v) { return 1 / trunc(v); }, {0.5, -0.5}, {inf, -inf}, {0, 0}));
    CHECK(at([](auto v) { return 1 / round(v); }, {0.5, -0.5}, {inf, -inf}, {0, 0}));
}

TEST_CASE("remainders have the sign of b, those of C the sign of a; their multiple of b is a whole "
          "one, however a/b is rounded") {
    auto const python = [](auto a, auto b) { return remainder(a, b); };
    auto const c = [](auto a, auto b) { return fmod(a, b); };
    std::vector<cd> const a{3, -3, 3, -3, 1, -1, 0, 7, -7, 1e300, NaN, 1},
        b{2, 2, -2, -2, inf, -inf, 1, -inf, inf, 1e300, 1, NaN}, ones(a.size(), 1);
    CHECK(at2(python, a, b, {1, 1, -1, -1, 1, -1, 0, -inf, inf, 0, NaN, NaN}, ones,
        {-1, 2, 2, -1, 0, 0, 0, 1, 1, -1, NaN, NaN}));
    CHECK(at2(c, a, b, {1, -1, 1, -1, 1, -1, 0, 7, -7, 0, NaN, NaN}, ones,
        {-1, 1, 1, -1, 0, 0, 0, 0, 0, -1, NaN, NaN}));
    CHECK(at2(python, {1, -1}, {0.1, 0.1}, {std::fmod(1, 0.1), std::fmod(-1, 0.1) + 0.1}, {1, 1},
        {-9, 10}));
    CHECK(at2(c, {1, -1}, {0.1, 0.1}, {std::fmod(1, 0.1), std::fmod(-1, 0.1)}, {1, 1}, {-9, 9}));
    for (double const x : {5., -1., 0., inf})
        for (double const y : {0., NaN}) {
            CHECK(std::isnan(value_of(function_of<double, double>(python), {reals({x}), reals({y})})
                                 .numbers[0]
                                 .real()));
            CHECK(std::isnan(value_of(function_of<double, double>(c), {reals({x}), reals({y})})
                                 .numbers[0]
                                 .real()));
        }
}

TEST_CASE("copysign has gradient 0 at 0, and takes the sign of 0 and infinity") {
    CHECK(at2([](auto a, auto b) { return copysign(a, b); },
        {0, 3, -3, 3, -3, 5, 5, inf, -inf, -2, NaN}, {-1, 2, 2, -2, -2, 0, -0.0, -inf, -1, inf, 1},
        {0, 3, 3, -3, -3, 5, -5, -inf, -inf, 2, NaN}, {0, 1, -1, -1, 1, 1, -1, -1, 1, -1, NaN},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(at2([](auto a, auto b) { return 1 / copysign(a, b); }, {0}, {-1}, {-inf}, {NaN}, {0}));
}

TEST_CASE("nan_to_num has gradient 1 where it changed nothing, else 0 whatever comes in") {
    double const most = std::numeric_limits<double>::max();
    std::vector<cd> const x{0, -2.5, NaN, inf, -inf, most, -most};
    CHECK(at([](auto v) { return nan_to_num(v); }, x, {0, -2.5, 0, most, -most, most, -most},
        {1, 1, 0, 0, 0, 1, 1}));
    CHECK(at([](auto v) { return nan_to_num(v, 1, 2, 3); }, x, {0, -2.5, 1, 2, 3, most, -most},
        {1, 1, 0, 0, 0, 1, 1}));
    CHECK(at([](auto v) { return nan_to_num(v, NaN, inf); }, x,
        {0, -2.5, NaN, inf, -most, most, -most}, {1, 1, 0, 0, 0, 1, 1}));
    CHECK(at([](auto v) { return sqrt(nan_to_num(v)); }, {4, NaN}, {2, 0}, {0.25, 0}));
}

TEST_CASE("hypot overflows nowhere, is infinite beside NaN, and has gradient 0 at 0 as abs has") {
    auto const f = [](auto a, auto b) { return hypot(a, b); };
    CHECK(at2(f, {3, -3, 5, 0, 6e300, 3e-320, inf, 1, 0}, {4, -4, 0, 5, 8e300, 4e-320, 1, inf, inf},
        {5, 5, 5, 5, 1e301, 5e-320, inf, inf, inf},
        {3. / 5, -3. / 5, 1, 0, 6e300 / 1e301, 3e-320 / 5e-320, NaN, 0, 0},
        {4. / 5, -4. / 5, 0, 1, 8e300 / 1e301, 4e-320 / 5e-320, 0, NaN, NaN}));
    CHECK(at2(f, {0, inf, NaN, inf}, {0, -inf, 1, NaN}, {0, inf, NaN, inf}, {0, NaN, NaN, NaN},
        {0, NaN, NaN, NaN}));
    CHECK(at2(f, {0, -0.0, 0, 5e-324}, {-0.0, -0.0, 5e-324, 0}, {0, 0, 5e-324, 5e-324},
        {0, 0, 0, 1}, {0, 0, 1, 0}));
    auto const modulus =
        function_of<double, double>([](auto a, auto b) { return abs(complex(a, b)); });
    Point const origin{reals({0, 3}), reals({0, 4})};
    for (auto const& each : {modulus, function_of<double, double>(f)}) {
        auto const second =
            second_order(each, origin, reals({1, 1}), {reals({1, 1}), reals({2, 2})});
        CHECK(holds(second[0].numbers, {0, (16. - 2 * 12) / 125}, 1e-15)); // of sqrt(a^2 + b^2)
        CHECK(holds(second[1].numbers, {0, (2 * 9. - 12) / 125}, 1e-15));
    }
}

TEST_CASE("a threshold of the modulus has gradients at 0 where the divisor is made harmless") {
    auto const soft = function_of<cd>([](auto z) { return z * (1 - 0.5 / maximum(abs(z), 0.5)); });
    Values const x{xg::DType::complex128, {3}, {0, cd(0.1, 0.2), cd(3, 4)}},
        ones{xg::DType::complex128, {3}, {1, 1, 1}};
    CHECK(holds(value_of(soft, {x}).numbers, {0, 0, cd(2.7, 3.6)}, 1e-15));
    CHECK(holds(first_order(soft, {x}, ones)[0].numbers, {0, 0, cd(0.936, 0.048)}, 1e-15));
    CHECK(at([](auto v) { return abs(v); }, {0, 2}, {0, 2}, {0, 1}));
    CHECK(std::isnan(first_order(
        function_of<double>([](auto v) { return sqrt(abs2(v)); }), {reals({0})}, reals({1}))[0]
                         .numbers[0]
                         .real()));
}

TEST_CASE(
    "x log(y) is 0 where x is, even beside an infinite logarithm, and so is its gradient for x") {
    CHECK(at2([](auto x, auto y) { return xlogy(x, y); }, {0, -0.0, 0, 0, 0, 5, -1, 1, 0, 0, 3},
        {1, 0, -1, inf, NaN, 0, 0, inf, 0, -inf, 1}, {0, 0, 0, 0, NaN, -inf, inf, inf, 0, 0, 0},
        {0, 0, 0, inf, NaN, -inf, -inf, inf, 0, 0, 0},
        {0, NaN, 0, 0, NaN, inf, -inf, 0, NaN, 0, 3}));
}

TEST_CASE("mixed second derivatives of x log(y) are equal, and infinite at the origin") {
    auto const mixed = [](double at_x, double at_y) {
        xg::Tensor<double> const x({at_x}, xg::requires_grad), y({at_y}, xg::requires_grad);
        xg::Tensor<double> const value = sum(xlogy(x, y));
        auto const [gx, gy] = xg::grad(value, xg::inputs(x, y), {.create_graph = true});
        double const by_y = xg::grad(gx, y, {.retain_graph = true}).item();
        return std::pair(by_y, xg::grad(gy, x).item());
    };
    CHECK(mixed(0, 0) == std::pair(inf, inf));
    CHECK(mixed(0, 2) == std::pair(0.5, 0.5));
    CHECK(mixed(3, 0.25) == std::pair(4., 4.));
}

TEST_CASE(
    "second derivatives of x log(y) are 0, 1/y and -x/y^2, also where x is 0 and y negative") {
    auto const f = [](auto x, auto y) { return xlogy(x, y); };
    for (double const x : {0., -0.0, 2., -3.})
        for (double const y : {0.25, 2., -1., -4.}) {
            CAPTURE(x);
            CAPTURE(y);
            CHECK(has_second_derivatives(f, x, y, 0, 1 / y, -x / (y * y)));
        }
    CHECK(has_second_derivatives(f, 0, 0, 0, inf, NaN));
    CHECK(has_second_derivatives(f, 2, 0, 0, inf, -inf));
    CHECK(has_second_derivatives(f, 0, inf, 0, 0, 0));
}

TEST_CASE("logaddexp takes infinities, shares the gradient of equal ones, and does not overflow") {
    double const ln2 = std::numbers::ln2;
    auto const f = [](auto a, auto b) { return logaddexp(a, b); };
    CHECK(at2(f, {inf, -inf, inf, -inf, 1, 7, 0, 1e300, 2000, NaN, inf},
        {inf, -inf, -inf, 1, inf, -inf, 0, 1e300, -2000, 1, NaN},
        {inf, -inf, inf, 1, inf, 7, ln2, 1e300, 2000, NaN, NaN},
        {0.5, 0.5, 1, 0, 0, 1, 0.5, 0.5, 1, NaN, NaN},
        {0.5, 0.5, 0, 1, 1, 0, 0.5, 0.5, 0, NaN, NaN}));
    CHECK(differentiates(function_of<double, double>(f), {reals({1, 0, -2}), reals({1, 0, -2})}));
    Point const far{reals({2000, -2000, inf}), reals({-2000, 2000, inf})};
    Values const ones = reals({1, 1, 1});
    auto const second = second_order(
        function_of<double, double>(f), far, ones, {reals({1, 2, 3}), reals({4, 5, 6})});
    CHECK(holds(second[0].numbers, {0, 0, 0}));
    CHECK(holds(second[1].numbers, {0, 0, 0}));
}

TEST_CASE("the gamma function's logarithm and its derivatives have their poles at 0 and the "
          "negative whole numbers") {
    std::vector<cd> const x{0, -0.0, -3, inf, -inf, NaN};
    CHECK(at([](auto v) { return lgamma(v); }, x, {inf, inf, inf, inf, inf, NaN},
        {-inf, inf, NaN, inf, NaN, NaN}));
    CHECK(at([](auto v) { return digamma(v); }, x, {-inf, inf, NaN, inf, NaN, NaN},
        {inf, inf, inf, 0, NaN, NaN}));
    CHECK(at([](auto v) { return polygamma(1, v); }, x, {inf, inf, inf, 0, NaN, NaN},
        {-inf, -inf, -inf, 0, NaN, NaN}));
}

TEST_CASE("sinc is 1 at 0, and as smooth there as anywhere") {
    auto const f = function_of<double>([](auto x) { return sinc(x); });
    double const pi = std::numbers::pi;
    CHECK(has_gradients(f, {reals({0, -0.0, 1e-200, 1, inf, -inf, NaN})},
        {1, 1, 1, 0, NaN, NaN, NaN}, {{0, 0, -pi * pi / 3 * 1e-200, -1, NaN, NaN, NaN}}, 1e-15));
    Values const x = reals({0, -0.0, 1e-5, -1e-5}), ones = reals({1, 1, 1, 1});
    CHECK(holds(second_order(f, {x}, ones, {ones})[0].numbers,
        {-pi * pi / 3, -pi * pi / 3, -pi * pi / 3 * (1 - 0.3e-10 * pi * pi),
            -pi * pi / 3 * (1 - 0.3e-10 * pi * pi)},
        1e-14));
    for (double const at : {1e-3, -1e-6, 1e-9}) {
        double const t = pi * at, series = -pi * t / 3 * (1 - t * t / 10 + t * t * t * t / 280);
        CHECK(first_order(f, {reals({at})}, reals({1}))[0].numbers[0].real() / series ==
              doctest::Approx(1).epsilon(1e-14));
    }
    CHECK(differentiates(f, {reals({0, 1 / pi - 0.01, 1 / pi + 0.01, -0.2})}));
    CHECK(holds(value_of(function_of<cd>([](auto z) { return sinc(z); }),
                    {{xg::DType::complex128, {1}, {0}}})
                    .numbers,
        {1}));
}

TEST_CASE("lerp is exact at both ends, and differentiates for its weight") {
    auto const f =
        function_of<double, double, double>([](auto a, auto b, auto w) { return lerp(a, b, w); });
    CHECK(has_gradients(f,
        {reals({1e16, 1e16, 2, 2}), reals({1, 1, 6, 6}), reals({0, 1, 0.25, 0.75})},
        {1e16, 1, 3, 5}, {{1, 0, 0.75, 0.25}, {0, 1, 0.25, 0.75}, {1 - 1e16, 1 - 1e16, 4, 4}}));
    CHECK(differentiates(f, {reals({1, 2, 3}), reals({-1, 5, 0.5}), reals({0.2, 0.8, 1.5})}));
    Point const complex{{xg::DType::complex128, {2}, {cd(1, 2), cd(-1, 0.5)}},
        {xg::DType::complex128, {2}, {cd(0.5, 1), cd(2, -1)}},
        {xg::DType::complex128, {2}, {cd(0.2, 0.1), cd(1, 1)}}};
    CHECK(differentiates(
        function_of<cd, cd, cd>([](auto a, auto b, auto w) { return lerp(a, b, w); }), complex));
}

TEST_CASE("a choice does not hide a branch without a gradient") {
    CHECK(at(
        [](auto x) { return where(x > 0, sqrt(x), 0); }, {4, 0, -1}, {2, 0, 0}, {0.25, NaN, NaN}));
}

TEST_CASE("the second derivative is flat at corners and right beside them") {
    auto const second = [](Function const& f, std::vector<cd> x) {
        Values const v = reals(std::move(x)), ones = reals(std::vector<cd>(v.numbers.size(), 1));
        return second_order(f, {v}, ones, {ones})[0].numbers;
    };
    CHECK(holds(
        second(function_of<double>([](auto x) { return relu(x); }), {-1, 0, 1}), {0, 0, 0}, 0));
    CHECK(holds(
        second(function_of<double>([](auto x) { return abs(x); }), {-1, 0, 1}), {0, 0, 0}, 0));
    CHECK(holds(second(function_of<double>([](auto x) { return relu(x) * relu(x); }), {-1, 0, 1}),
        {0, 0, 2}, 0));
    CHECK(holds(second(function_of<double>([](auto x) { return clamp(x * x, 1, 4); }),
                    {0.5, 1, 1.5, 2, 2.5}),
        {0, 2, 2, 2, 0}, 0));
    CHECK(holds(second(function_of<double>([](auto x) { return maximum(x * x, x); }), {2, 1, 0.5}),
        {2, 1, 0}, 0));
    CHECK(holds(second(function_of<double>([](auto x) { return pow(x, 2); }), {0, 1}), {2, 2}, 0));
    CHECK(holds(second(function_of<double>([](auto x) { return pow(x, 1); }), {0, 1}), {0, 0}, 0));
}

TEST_CASE("what was not chosen gets gradient 0 even where an infinite gradient comes in") {
    auto const sent = [](auto f, bool recorded) {
        return first_order(
            function_of<double>(f), {reals({-1, 0.5, 2})}, reals({inf, inf, inf}), recorded)[0]
            .numbers;
    };
    for (bool const recorded : {false, true}) {
        CHECK(holds(sent([](auto x) { return relu(x); }, recorded), {0, inf, inf}));
        CHECK(holds(sent([](auto x) { return where(x > 1, x, 0); }, recorded), {0, 0, inf}));
        CHECK(holds(sent([](auto x) { return maximum(x, 1); }, recorded), {0, 0, inf}));
        CHECK(holds(sent([](auto x) { return minimum(x, 1); }, recorded), {inf, inf, 0}));
        CHECK(holds(sent([](auto x) { return clamp(x, 0, 1); }, recorded), {0, inf, 0}));
        CHECK(holds(sent([](auto x) { return clamp_min(x, 1); }, recorded), {0, 0, inf}));
        CHECK(holds(sent([](auto x) { return clamp_max(x, 1); }, recorded), {inf, inf, 0}));
    }
}
