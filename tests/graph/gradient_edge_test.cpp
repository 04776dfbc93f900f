// Places in the graph as outputs and inputs of backward() and grad().
#include "walk.hpp"

TEST_CASE("grad takes a place in the graph as its input") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    D const z = sum(y * 3.);
    SUBCASE("a tensor's") {
        CHECK(difference(grad(z, xg::get_gradient_edge(y)).as<double>(), {3., 3.}) == "");
    }
    SUBCASE("a Node's") {
        CHECK(difference(grad(z, xg::GradientEdge(y.grad_fn(), 0)).as<double>(), {3., 3.}) == "");
    }
    SUBCASE("an edge of a Node above it") {
        CHECK(difference(grad(z, z.grad_fn()->next_edges()[0]).as<double>(), {3., 3.}) == "");
    }
    SUBCASE("a leaf's Node") {
        CHECK(difference(grad(z, y.grad_fn()->next_edges()[0]).as<double>(), {6., 12.}) == "");
    }
    SUBCASE("among tensors") {
        auto const g = xg::grad({z}, {x, xg::GradientEdge(y), y});
        CHECK(difference(g[0].as<double>(), {6., 12.}) == "");
        CHECK(difference(g[1].as<double>(), {3., 3.}) == "");
        CHECK(difference(g[2].as<double>(), {3., 3.}) == "");
    }
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a place that leads nowhere near is unused") {
    D const x({1., 2.}, xg::requires_grad);
    D const z = sum(x * 3.), other = x * 4.;
    CHECK_THROWS_WITH_AS(grad(z, xg::GradientEdge(other)),
        doctest::Contains("to not have been used in the graph"), xg::GraphError);
    CHECK_FALSE(grad(z, xg::GradientEdge(other), {.allow_unused = true}).defined());
}

TEST_CASE("outputs of one Node are different places") {
    D const x({1., 2., 3.}, xg::requires_grad);
    auto const parts = unbind(x);
    D const z = parts[0] * 5. + parts[2] * 7.;
    auto* const node = parts[0].grad_fn();
    auto const g = xg::grad({z},
        {xg::GradientEdge(node, 2), xg::GradientEdge(node, 0), xg::GradientEdge(node, 1)},
        {.allow_unused = true});
    CHECK(g[0].as<double>().item() == 7);
    CHECK(g[1].as<double>().item() == 5);
    CHECK_FALSE(g[2].defined());
    CHECK_THROWS_AS(xg::GradientEdge(node, 3), xg::IndexError);
}

TEST_CASE("a place stands for the value that a tensor had, whatever becomes of the tensor") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 2.;
    xg::GradientEdge const before(y);
    y *= 5.;
    D const z = sum(y);
    auto const g = xg::grad({z}, {before, y});
    CHECK(difference(g[0].as<double>(), {5., 5.}) == "");
    CHECK(difference(g[1].as<double>(), {1., 1.}) == "");
}

TEST_CASE("a place of a tensor is an output, when the tensor itself is gone") {
    D const x({1., 2.}, xg::requires_grad);
    std::optional<xg::GradientEdge> edge, scalar;
    {
        D const y = x * x;
        edge.emplace(y);
        scalar.emplace(sum(y));
    }
    SUBCASE("with a gradient") {
        xg::backward({*edge}, {D({1., 10.})});
        CHECK(difference(x.grad(), {2., 40.}) == "");
    }
    SUBCASE("a scalar") {
        auto const g = xg::grad({*scalar}, {x});
        CHECK(difference(g[0].as<double>(), {2., 4.}) == "");
    }
    SUBCASE("a leaf's") {
        xg::backward({xg::GradientEdge(x)}, {D({3., 4.})});
        CHECK(difference(x.grad(), {3., 4.}) == "");
    }
    SUBCASE("what does not fit is refused") {
        CHECK_THROWS_WITH_AS(xg::backward({*edge}),
            doctest::Contains("grad can be implicitly created only for scalar outputs"),
            xg::GraphError);
        CHECK_THROWS_WITH_AS(xg::backward({*edge}, {D({1., 2., 3.})}),
            doctest::Contains("Mismatch in shape"), xg::ShapeError);
        CHECK_THROWS_WITH_AS(xg::backward({*edge}, {F({1.f, 2.f})}),
            doctest::Contains("Mismatch in dtype"), xg::TypeError);
        CHECK_THROWS_WITH_AS(xg::backward({xg::GradientEdge(edge->node(), 0)}, {D({1., 2.})}),
            doctest::Contains("does not know its shape"), xg::GraphError);
        CHECK_FALSE(x.grad().defined());
    }
}

TEST_CASE("backward goes to the places that are its inputs") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = x * w;
    D const z = sum(y * 2.);
    int calls = 0;
    y.grad_fn()->register_prehook([&](std::vector<xg::AnyTensor> const&) { ++calls; });
    SUBCASE("a leaf's Node fills the leaf") {
        z.backward({.inputs = {xg::GradientEdge(x)}});
        CHECK(difference(x.grad(), {6., 8.}) == "");
        CHECK(calls == 1);
    }
    SUBCASE("another Node runs, and nothing behind it") {
        z.backward({.inputs = {xg::GradientEdge(y)}});
        CHECK_FALSE(x.grad().defined());
        CHECK(calls == 1);
    }
    CHECK_FALSE(w.grad().defined());
}

TEST_CASE("a place keeps its part of the graph alive, and a leaf") {
    xg::WeakTensor leaf;
    std::optional<xg::GradientEdge> edge;
    {
        D const x({1., 2.}, xg::requires_grad);
        leaf = xg::WeakTensor(x);
        xg::Node* node = nullptr;
        {
            D const y = x * 2.;
            node = y.grad_fn()->next_edges()[0].function.get();
        }
        edge.emplace(node, 0); // when no graph leads to the leaf any more
    }
    REQUIRE(leaf.lock().defined());
    xg::backward({*edge}, {D({1., 1.})});
    CHECK(difference(leaf.lock().as<double>().grad(), {1., 1.}) == "");
    edge.reset();
    CHECK_FALSE(leaf.lock().defined());
}

TEST_CASE("where there is no gradient there is no place for one") {
    D const c({1., 2.});
    CHECK_THROWS_WITH_AS(xg::get_gradient_edge(c),
        doctest::Contains("Can only get a gradient edge for Tensors that require gradients"),
        xg::GraphError);
    CHECK_THROWS_AS(xg::GradientEdge(nullptr, 0), xg::GraphError);
    CHECK_THROWS_AS(xg::GradientEdge{xg::Edge{}}, xg::GraphError);
}

TEST_CASE("an empty list of inputs is refused, not taken for all leaves") {
    D const x({1., 2.}, xg::requires_grad);
    std::vector<xg::AnyTensor> const none;
    CHECK_THROWS_WITH_AS(sum(x * x).backward({.inputs = none}),
        doctest::Contains("cannot be empty"), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::grad({sum(x * x)}, none),
        doctest::Contains("grad requires non-empty inputs."), xg::GraphError);
    CHECK_FALSE(x.grad().defined());
    std::vector<D> const one{x};
    sum(x * x).backward({.inputs = one});
    CHECK(difference(x.grad(), {2., 4.}) == "");
}

TEST_CASE("materialize_grads gives zeros for what is unused, and derivatives of any order of a "
          "linear function") {
    D const x({1., 2.}, xg::requires_grad), unused({{1., 2.}}, xg::requires_grad);
    auto const [gx, gu] = grad(sum(x * 3.), xg::inputs(x, unused), {.materialize_grads = true});
    CHECK(difference(gx, {3., 3.}) == "");
    CHECK(difference(gu, {{0., 0.}}) == "");
    CHECK(gu.requires_grad());

    D const t(.5, xg::requires_grad), slope(3., xg::requires_grad);
    D d = slope * t;
    for (double const wanted : {3., 0., 0., 0.}) {
        d = grad(d, t, {.create_graph = true, .materialize_grads = true});
        CHECK(d.item() == wanted);
    }
}
