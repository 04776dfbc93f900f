// Operands that do not fit: the message names operation and shapes, and nothing is left half done.
#include "compare.hpp"

TEST_CASE("operands that do not broadcast are refused with the operation and both shapes") {
    D const a({1., 2., 3.}, xg::requires_grad), b({1., 2.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(
        D(a + b), doctest::Contains("+: shapes [3] and [2] do not broadcast"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        D(a * b), doctest::Contains("*: shapes [3] and [2] do not broadcast"), xg::ShapeError);
    D const m = xg::ones({2, 3});
    CHECK_THROWS_WITH_AS(D(m * xg::ones({4, 1, 2})),
        doctest::Contains("*: shapes [2, 3] and [4, 1, 2] do not broadcast"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(sum(a * b), doctest::Contains("*: shapes [3] and [2]"), xg::ShapeError);
    CHECK_FALSE(a.grad().defined());
    sum(a * a).backward();
    CHECK(difference(a.grad(), {2., 4., 6.}) == "");
}

TEST_CASE("in a fused expression the operation that does not fit is the one named") {
    D const a({1., 2., 3.}), b({1., 2.});
    CHECK_THROWS_WITH_AS(
        D(exp(a) * (a - b)), doctest::Contains("-: shapes [3] and [2]"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        D(exp(a) * (b + b)), doctest::Contains("*: shapes [3] and [2]"), xg::ShapeError);
    CHECK_THROWS_AS((a - b).shape(), xg::ShapeError);
}

TEST_CASE("matrices that cannot be multiplied, joined or stacked are refused with their shapes") {
    D const m = xg::ones({2, 3});
    CHECK_THROWS_WITH_AS(
        matmul(m, m), doctest::Contains("matmul: shapes [2, 3] and [2, 3]"), xg::ShapeError);
    CHECK_THROWS_AS(matmul(m, D(1.)), xg::ShapeError);
    CHECK_THROWS_WITH_AS(dot(m, m), doctest::Contains("dot"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::cat(std::vector{m, xg::ones({2, 4})}),
        doctest::Contains("cat: shapes [2, 3] and [2, 4]"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::cat(std::vector{m, m}, 2),
        doctest::Contains("cat: axis 2 is out of range"), xg::IndexError);
    CHECK_THROWS_AS(xg::cat(std::vector{m, xg::ones({2, 3, 1})}), xg::ShapeError);
    CHECK_THROWS_AS(xg::cat(std::vector<D>{}), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::stack(std::vector{m, xg::ones({3, 2})}),
        doctest::Contains("stack: shapes [2, 3] and [3, 2]"), xg::ShapeError);
    CHECK_THROWS_AS(xg::stack(std::vector<D>{}), xg::ShapeError);
}

TEST_CASE("a gradient of another shape is not taken over") {
    D x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(x.set_grad(D({1., 2., 3.})),
        doctest::Contains(
            "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'"),
        xg::ShapeError);
    CHECK_FALSE(x.grad().defined());
    x.set_grad(D({5., 6.}));
    CHECK(difference(x.grad(), {5., 6.}) == "");
    x.zero_grad();
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a tensor is not its own gradient") {
    D x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_AS(x.set_grad(x), xg::Error);
    CHECK_FALSE(x.grad().defined());
    x.zero_grad();
}

namespace {

/// What f's error says before " is undefined" and the reasons, which every such error ends with.
template <class F> std::string undefined(F f) {
    std::string const reasons = " is undefined: it was default-constructed, moved from or "
                                "released, or it is the grad() of a tensor "
                                "that no backward pass has reached";
    try {
        f();
    } catch (xg::Error const& e) {
        std::string const text = e.what();
        return text.ends_with(reasons) ? text.substr(0, text.size() - reasons.size()) : text;
    }
    return "nothing";
}

D taken_apart(D const& x) { return xg::zeros(x.shape()); }

} // namespace

TEST_CASE("an undefined operand is named with its operation and its number") {
    D x({1., 2.}, xg::requires_grad), u;
    D const m({{1., 2.}, {3., 4.}});
    CHECK(undefined([&] { D(x - 0.1 * x.grad()); }) == "*: argument 1"); // no pass yet
    CHECK(undefined([&] { D(x * exp(sin(u) + x)); }) == "sin: argument 0");
    CHECK(undefined([&] { (x + 2. * u).shape(); }) == "*: argument 1");
    CHECK(undefined([&] { D(where(x > 0., u, x)); }) == "where: argument 1");
    CHECK(undefined([&] { sum(u); }) == "sum: argument 0");
    CHECK(undefined([&] { sum(x * u); }) == "*: argument 1");
    CHECK(undefined([&] { mean(u, {0}); }) == "mean: argument 0");
    CHECK(undefined([&] { amax(u, {0}); }) == "amax: argument 0");
    CHECK(undefined([&] { reshape(u, {1}); }) == "reshape: argument 0");
    CHECK(undefined([&] { u += x; }) == "+=: argument 0");
    CHECK(undefined([&] { D(m.array()) += u; }) == "+=: argument 1");
    CHECK(undefined([&] { xg::cat(std::vector{x, x, u}); }) == "cat: argument 2");
    CHECK(undefined([&] { xg::stack(std::vector{x, u}); }) == "stack: argument 1");
    CHECK(undefined([&] { dot(x, u); }) == "dot: argument 1");
    CHECK(undefined([&] { fft(u); }) == "fft: argument 0");
    CHECK(undefined([&] { sort(u); }) == "sort: argument 0");
    CHECK(undefined([&] { Z().real(); }) == "real: argument 0");
}

TEST_CASE("an undefined tensor is named by the function that asks it for something") {
    D u;
    D const m({{1., 2.}, {3., 4.}});
    CHECK(undefined([&] { u.item(); }) == "item: a tensor whose numel() is asked for");
    CHECK(undefined([&] { u.data(); }) == "data: a tensor");
    CHECK(undefined([&] { u.detach(); }) == "detach: a tensor");
    CHECK(undefined([&] { u.backward(); }) == "backward: a tensor");
    CHECK(undefined([&] { u.requires_grad_(); }) == "requires_grad_: a tensor");
    CHECK(undefined([&] { taken_apart(u); }) == "taken_apart: a tensor whose shape() is asked for");
    CHECK(undefined([&] { transpose(u); }) == "transpose: a tensor whose dim() is asked for");
    CHECK(undefined([&] { matmul(m, u); }) == "matmul: a tensor whose shape() is asked for");
    D moved(m), to(std::move(moved));
    CHECK(undefined([&] { moved.data(); }) == "data: a tensor");
}

TEST_CASE("an undefined output or input of a pass is named with its number") {
    D x({1., 2.}, xg::requires_grad), u;
    CHECK(undefined([&] { xg::backward({sum(x), u}); }) == "backward: output 1");
    CHECK(undefined([&] { sum(x).backward({.inputs = {x, u}}); }) == "backward: input 1");
    CHECK(undefined([&] { xg::grad(u, x); }) == "grad: output 0");
    CHECK(undefined([&] { xg::grad(sum(x), u); }) == "grad: input 0");
    CHECK(undefined([&] { xg::grad({sum(x)}, {x, u}); }) == "grad: input 1");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("every error is an xgrad::Error and a std::runtime_error") {
    D const a({1., 2., 3.}), b({1., 2.});
    CHECK_THROWS_AS(D(a + b), xg::Error);
    CHECK_THROWS_AS(D(a + b), std::runtime_error);
    CHECK_THROWS_AS(a(5), xg::Error);
    CHECK_THROWS_AS(a.backward(), xg::Error);
}

TEST_CASE("cat and stack put gradients back where they came from") {
    D const a({1., 2.}, xg::requires_grad), b({3.}, xg::requires_grad), c({4., 5.});
    D const y = xg::cat(std::vector{a, b, c});
    CHECK(difference(y, {1., 2., 3., 4., 5.}) == "");
    CHECK(y.grad_fn()->name() == "CatBackward");
    y.backward(D({1., 2., 3., 4., 5.}));
    CHECK(difference(a.grad(), {1., 2.}) == "");
    CHECK(difference(b.grad(), {3.}) == "");
    CHECK_FALSE(c.grad().defined());
    D const s = xg::stack(std::vector{a, c}, -1);
    CHECK(difference(s, {{1., 4.}, {2., 5.}}) == "");
    D const g = grad(sum(s * s), a, {.create_graph = true});
    CHECK(difference(g, {2., 4.}) == "");
    CHECK(difference(grad(sum(g), a), {2., 2.}) == "");
}
