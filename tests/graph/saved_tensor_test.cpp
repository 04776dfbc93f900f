// What Nodes save for backward, how a program reads it, and when it is freed.
#include "walk.hpp"

namespace {

/// The names of what a tensor's maker holds: "a b result".
std::string saves(xg::AnyTensor const& t) {
    std::string names;
    for (auto const& saved : t.grad_fn()->saved_tensors())
        if (saved.tensor->holds()) names += (names.empty() ? "" : " ") + saved.name;
    return names;
}

} // namespace

TEST_CASE("operations save what their gradients look at") {
    D const x({0.5, 0.75}, xg::requires_grad), w({3., 4.}, xg::requires_grad),
        m({{1., 2.}, {3., 4.}}, xg::requires_grad);
    CHECK(saves(D(x + w)) == "");
    CHECK(saves(D(x * 2. - 1.)) == "");
    CHECK(saves(D(-x)) == "");
    CHECK(saves(sum(x)) == "");
    CHECK(saves(D(x * w)) == "a b");
    CHECK(saves(D(x * x)) == "a");
    CHECK(saves(D(x / w)) == "a b");
    CHECK(saves(D(sin(x))) == "a");
    CHECK(saves(D(log(x))) == "a");
    CHECK(saves(matmul(m, m)) == "a b");
    CHECK(saves(D(exp(x))) == "result");
    CHECK(saves(D(sigmoid(x))) == "result");
    CHECK(saves(D(tanh(x))) == "result");
    CHECK(saves(D(sqrt(x))) == "result");
}

TEST_CASE("operations save the operand or the result as in PyTorch") {
    D const x({0.5, 0.75}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    for (auto const& of_result : {D(exp(x)), D(expm1(x)), D(sigmoid(x)), D(tanh(x)), D(tan(x)),
             D(sqrt(x)), D(rsqrt(x)), D(reciprocal(x)), D(relu(x))})
        CHECK(saves(of_result) == "result");
    for (auto const& of_operand : {D(softplus(x)), D(log(x)), D(log1p(x)), D(sin(x)), D(cos(x)),
             D(asin(x)), D(atan(x)), D(sinh(x)), D(cosh(x)), D(abs(x)), D(square(x)),
             D(pow(x, 2.5)), D(erf(x)), D(sinc(x)), D(lgamma(x)), D(clamp(x, 0, 1))})
        CHECK(saves(of_operand) == "a");
    for (auto const& of_both : {D(pow(x, w)), D(hypot(x, w)), D(atan2(x, w)), D(maximum(x, w)),
             D(xlogy(x, w)), D(logaddexp(x, w))})
        CHECK(saves(of_both) == "a b"); // PyTorch saves the results of pow and hypot, too
    CHECK(saves(D(angle(x))) == "");
    CHECK(saves(D(sign(x))) == "");
    CHECK(saves(D(round(x))) == "");
}

TEST_CASE("what an operation does not save may change") {
    D const x({-1., 2.}, xg::requires_grad);
    D h = x * 1.;
    D const y = relu(h);
    h *= y;
    sum(h + y).backward(); // x relu(x) + relu(x)
    CHECK(difference(x.grad(), {0., 5.}) == "");

    D const v({-1., 2.}, xg::requires_grad);
    D z = softplus(v);
    z *= 2.;
    sum(z).backward();
    CHECK(difference(v.grad(), {2 / (1 + std::exp(1.)), 2 / (1 + std::exp(-2.))}) == "");
}

TEST_CASE("nothing is saved for a gradient that nobody wants") {
    D const x({0.5, 0.75}, xg::requires_grad), c({5., 6.});
    CHECK(saves(D(x * c)) == "b");
    CHECK(saves(D(c * x)) == "a");
    CHECK(saves(D(x / c)) == "b");
    CHECK(saves(D(c / x)) == "a b");
    CHECK(saves(matmul(D({{0.5, 0.75}}, xg::requires_grad), D({{5.}, {6.}}))) == "b");
    CHECK(saves(D(x + exp(c))) == "");
    CHECK(saves(D(where(c > 5., x, c))) == "a");
}

TEST_CASE("views save shapes only, so their backward pass can be repeated") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const y = x * 2.;
    for (D const& view : {y[0], y.t(), y.view({4}), y.expand({2, 2, 2}), y.diagonal(),
             y.unbind()[0], y.split(1)[1], y(xt::all(), xg::slice(1))})
        CHECK(saves(view) == "");
    CHECK(saves(D(y(y > 2.))) == "");
    D const z = sum(y[0] + y.t()(1));
    z.backward();
    z.backward();
    CHECK(difference(x.grad(), {{4., 8.}, {0., 4.}}) == "");
}

TEST_CASE("a saved operand is the leaf itself, or the tensor with its history") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x, z = y * y;
    CHECK(y.grad_fn()->saved("a").unpack().is_same(x));
    auto const a = z.grad_fn()->saved("a").unpack();
    CHECK(a.grad_fn() == y.grad_fn());
    CHECK(share_memory(a, y));
    CHECK(difference(a.as<double>(), {1., 4.}) == "");
    D const e = exp(x);
    auto const result = e.grad_fn()->saved("result").unpack();
    CHECK(result.grad_fn() == e.grad_fn());
    CHECK(share_memory(result, e));
    CHECK_THROWS_WITH_AS(static_cast<void>(z.grad_fn()->saved("q")),
        "MulBackward saves no tensor called 'q'; it saves a", xg::IndexError);
}

TEST_CASE("saved tensors are freed by backward, unless it is told to keep them") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    D const z = sum(y * y);
    auto* const node = y.grad_fn();
    z.backward({.retain_graph = true});
    CHECK(saves(y) == "a");
    z.backward();
    CHECK(saves(y) == "");
    auto const text =
        doctest::Contains("Trying to backward through the graph a second time (or directly access "
                          "saved tensors after they have already been freed).");
    CHECK_THROWS_WITH_AS(z.backward(), text, xg::GraphError);
    CHECK_THROWS_WITH_AS(static_cast<void>(node->saved("a").unpack()), text, xg::GraphError);
    CHECK_THROWS_WITH_AS(sum(y).backward(), text, xg::GraphError);
    CHECK(difference(x.grad(), {8., 64.}) == "");
}

TEST_CASE("what was changed since cannot be unpacked") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1.;
    D const z = y * y;
    auto const handle = z.grad_fn()->saved("a");
    y += 1.;
    CHECK_THROWS_AS(static_cast<void>(handle.unpack()), xg::VersionError);
}

TEST_CASE("a handle keeps the Node alive") {
    D const x({1., 2.}, xg::requires_grad);
    auto const handle = D(x * x).grad_fn()->saved("a");
    CHECK(handle.unpack().is_same(x));
}

TEST_CASE("memory that only a Node holds is freed when its pass is over") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 2.;
    xg::WeakTensor const gone(y);
    D const z = sum(y * y);
    y = D();
    CHECK_FALSE(gone.lock().defined());
    z.backward();
    CHECK(difference(x.grad(), {8., 16.}) == "");
}

TEST_CASE("a tensor that is changed in place or detached later keeps no memory cycle") {
    xg::WeakTensor weak;
    {
        D const x({1., 2.}, xg::requires_grad);
        D y = x * 1.;
        weak = xg::WeakTensor(y);
        D view = y[0];
        y *= y;
        y.exp_();
        view.mul_(view);
        y[1] = sum(y);
        CHECK(y.requires_grad());
    }
    CHECK_FALSE(weak.lock().defined());
}

TEST_CASE("detaching an operand in place leaves what was recorded as it was") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3.;
    D const z = y * y;
    y.detach_();
    CHECK_FALSE(y.requires_grad());
    auto const g = grad(z, x, {.gradients = {D({1., 1.})}, .create_graph = true});
    CHECK(difference(g, {18., 36.}) == "");
    CHECK(difference(grad(sum(g), x), {18., 18.}) == "");
}
