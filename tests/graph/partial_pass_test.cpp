// A gradient in several passes: to intermediates first and on from there, and to some tensors only.
#include "walk.hpp"

TEST_CASE("gradients of intermediates, found in parts, go on to the leaves by backward") {
    std::vector<D> leaves;
    D total;
    std::vector<D> intermediates;
    for (int i = 0; i < 10; ++i) {
        leaves.push_back(D({1. + i, 2. + i}, xg::requires_grad));
        intermediates.push_back(exp(leaves.back()) * leaves.back());
        D const part = sum(abs2(intermediates.back()));
        total = total.defined() ? D(total + part) : part;
    }
    std::vector<xg::AnyTensor> gradients;
    for (int from : {0, 5}) {
        std::vector<D> const shard(intermediates.begin() + from, intermediates.begin() + from + 5);
        for (auto const& g : xg::grad({total}, shard, {.retain_graph = true}))
            gradients.push_back(g);
    }
    xg::backward(intermediates, gradients);
    std::vector<D> in_parts;
    for (auto& x : leaves) {
        in_parts.push_back(x.grad());
        x.zero_grad();
    }
    D again;
    for (auto const& x : leaves) {
        D const part = sum(abs2(exp(x) * x));
        again = again.defined() ? D(again + part) : part;
    }
    again.backward();
    for (std::size_t i = 0; i < leaves.size(); ++i)
        CHECK(difference(in_parts[i], leaves[i].grad()) == "");
}

TEST_CASE("backward to a leaf and to an intermediate fills both, and no other leaf") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad), y({{5., 6.}, {7., 8.}}, xg::requires_grad);
    D z = x * 2. + y * 3.;
    z.retain_grad();
    D const w = z * z;
    w.backward(xg::ones({2, 2}), {.inputs = {x, z}});
    CHECK(difference(z.grad(), 2. * z) == "");
    CHECK(difference(x.grad(), 4. * z) == "");
    CHECK_FALSE(y.grad().defined());
}

TEST_CASE("two passes to different leaves of one kept graph add up to one to all") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const shared = x * w;
    D const z = sum(exp(shared) + shared);
    z.backward({.retain_graph = true, .inputs = {x}});
    CHECK_FALSE(w.grad().defined());
    z.backward({.inputs = {w}});
    D const factor = exp(D({3., 8.})) + 1.;
    CHECK(difference(x.grad(), factor * w.detach()) == "");
    CHECK(difference(w.grad(), factor * x.detach()) == "");
}

TEST_CASE("what a pass to some tensors does not run stays usable") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const a = x * x, b = w * w;
    D const z = sum(a + b);
    z.backward({.inputs = {x}});
    sum(b).backward(); // never run, so nothing of it is freed
    CHECK(difference(w.grad(), {6., 8.}) == "");
    CHECK_THROWS_WITH_AS(sum(a).backward(), doctest::Contains("a second time"), xg::GraphError);
}

TEST_CASE("the history of a view is found under NoGradGuard as well") {
    D const x({1., 2.}, xg::requires_grad);
    D base = x * 1.;
    D const view = base(xg::slice(0, 1));
    base += 1.;
    {
        xg::NoGradGuard const off;
        CHECK(view.grad_fn() != nullptr);
    }
    sum(view * view).backward();
    CHECK(difference(x.grad(), {4., 0.}) == "");
}

TEST_CASE("output numbers survive being saved") {
    D const x({2., 3., 5.}, xg::requires_grad);
    auto const parts = unbind(x);
    D const y = parts[2] * parts[0];
    D const g = grad(y, x, {.create_graph = true});
    CHECK(difference(g, {5., 0., 2.}) == "");
    CHECK(difference(grad(sum(g * D({1., 1., 10.})), x), {10., 0., 1.}) == "");
}

TEST_CASE("parts of a split tensor of which some are unused") {
    D const x({{1., 2., 3., 4., 5., 6.}}, xg::requires_grad);
    auto const parts = split(x, 2, 1);
    D const y = sum(abs2(parts[1]) * 4.);
    y.backward();
    CHECK(difference(x.grad(), {{0., 0., 24., 32., 0., 0.}}) == "");
}

TEST_CASE("the user's gradients are never changed") {
    D const x({1., 2.}, xg::requires_grad);
    D const given({1., 1.}), other({2., 2.});
    D const a = x * 1., b = x * 1.;
    xg::backward({a, b, a}, {given, other, given});
    CHECK(difference(x.grad(), {4., 4.}) == "");
    CHECK(difference(given, {1., 1.}) == "");
    CHECK(difference(other, {2., 2.}) == "");
    sum(x).backward();
    CHECK(difference(given, {1., 1.}) == "");
}
