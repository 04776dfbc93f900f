// The playground's parser: values and gradients beside closed forms of C++'s own complex functions,
// what binds more tightly, the recorded graph, and the sentences for malformed formulas.
#include <doctest/doctest.h>

#include "playground/answer.hpp"
#include "playground/formula.hpp"

namespace {

using playground::Complex;
using playground::Real;
using playground::Value;
using cd = std::complex<double>;
constexpr cd i(0, 1), z(0.7, -0.4), w(-1.3, 0.6);
constexpr double x = 0.6, y = -1.7;

bool close(cd a, cd b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }
cd number(Value const& value) {
    return std::visit([](auto const& t) { return cd(t.item()); }, value);
}

struct Computed {
    cd value;
    std::map<std::string, cd> gradients; // of the real part
};
/// At z and w, which are complex, and at x and y, which are real.
Computed compute(std::string const& formula) {
    std::map<std::string, Value> const at{{"x", Real(x, xgrad::requires_grad)},
        {"y", Real(y, xgrad::requires_grad)}, {"z", Complex(z, xgrad::requires_grad)},
        {"w", Complex(w, xgrad::requires_grad)}};
    std::vector<playground::Step> steps;
    auto const f = playground::evaluate(formula, at, steps);
    Computed result{number(f), {}};
    std::visit([](auto const& t) { sum(real(t)).backward(); }, f);
    for (auto const& name : playground::variables_of(formula))
        result.gradients[name] =
            std::visit([](auto const& leaf) { return cd(leaf.grad().item()); }, at.at(name));
    return result;
}
cd value(std::string const& formula) { return number(playground::evaluate(formula)); }

std::pair<std::string, std::size_t> fault(std::string const& formula) {
    try {
        std::vector<playground::Step> steps;
        playground::evaluate(formula, {{"x", Real(x)}, {"z", Complex(z)}}, steps);
    } catch (playground::FormulaError const& e) { return {e.what(), e.position}; }
    return {"no fault", 0};
}

bool has(std::string const& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("numbers, constants and what binds more tightly") {
    CHECK(value("1.5e1") == 15.);
    CHECK(value(".5 + 2.") == 2.5);
    CHECK(value("2e") == 2 * std::numbers::e);
    CHECK(value("2 + 3*4 - 6/2/3") == 13.);
    CHECK(value("2^3^2") == 512.);
    CHECK(value("-3^2") == -9.);
    CHECK(value("(-3)^2") == 9.);
    CHECK(value("2^-1") == 0.5);
    CHECK(value("--+-2") == -2.);
    CHECK(value("2(1 + 2)^2") == 18.);
    CHECK(close(value("2pi * i^2"), -2 * std::numbers::pi));
    CHECK(close(value("e^(i*pi) + 1"), 0));
    CHECK(close(value("1 + 2i - (3 - 4i) * 2"), cd(-5, 10)));
    CHECK(close(value("min(2, 3) - max(2, 3) + atan2(1, 1)"), -1 + std::numbers::pi / 4));
}

TEST_CASE("real functions and their gradients") {
    struct Row {
        std::string formula;
        double value, derivative;
    };
    double const logistic = 1 / (1 + std::exp(-x));
    for (auto const& [formula, expected, derivative] : {
             Row{"exp(x)", std::exp(x), std::exp(x)},
             {"log(x)", std::log(x), 1 / x},
             {"sqrt(x)", std::sqrt(x), 0.5 / std::sqrt(x)},
             {"sin(x)", std::sin(x), std::cos(x)},
             {"cos(x)", std::cos(x), -std::sin(x)},
             {"tan(x)", std::tan(x), 1 + std::pow(std::tan(x), 2)},
             {"sinh(x)", std::sinh(x), std::cosh(x)},
             {"cosh(x)", std::cosh(x), std::sinh(x)},
             {"tanh(x)", std::tanh(x), 1 - std::pow(std::tanh(x), 2)},
             {"asin(x)", std::asin(x), 1 / std::sqrt(1 - x * x)},
             {"acos(x)", std::acos(x), -1 / std::sqrt(1 - x * x)},
             {"atan(x)", std::atan(x), 1 / (1 + x * x)},
             {"sigmoid(x)", logistic, logistic * (1 - logistic)},
             {"relu(x) + relu(-x)", x, 1},
             {"erf(x)", std::erf(x), 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x)},
             {"abs(-x)", x, 1},
             {"abs2(x)", x * x, 2 * x},
             {"arg(x)", 0, 0},
             {"real(x) * conj(x) + imag(x)", x * x, 2 * x},
             {"x^3 - x^-2", x * x * x - 1 / (x * x), 3 * x * x + 2 / (x * x * x)},
             {"2^x", std::exp2(x), std::exp2(x) * std::numbers::ln2},
             {"x^x", std::pow(x, x), std::pow(x, x) * (std::log(x) + 1)},
         }) {
        CAPTURE(formula);
        auto const computed = compute(formula);
        CHECK(close(computed.value, expected));
        CHECK(close(computed.gradients.at("x"), derivative));
    }
    auto const two = compute("x * y^2 / (x - y) + atan2(y, x) * max(x, y)");
    double const q = x * x + y * y;
    CHECK(close(two.value, x * y * y / (x - y) + std::atan2(y, x) * x));
    CHECK(close(
        two.gradients.at("x"), -y * y * y / ((x - y) * (x - y)) - y / q * x + std::atan2(y, x)));
    CHECK(close(two.gradients.at("y"),
        (2 * x * y * (x - y) + x * y * y) / ((x - y) * (x - y)) + x / q * x));
}

TEST_CASE("holomorphic functions: the gradient of the real part is the derivative's conjugate") {
    struct Row {
        std::string formula;
        cd value, derivative;
    };
    for (auto const& [formula, expected, derivative] : {
             Row{"exp(z)", exp(z), exp(z)},
             {"log(z)", log(z), 1. / z},
             {"sqrt(z)", sqrt(z), 0.5 / sqrt(z)},
             {"sin(z)", sin(z), cos(z)},
             {"cos(z)", cos(z), -sin(z)},
             {"tan(z)", tan(z), 1. + tan(z) * tan(z)},
             {"sinh(z)", sinh(z), cosh(z)},
             {"cosh(z)", cosh(z), sinh(z)},
             {"tanh(z)", tanh(z), 1. - tanh(z) * tanh(z)},
             {"-z^3 + 2i*z", -z * z * z + 2. * i * z, -3. * z * z + 2. * i},
             {"(z - 1) / (z + i)", (z - 1.) / (z + i), (1. + i) / ((z + i) * (z + i))},
             {"z^z", pow(z, z), pow(z, z) * (log(z) + 1.)},
         }) {
        CAPTURE(formula);
        auto const computed = compute(formula);
        CHECK(close(computed.value, expected));
        CHECK(close(computed.gradients.at("z"), conj(derivative)));
    }
}

TEST_CASE("other complex functions, and real variables among complex ones") {
    auto const product = compute("conj(z) * w");
    CHECK(close(product.value, conj(z) * w));
    CHECK(close(product.gradients.at("z"), w)); // Re(conj(z) w) = x1 x2 + y1 y2
    CHECK(close(product.gradients.at("w"), z));
    CHECK(close(compute("abs(z)").gradients.at("z"), z / abs(z)));
    CHECK(close(compute("abs2(z)").gradients.at("z"), 2. * z));
    CHECK(close(compute("arg(z)").gradients.at("z"), i * z / std::norm(z)));
    CHECK(close(compute("real(z) - 2imag(z)").gradients.at("z"), 1. - 2. * i));
    auto const mixed = compute("exp(i*x) * z");
    CHECK(close(mixed.gradients.at("x"), (i * exp(i * x) * z).real()));
    CHECK(close(mixed.gradients.at("z"), conj(exp(i * x))));
}

TEST_CASE("malformed formulas: a sentence and a place") {
    using Fault = std::pair<std::string, std::size_t>;
    CHECK(fault(" ") == Fault{"the formula is empty", 0});
    CHECK(fault("x +") == Fault{"the formula ends where a value is missing", 3});
    CHECK(fault("x + * 2") == Fault{"a value is missing before '*'", 4});
    CHECK(fault("2 * (x + 1") == Fault{"this '(' is never closed", 4});
    CHECK(fault("x)") == Fault{"this ')' closes nothing", 1});
    CHECK(fault("(x, 2)") == Fault{"this ',' is not between arguments of a function", 2});
    CHECK(fault("x x") == Fault{"an operator is missing before 'x'", 2});
    CHECK(fault("1.2.3") == Fault{"an operator is missing before '.3'", 3});
    CHECK(fault("x + .") == Fault{"'.' is no number", 4});
    CHECK(fault("x \u00b7 2") == Fault{"'\u00b7' means nothing here", 2});
    CHECK(fault("q + 1") == Fault{"'q' has no value", 0});
    CHECK(fault("x(2)") == Fault{"there is no function 'x'; a product is written with '*'", 0});
    CHECK(fault("sin x") == Fault{"'(' is missing after 'sin'", 4});
    CHECK(fault("sin()") == Fault{"a value is missing before ')'", 4});
    CHECK(fault("1 + sin(x, x)") == Fault{"'sin' takes one argument, not 2", 4});
    CHECK(fault("max(x)") == Fault{"'max' takes two arguments, not 1", 0});
    CHECK(fault("max(x, 2z)") == Fault{"'max' takes real numbers only, and this is complex", 7});
    CHECK(fault(std::string(100, '(') + "x").first == "the formula is nested too deeply");
    CHECK(fault(std::string(100, '-') + "x").first == "the formula is nested too deeply");
    CHECK(fault(std::string(2000, 'x')).first ==
          "the formula is too long: at most 1000 characters are read");
}

TEST_CASE("the answer for the page") {
    auto const all = playground::answer("sin(x) * x", "x real 0\n");
    CHECK(has(all, R"("variables":[{"name":"x","kind":"real","value":"0"}],"value":["0"])"));
    CHECK(has(all, R"({"of":"f","variable":"x","value":["0"],"differences":["0"]})"));
    CHECK(has(all, R"j({"kind":"step","text":"sin(x)","node":"SinBackward","value":["0"],)j"
                   R"j("gradient":["0"]})j"));
    CHECK(has(all, R"("edges":[[1,0],[2,1],[3,1],[3,2]])"));

    auto const complex = playground::answer("z^2", "z complex pi - i\n");
    CHECK(has(complex, R"({"of":"Re f","variable":"z","value":["6.2831853071795862","2"])"));
    CHECK(has(complex, R"({"of":"Im f","variable":"z","value":["-2","6.2831853071795862"])"));

    CHECK(has(playground::answer("log(x)", "x real -1\n"), R"("value":["nan"])"));
    CHECK(has(playground::answer("2", ""), R"("value":["2"],"gradients":[])"));
    CHECK(has(playground::answer("x", ""), R"("edges":[[1,0]])"));
    CHECK(has(playground::answer("x + \"", ""), R"("error":"'\"' means nothing here")"));
    CHECK(has(playground::answer("x + \u00e9", ""), R"("of":"","position":4)"));
    CHECK(has(playground::answer("x + 1", "x real 2*y\n"),
        R"("error":"a value has no variables, and 'y' is one","of":"x","position":2)"));
    CHECK(has(playground::answer("x + 1", "x real i\n"),
        R"("error":"this value is complex, and x is real","of":"x","position":0)"));
    CHECK(has(
        playground::answer("x + 1", "x real \n"), R"("error":"the formula is empty","of":"x")"));
}
