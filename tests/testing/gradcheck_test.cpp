// gradcheck() and gradgradcheck(): right gradients pass, each kind of wrong one is told with its
// place and its numbers.
#include <xgrad/functional/vjp.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

struct AlmostSin : xg::Elementwise<xg::R(xg::R)> {
    auto value(auto x) const { return sin(x); }
    auto partial(xg::wrt<0>, auto, auto x) const { return 1.01 * cos(x); }
};
/// The value of |z|^2 as a complex number, with a rule for holomorphic functions.
struct NotHolomorphic : xg::Elementwise<xg::C(xg::C)> {
    auto value(auto z) const { return z * conj(z); }
    auto partial(xg::wrt<0>, auto, auto z) const { return conj(z); }
};
/// y = x, with a backward pass of one's own.
class Custom : public xg::Node {
public:
    using Backward = std::function<xg::AnyTensor(xg::AnyTensor const&)>;
    Custom(xg::AnyTensor const& x, Backward f)
        : edge_(xg::detail::gradient_edge(x)), f_(std::move(f)) {
        set_edges(&edge_, 1);
    }
    void apply(std::span<xg::AnyTensor> gradients, std::span<xg::AnyTensor> results) override {
        results[0] = f_(gradients[0]);
    }
    std::string name() const override { return "CustomBackward"; }

private:
    xg::Edge edge_;
    Backward f_;
};
auto identity_with(Custom::Backward f) {
    return [f](D const& x) {
        D y = x.detach().clone();
        y.impl().grad_fn = xg::detail::Ref<xg::Node>(new Custom(x, f));
        return y;
    };
}

/// x^2 with the right gradient, which does not know that it depends on x.
D square_once(D const& x) {
    D y = D(x * x).detach();
    y.impl().grad_fn =
        xg::detail::Ref<xg::Node>(new Custom(x, [old = x.detach()](xg::AnyTensor const& g) {
            return g.defined() ? xg::AnyTensor(D(2. * old * g.as<double>())) : g;
        }));
    return y;
}

template <class F, class X>
std::string complaint(F f, X const& x, xg::GradcheckOptions const& options = {}) {
    try {
        xg::gradcheck(f, x, options);
    } catch (xg::GradcheckError const& error) { return error.what(); }
    return "none";
}

D const x({0.5, -1.25, 2.}, xg::requires_grad);
Z const z({{1. + 2.i, -0.5 + 0.25i}}, xg::requires_grad);

} // namespace

TEST_CASE("right gradients pass") {
    D const w({{1., 2., 3.}, {0.5, -1., 0.25}}, xg::requires_grad);
    CHECK(xg::gradcheck([](D const& a) { return a * a; }, x));
    CHECK(xg::gradcheck(
        [](D const& a, D const& b) { return std::tuple(sin(a) * b, sum(b, {1}), a > 0.); },
        xg::inputs(x, w)));
    CHECK(xg::gradcheck([](D const& a) { return a.t(); }, w));
    CHECK(xg::gradcheck([](D const& a) { return a; }, D(w.detach().t()).requires_grad_()));
    CHECK(xg::gradgradcheck(
        [](D const& a, D const& b) { return std::tuple(sin(a) * b, exp(sum(a))); },
        xg::inputs(x, w)));
    CHECK(xg::gradgradcheck(
        [](D const& a) { return a * a * a; }, x, D({1., 2., 3.}, xg::requires_grad)));
    CHECK_FALSE(x.grad().defined());
    CHECK(x.version() == 0);
}

TEST_CASE("right gradients of complex functions pass") {
    CHECK(xg::gradcheck([](Z const& a) { return exp(a) * conj(a); }, z));
    CHECK(
        xg::gradcheck([](Z const& a) { return std::tuple(abs(a), a * a, angle(a), real(a)); }, z));
    CHECK(xg::gradcheck(
        [](D const& a, Z const& b) { return unsqueeze(b, 2) * a; }, xg::inputs(x, z)));
    CHECK(xg::gradgradcheck([](Z const& a) { return a * a * conj(a); }, z));
    CHECK(xg::gradgradcheck([](Z const& a) { return abs(a); }, z));
    CHECK(xg::gradcheck([](D const& a) { return polar(a, 2. * a); }, x));
}

TEST_CASE("tensors that need no gradient, and of other types, are passed on") {
    D const c({1., 2., 3.});
    xg::Tensor<bool> const mask({true, false, true});
    xg::Tensor<std::int64_t> const n({1, 2, 3});
    auto const f = [](D const& a, D const& b, auto const& m, auto const& k) {
        return where(m, a * b, 0.) * k;
    };
    CHECK(xg::gradcheck(f, xg::inputs(x, c, mask, n)));
    CHECK(xg::gradgradcheck(f, xg::inputs(x, c, mask, n)));
}

TEST_CASE("a wrong entry is named with both numbers") {
    D const at({{0., 1.}, {0., 0.}}, xg::requires_grad);
    auto const f = [](D const& a, D const& b) {
        return std::tuple(a * a, xg::apply<AlmostSin>(b));
    };
    auto const text = complaint(f, xg::inputs(x, at));
    CHECK(text.starts_with(
        "gradcheck: Jacobian mismatch for output 1 with respect to input 1, at element [0, 0] of "
        "the output and element [0, 0] of the input: numerical: "));
    CHECK(text.find("numerical: 1, analytical: 1.01 (4 of 16 entries disagree") != text.npos);
    CHECK(text.find("output 0") == text.npos);
    CHECK(complaint(f, xg::inputs(x, at), {.rtol = 0.02}) == "none");
    CHECK(complaint(f, xg::inputs(x, at), {.atol = 0.02}) == "none");
    CHECK_FALSE(xg::gradcheck(f, xg::inputs(x, at), {.raise_exception = false}));
}

TEST_CASE("a rule for holomorphic functions on one that is not is found out") {
    auto const text = complaint(
        [](Z const& a) { return xg::apply<NotHolomorphic>(a); }, Z({1. + 2.i}, xg::requires_grad));
    // the gradient of Re y = |z|^2 is 2 z, the rule gives z; that of Im y is 0, the rule gives i z
    CHECK(
        text.find(
            "While considering the real part of complex outputs only, Jacobian mismatch for output "
            "0 with respect to input 0, at element [0] of the output and element [0] of the input: "
            "numerical: 2") != text.npos);
    CHECK(text.find("analytical: 1+2i") != text.npos);
    CHECK(text.find("While considering the imaginary part of complex outputs only, Jacobian "
                    "mismatch for output 0 with respect to input 0, ") != text.npos);
    CHECK(text.find("analytical: -2+1i") != text.npos);
}

TEST_CASE("a wrong second derivative passes gradcheck and fails gradgradcheck") {
    CHECK(xg::gradcheck(square_once, x));
    CHECK_THROWS_WITH_AS(xg::gradgradcheck(square_once, x),
        doctest::Contains("gradgradcheck: Jacobian mismatch for output 0 with respect to input 0"),
        xg::GradcheckError);
    CHECK_FALSE(xg::gradgradcheck(square_once, x, {.raise_exception = false}));
}

TEST_CASE("wrong backward passes of Nodes") {
    CHECK(complaint(identity_with([](xg::AnyTensor const& g) { return g; }), x) == "none");
    CHECK(complaint(identity_with([](xg::AnyTensor const& g) {
        return g.defined() ? xg::AnyTensor(D(g.as<double>() + 1e-6)) : g;
    }),
              x) == "gradcheck: backward not multiplied by grad_output: zeros come in, and the "
                    "gradient for input 0 is not zero");
    auto const needs_gradient =
        complaint(identity_with([](xg::AnyTensor const& g) { return D(g.as<double>() * 1.); }), x);
    CHECK(needs_gradient.starts_with(
        "gradcheck: Expected backward function to handle undefined output grads. It threw: "));
    CHECK(complaint(identity_with([](xg::AnyTensor const& g) { return D(g.as<double>() * 1.); }), x,
              {.check_undefined_grad = false}) == "none");
    CHECK(complaint(identity_with([](xg::AnyTensor const& g) {
        return g.defined() ? g : xg::AnyTensor(xg::ones({3}));
    }),
        x)
              .starts_with("gradcheck: Expected all input grads to be undefined or zero when all "
                           "output grads are undefined or zero"));
    double calls = 0;
    auto const unsteady = identity_with([&](xg::AnyTensor const& g) {
        return g.defined() ? xg::AnyTensor(D(g.as<double>() * (1 + 1e-8 * ++calls))) : g;
    });
    CHECK(complaint(unsteady, x)
              .starts_with("gradcheck: Backward is not reentrant, i.e., running backward with same "
                           "input and grad_output multiple times gives different values"));
    CHECK(complaint(unsteady, x, {.nondet_tol = 1e-6}) == "none");
    CHECK(complaint(identity_with([](xg::AnyTensor const&) { return xg::ones({2}); }), x) ==
          "gradcheck: grad is incorrect type or size: the gradient for input 0, which is [float64 "
          "[3]], is [float64 [2]]");
    CHECK(complaint(identity_with([](xg::AnyTensor const&) {
        return xg::AnyTensor(D({NAN, 1., 1.}));
    }),
              x)
              .find("analytical: nan") != std::string::npos);
}

TEST_CASE("one undefined gradient of several") {
    // both outputs lead through one Node each; each must do without its gradient
    auto const one = identity_with([](xg::AnyTensor const& g) { return g; });
    auto const other = identity_with([](xg::AnyTensor const& g) { return D(g.as<double>() * 1.); });
    CHECK(complaint([&](D const& a) { return std::tuple(one(a), one(a)); }, x) == "none");
    CHECK(complaint([&](D const& a) { return std::tuple(one(a), other(a)); }, x)
              .find("handle undefined output grads") != std::string::npos);
}

TEST_CASE("outputs without a gradient must not depend on the inputs") {
    CHECK(complaint([](D const& a) { return a.detach() * 2.; }, x) ==
          "gradcheck: Numerical gradient for function expected to be zero: no output requires a "
          "gradient, but output 0 depends on input 0");
    CHECK(complaint([](D const& a) { return D(sign(a)).detach(); }, x) == "none");
    CHECK(complaint([](D const& a) { return a > 0.; }, x) == "none");
    CHECK_THROWS_WITH_AS(xg::gradgradcheck([](D const& a) { return a.detach(); }, x),
        "gradgradcheck: no output of the function requires a gradient", xg::GraphError);
}

TEST_CASE("calls that cannot be answered throw always") {
    xg::GradcheckOptions const quiet{.raise_exception = false};
    auto const square = [](auto const& a) { return a * a; };
    CHECK_THROWS_WITH_AS(xg::gradcheck(square, D({1.}), quiet),
        doctest::Contains("gradcheck expects at least one input tensor to require gradient"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::gradcheck(square, D(D({1.}, xg::requires_grad).expand({2})), quiet),
        doctest::Contains("The 0th input has a dimension with stride 0"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        xg::gradcheck(square, D(), quiet), "gradcheck: input 0 is undefined", xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::gradcheck([](D const& a) -> D { return D(a(a > 0.5)); }, x, quiet),
        doctest::Contains(
            "gradcheck: output 0 of the function is [float64 [1]], and [float64 [2]]"),
        xg::GraphError);
    CHECK_THROWS_AS(xg::gradcheck([](D const&) -> D { throw 7; }, x, quiet), int);
}

TEST_CASE("single precision is warned of") {
    std::vector<std::string> warnings;
    auto const before =
        xg::set_warning_handler([&](std::string const& text) { warnings.push_back(text); });
    F const single({0.5f, 2.f}, xg::requires_grad);
    CHECK_FALSE(
        xg::gradcheck([](F const& a) { return a * a; }, single, {.raise_exception = false}));
    CHECK(xg::gradcheck([](F const& a) { return a * a; }, single, {.eps = 1e-2, .atol = 1e-3}));
    xg::set_warning_handler(before);
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].find("Input #0 requires gradient and is not a double precision floating "
                           "point or complex.") != std::string::npos);
}

TEST_CASE("transforms in a checked function, and modes of the caller") {
    xg::NoGradGuard const off;
    auto const gradient = [](D const& a) {
        return xg::vjp([](D const& b) { return sum(b * b * b); }, a).second;
    };
    CHECK(xg::gradcheck(gradient, x));
    CHECK(xg::gradgradcheck(gradient, x));
    CHECK_FALSE(xg::is_grad_enabled());
}
