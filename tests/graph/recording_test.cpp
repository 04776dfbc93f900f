// What is recorded: how many Nodes, what they are called, and what they keep.
#include "walk.hpp"

TEST_CASE("an expression is one Node, however many operations it has") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = sin(x) * w + exp(x) - x / (w + 2.);
    CHECK(operations_of(y) == 1);
    CHECK(nodes_of(y).size() == 3);
    CHECK(y.grad_fn()->next_edges().size() == 2);
}

TEST_CASE("a sum or mean fuses with the expression under it") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    CHECK(operations_of(sum(sin(x) * x)) == 1);
    CHECK(operations_of(sum(sin(x) * x, {1})) == 1);
    CHECK(operations_of(mean(x * x)) == 1);
    CHECK(sum(sin(x) * x, {0}).grad_fn()->name() == "SumBackward");
    CHECK(mean(x * x).grad_fn()->name() == "MeanBackward");
}

TEST_CASE("each Tensor that is made from an expression is a Node of its own") {
    D const x({1., 2.}, xg::requires_grad);
    D const a = x * x, b = a + 1., c = exp(b);
    CHECK(operations_of(c) == 3);
    CHECK(c.grad_fn()->next_edges()[0].function.get() == b.grad_fn());
    CHECK(b.grad_fn()->next_edges()[0].function.get() == a.grad_fn());
    CHECK(c.grad_fn()->sequence_nr() > b.grad_fn()->sequence_nr());
    CHECK(b.grad_fn()->sequence_nr() > a.grad_fn()->sequence_nr());
}

TEST_CASE("a Node is called after its outermost operation, and knows its formula") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = sin(x) * w + exp(x);
    CHECK(y.grad_fn()->name() == "AddBackward");
    CHECK(y.grad_fn()->formula() == "Add(Mul(Sin(a), b), Exp(c))");
    CHECK(D(x * 2.).grad_fn()->formula() == "Mul(a, number)");
    CHECK(sum(x * w).grad_fn()->formula() == "Sum(Mul(a, b))");
    CHECK(x.reshape({2, 1}).grad_fn()->name() == "ReshapeBackward");
    CHECK(matmul(x, w).grad_fn()->formula() != "");
}

TEST_CASE("edges lead to the operands that want a gradient, each once") {
    D const x({1., 2.}, xg::requires_grad), c({1., 1.});
    D const a = x * c;
    D const y = a * x * a * c;
    auto const edges = y.grad_fn()->next_edges();
    CHECK(edges.size() == 2);
    CHECK(edges[0].function.get() == a.grad_fn());
    CHECK(edges[0].input_nr == 0);
    CHECK(edges[1].function->name() == "AccumulateGrad");
    CHECK(y.grad_fn()->num_outputs() == 1);
}

TEST_CASE("nothing is recorded where nothing requires grad") {
    D const c({1., 2.});
    CHECK(D(c * c).grad_fn() == nullptr);
    CHECK(sum(c).grad_fn() == nullptr);
    CHECK(c.reshape({2, 1}).grad_fn() == nullptr);
    CHECK(c.clone().is_leaf());
}

TEST_CASE("assigning a tensor to a tensor records nothing, it is the same tensor") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x;
    CHECK(y.is_leaf());
    CHECK(y.is_same(x));
}

TEST_CASE("what no gradient needs may be changed in place") {
    xg::NoGradGuard const off;
    auto const recorded = [](auto f) {
        xg::EnableGradGuard const on;
        return f();
    };
    D x({1., 2.}, xg::requires_grad), w({3., 4.});
    SUBCASE("a factor, where the other one wants no gradient") {
        D const y = recorded([&] { return D(x * w); });
        x += 100.;
        y.backward(D({1., 1.}));
        CHECK(difference(x.grad(), {3., 4.}) == "");
    }
    SUBCASE("summands") {
        w.requires_grad_();
        D const y = recorded([&] { return D(x + w); });
        x += 100.;
        w += 100.;
        y.backward(D({1., 2.}));
        CHECK(difference(x.grad(), {1., 2.}) == "");
        CHECK(difference(w.grad(), {1., 2.}) == "");
    }
    SUBCASE("the result of a product, and the operand of an exponential") {
        D y = recorded([&] { return D(x * w); });
        D const z = recorded([&] { return D(exp(x)); });
        y += 100.;
        x -= 100.;
        xg::backward({y, z}, {D({1., 1.}), D({0., 0.})});
        CHECK(difference(x.grad(), {3., 4.}) == "");
    }
    SUBCASE("what is summed, multiplied by a number, or viewed") {
        D const y = recorded([&] { return sum(3. * x); }), z = recorded([&] { return x(0); });
        x += 100.;
        y.backward();
        z.backward();
        CHECK(difference(x.grad(), {4., 3.}) == "");
    }
}

TEST_CASE(
    "a saved operand that was changed in place is found out, with its type, shape and versions") {
    D x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad), w = xg::ones({2, 3});
    D const y = sum(x * w);
    w += 1.;
    CHECK_THROWS_WITH_AS(y.backward(),
        doctest::Contains("one of the variables needed for gradient computation has been modified "
                          "by an inplace operation: [float64 [2, 3]]"),
        xg::VersionError);
    CHECK_THROWS_WITH_AS(y.backward(),
        doctest::Contains("is at version 1; expected version 0 instead"), xg::GraphError);
    CHECK_FALSE(x.grad().defined());
    sum(x * x).backward();
    CHECK(difference(x.grad(), {{2., 4., 6.}, {8., 10., 12.}}) == "");
}

TEST_CASE("a changed result is named as the output of the Node that made it") {
    D const x({1., 2.}, xg::requires_grad);
    D y = exp(x);
    y.detach().fill_(0.);
    CHECK_THROWS_WITH_AS(sum(y).backward(),
        doctest::Contains("[float64 [2]], which is output 0 of ExpBackward, is at version 1; "
                          "expected version 0 instead"),
        xg::VersionError);
    D const a = x * 2.;
    D const z = a * a;
    a.detach().fill_(0.);
    CHECK_THROWS_WITH_AS(
        sum(z).backward(), doctest::Contains("which is output 0 of MulBackward"), xg::VersionError);
}

TEST_CASE("changes are seen through views, detached handles, xtensor adaptors and NoGradGuard") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.});
    D const y = sum(x * w);
    SUBCASE("view") { w(0).fill_(9.); }
    SUBCASE("detach") { w.detach() += 1.; }
    SUBCASE("mutable_array") { w.mutable_array()(0) = 1; }
    SUBCASE("mutable_data") { w.mutable_data()[0] = 1; }
    SUBCASE("no grad") {
        xg::NoGradGuard const off;
        w.fill_(0.);
    }
    CHECK_THROWS_AS(y.backward(), xg::VersionError);
}

TEST_CASE("the version counts from when the operand was saved") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.});
    w += 1.;
    w += 1.;
    D const y = sum(x * w);
    y.backward({.retain_graph = true});
    CHECK(difference(x.grad(), {5., 6.}) == "");
    w += 1.;
    CHECK_THROWS_WITH_AS(y.backward(),
        doctest::Contains("is at version 3; expected version 2 instead"), xg::VersionError);
}

TEST_CASE("a changed operand is no error where only its other use needs a gradient") {
    D const x({1., 2.}, xg::requires_grad);
    D w({3., 4.}, xg::requires_grad);
    D const y = sum(x * w), z = sum(w + x);
    w.detach() += 1.;
    CHECK_THROWS_AS(y.backward(), xg::VersionError);
    z.backward();
    CHECK(difference(x.grad(), {1., 1.}) == "");
}

TEST_CASE("the whole history of saved operations is freed once it was used") {
    std::weak_ptr<int> observer;
    D x({1., 2.}, xg::requires_grad);
    D y;
    {
        D a = x * 3.;
        auto const token = std::make_shared<int>(1);
        observer = token;
        a.register_hook([token](D const&) {});
        y = sum(a * a);
    }
    CHECK_FALSE(observer.expired());
    y.backward();
    CHECK_FALSE(observer.expired());
    y = D();
    CHECK(observer.expired());
}

TEST_CASE("memory that backward needs is given back when backward is done with it") {
    D const x = xg::ones({1000}, xg::requires_grad);
    D a = exp(x);
    auto const storage = a.impl().array.storage;
    D const y = sum(a * a);
    a = D();
    CHECK(storage->refs.load() > 1);
    y.backward({.retain_graph = true});
    CHECK(storage->refs.load() > 1);
    y.backward();
    CHECK(storage->refs.load() == 1);
}
