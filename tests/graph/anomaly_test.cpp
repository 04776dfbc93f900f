// Anomaly mode: gradients that are NaN stop the pass with the operation's name and place.
#include "walk.hpp"

namespace {

std::string const here = "anomaly_test.cpp:";

/// Warnings that f causes, and what it throws.
template <class F> std::pair<std::vector<std::string>, std::string> outcome(F f) {
    std::vector<std::string> warnings;
    std::string thrown;
    auto const before =
        xg::set_warning_handler([&](std::string const& text) { warnings.push_back(text); });
    try {
        f();
    } catch (xg::Error const& e) { thrown = e.what(); }
    xg::set_warning_handler(before);
    return {warnings, thrown};
}

bool contains(std::string const& text, std::string const& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a NaN in a gradient names the operation, its output and the line that recorded it") {
    D const x({0., 1.}, xg::requires_grad), w({1., 1.});
    xg::AnomalyMode const on;
    D const y = x * w;
    D const r = sqrt(y);
    int const line = __LINE__ - 1;
    auto const [warnings, message] = outcome([&] { r.backward(D({0., 1.})); });
    auto const& thrown = message; // clang 15 does not capture structured bindings
    CAPTURE(thrown);
    CHECK(contains(thrown, "Function 'SqrtBackward' returned nan values in its 0th output."));
    CHECK(contains(thrown, here + std::to_string(line)));
    REQUIRE(warnings.size() == 1);
    CHECK(contains(warnings[0],
        "Error detected in SqrtBackward. Traceback of forward call that caused the error:"));
    CHECK(contains(warnings[0], here + std::to_string(line)));
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("without anomaly mode, and with check_nan off, NaN goes through") {
    D const x({0., 1.}, xg::requires_grad);
    auto const pass = [&] { D(sqrt(x * 1.)).backward(D({0., 1.})); };
    CHECK(outcome(pass).second == "");
    CHECK(std::isnan(values(x.grad())[0]));
    D(x).zero_grad();
    xg::AnomalyMode const on(false);
    auto const [warnings, thrown] = outcome(pass);
    CHECK(thrown == "");
    CHECK(warnings.empty());
    CHECK(std::isnan(values(x.grad())[0]));
}

TEST_CASE("a graph from before has no place to tell, but the operation is named") {
    D const x({0., 1.}, xg::requires_grad);
    D const y = sqrt(x * 1.);
    xg::AnomalyMode const on;
    auto const thrown = outcome([&] { y.backward(D({0., 1.})); }).second;
    CHECK(contains(thrown, "Function 'SqrtBackward' returned nan values in its 0th output."));
    CHECK_FALSE(contains(thrown, "recorded at"));
}

TEST_CASE("infinities and NaN in the values alone are no anomaly") {
    D const x({0., -1.}, xg::requires_grad);
    xg::AnomalyMode const on;
    CHECK(outcome([&] { sum(log(x)).backward(); }).second == "");
    CHECK(std::isinf(values(x.grad())[0]));
}

TEST_CASE("the second output is named where the second gradient is NaN") {
    D const x({1.}, xg::requires_grad), y({0.}, xg::requires_grad);
    xg::AnomalyMode const on;
    auto const thrown = outcome([&] { D(x + sqrt(y)).backward(D({0.})); }).second;
    CHECK(contains(thrown, "Function 'AddBackward' returned nan values in its 1th output."));
}

TEST_CASE("complex gradients are looked at, both parts") {
    Z const z({complex<double>(0, 0)}, xg::requires_grad);
    xg::AnomalyMode const on;
    CHECK(contains(outcome([&] { Z(sqrt(z)).backward(Z({complex<double>(0, 0)})); }).second,
        "Function 'SqrtBackward' returned nan values"));
}

TEST_CASE(
    "a NaN in a second derivative tells what recorded the Node and which backward pass that was") {
    D const x({0.}, xg::requires_grad);
    xg::AnomalyMode const on;
    D const y = pow(x, 1.5);
    int const line = __LINE__ - 1;
    D const g = grad(y, x, {.gradients = {D({1.})}, .create_graph = true});
    CHECK(difference(g, {0.}) == "");
    auto const thrown = outcome([&] { g.backward(D({0.})); }).second;
    CAPTURE(thrown);
    CHECK(contains(thrown, "returned nan values in its 0th output."));
    CHECK(contains(thrown,
        "induced by the backward pass of " + y.grad_fn()->name() + ", which was recorded at"));
    CHECK(contains(thrown, here + std::to_string(line)));
    CHECK_FALSE(contains(thrown, "traced.hpp"));
    CHECK_FALSE(contains(thrown, "gradient_arithmetic.hpp"));
}

TEST_CASE("a NaN in a third derivative tells the whole chain") {
    D const x({0.}, xg::requires_grad);
    xg::AnomalyMode const on;
    D const y = pow(x, 2.5);
    D const g = grad(y, x, {.gradients = {D({1.})}, .create_graph = true});
    D const h = grad(g, x, {.gradients = {D({1.})}, .create_graph = true});
    auto const thrown = outcome([&] { h.backward(D({0.})); }).second;
    CAPTURE(thrown);
    auto const first = thrown.find("That was induced by the backward pass of");
    REQUIRE(first != std::string::npos);
    CHECK(thrown.find("That was induced by the backward pass of " + y.grad_fn()->name(),
              first + 1) != std::string::npos);
}

TEST_CASE("a change in place and a view tell their line as well") {
    D const x({0., 1.}, xg::requires_grad);
    xg::AnomalyMode const on;
    D y = x * 1.;
    y.sqrt_();
    CHECK(contains(outcome([&] {
        y.backward(D({0., 1.}));
    }).second,
        "Function 'SqrtBackward' returned nan values in its 0th output. It is the backward pass of "
        "Sqrt(a). It was recorded at "));
}

TEST_CASE("the mode nests, restores, and outlives an error") {
    D const x({0.}, xg::requires_grad);
    auto const pass = [&] { D(sqrt(x * 1.)).backward(D({0.})); };
    {
        xg::AnomalyMode const on;
        {
            xg::AnomalyMode const unchecked(false);
            CHECK(outcome(pass).second == "");
        }
        CHECK(outcome(pass).second != "");
        CHECK(outcome(pass).second != "");
    }
    CHECK(outcome(pass).second == "");
}

TEST_CASE("an exception of a user's hook passes through the mode unchanged") {
    D const x({1.}, xg::requires_grad);
    xg::AnomalyMode const on;
    D y = x * x;
    y.register_hook([](D const&) { throw 42; });
    CHECK_THROWS_AS(y.backward(D({1.})), int);
    D(x * x).backward(D({1.}));
    CHECK(difference(x.grad(), {2.}) == "");
}
