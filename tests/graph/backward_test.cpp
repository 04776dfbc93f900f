// backward(): values, its options, and what it refuses.
#include "walk.hpp"

TEST_CASE("backward fills the leaves with the gradients of the written formula") {
    D const x({1., 2., 3.}, xg::requires_grad), y({4., 5., 6.}, xg::requires_grad);
    D const f = x + y * 2. + x * y;
    sum(f).backward();
    CHECK(difference(x.grad(), {5., 6., 7.}) == "");
    CHECK(difference(y.grad(), {3., 4., 5.}) == "");
}

TEST_CASE("sin(x) * x has the gradient sin x + x cos x") {
    D const x({-2., 0., 0.5, 3.}, xg::requires_grad);
    sum(sin(x) * x).backward();
    std::vector<double> wanted;
    for (double const v : values(x)) wanted.push_back(std::sin(v) + v * std::cos(v));
    auto const got = values(x.grad());
    for (std::size_t i = 0; i < 4; ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-14));
}

TEST_CASE("a gradient reaches leaves that were broadcast, summed over what they were spread to") {
    D const m({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad),
        row({1., 2., 3.}, xg::requires_grad), column({{1.}, {2.}}, xg::requires_grad),
        number(2., xg::requires_grad);
    sum(m * row * column * number).backward();
    CHECK(difference(m.grad(), {{2., 4., 6.}, {4., 8., 12.}}) == "");
    CHECK(difference(row.grad(), {18., 24., 30.}) == "");
    CHECK(row.grad().shape() == xg::Shape{3});
    CHECK(column.grad().shape() == xg::Shape{2, 1});
    CHECK(values(column.grad()) == std::vector<double>{28, 64});
    CHECK(number.grad().dim() == 0);
    CHECK(number.grad().item() == 78);
}

TEST_CASE("a leaf without requires_grad gets no gradient") {
    D const x({1., 2.}, xg::requires_grad), c({3., 4.});
    sum(x * c).backward();
    CHECK(difference(x.grad(), {3., 4.}) == "");
    CHECK_FALSE(c.grad().defined());
}

TEST_CASE("a leaf whose requires_grad is turned off after recording gets none, others do") {
    D x({1., 2.}, xg::requires_grad), y({3., 4.}, xg::requires_grad);
    D const f = sum(x * y);
    x.requires_grad_(false);
    f.backward();
    CHECK_FALSE(x.grad().defined());
    CHECK(difference(y.grad(), {1., 2.}) == "");
}

TEST_CASE("a given gradient weighs the elements") {
    D const x({1., 2., 3.}, xg::requires_grad);
    D const y = x * x;
    y.backward(D({1., 10., 100.}));
    CHECK(difference(x.grad(), {2., 40., 600.}) == "");
}

TEST_CASE("any tensor with one element is its own loss") {
    D const x({{3.}}, xg::requires_grad);
    D(x * x).backward();
    CHECK(x.grad().item() == 6);
}

TEST_CASE("a leaf may be differentiated itself") {
    D const x(3., xg::requires_grad);
    x.backward();
    CHECK(x.grad().item() == 1);
}

TEST_CASE("a second pass needs retain_graph where values were saved") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = sum(x * x);
    y.backward({.retain_graph = true});
    CHECK(difference(x.grad(), {2., 4.}) == "");
    y.backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
    CHECK_THROWS_WITH_AS(y.backward(),
        doctest::Contains("Trying to backward through the graph a second time"), xg::GraphError);
    CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("retain_graph"), xg::GraphError);
    CHECK(difference(x.grad(), {4., 8.}) == "");
}

TEST_CASE("create_graph keeps the graph unless told otherwise") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = sum(x * x);
    y.backward({.create_graph = true});
    CHECK(x.grad().requires_grad());
    y.backward({.retain_graph = false, .create_graph = true});
    CHECK(difference(x.grad(), {4., 8.}) == "");
    CHECK_THROWS_AS(y.backward(), xg::GraphError);
    x.impl().grad = nullptr;
}

TEST_CASE("a second pass over sums and differences needs nothing, since they save nothing") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = sum(x + w - 2. * x);
    y.backward();
    y.backward();
    CHECK(difference(x.grad(), {-2., -2.}) == "");
    CHECK(difference(w.grad(), {2., 2.}) == "");
}

TEST_CASE("two losses that share a freed part cannot both be differentiated") {
    D const x({1., 2.}, xg::requires_grad);
    D const shared = exp(x);
    D const a = sum(shared * 2.), b = sum(shared * 3.);
    a.backward();
    auto const before = values(x.grad());
    CHECK_THROWS_AS(b.backward(), xg::GraphError);
    CHECK(values(x.grad()) == before);
}

TEST_CASE("inputs limits the pass to the leaves that are named") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    int calls = 0;
    w.register_hook([&](D const&) { ++calls; });
    D const y = sum(x * w);
    y.backward({.inputs = {x}});
    CHECK(difference(x.grad(), {3., 4.}) == "");
    CHECK_FALSE(w.grad().defined());
    CHECK(calls == 0);
}

TEST_CASE("an input that is no leaf gets its .grad, and what is behind it gets none") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = x * x;
    D const z = sum(y * w);
    z.backward({.retain_graph = true, .inputs = {y, w}});
    CHECK(difference(y.grad(), {3., 4.}) == "");
    CHECK(difference(w.grad(), {1., 4.}) == "");
    CHECK_FALSE(x.grad().defined());
    z.backward({.inputs = {x, y}});
    CHECK(difference(x.grad(), {6., 16.}) == "");
    CHECK(difference(y.grad(), {6., 8.}) == "");
}

TEST_CASE("an input that keeps its gradient anyway gets it once") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    y.retain_grad();
    sum(y * 3.).backward({.inputs = {y}});
    CHECK(difference(y.grad(), {3., 3.}) == "");
}

TEST_CASE("an input named twice gets its gradient once") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    D const z = sum(y * 3.);
    z.backward({.retain_graph = true, .inputs = {x, x}});
    CHECK(difference(x.grad(), {6., 12.}) == "");
    z.backward({.inputs = {y, y}});
    CHECK(difference(y.grad(), {3., 3.}) == "");
}

TEST_CASE("an input that is not part of the graph gets no .grad, without an error") {
    D const x({1., 2.}, xg::requires_grad), other({1.}, xg::requires_grad);
    D const apart = other * 2.;
    sum(x * x).backward({.inputs = {x, other, apart}});
    CHECK(difference(x.grad(), {2., 4.}) == "");
    CHECK_FALSE(other.grad().defined());
    CHECK_FALSE(apart.grad().defined());
}

TEST_CASE("several roots are differentiated in one pass, with a gradient for each") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const a = x * w, b = x + w;
    xg::backward({a, b}, {D({1., 2.}), D({10., 20.})});
    CHECK(difference(x.grad(), {13., 28.}) == "");
    CHECK(difference(w.grad(), {11., 24.}) == "");
}

TEST_CASE("a root given twice counts twice, and a root may lead to another") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = sum(x * x);
    xg::backward({y, y});
    CHECK(difference(x.grad(), {4., 8.}) == "");
    D const u({1., 2.}, xg::requires_grad);
    D const v = u * u, w = v * 3.;
    xg::backward({v, w}, {D({1., 1.}), D({1., 1.})});
    CHECK(difference(u.grad(), {8., 16.}) == "");
}

TEST_CASE("an undefined gradient among several stands for 1") {
    D const x({1., 2.}, xg::requires_grad);
    D const a = x * x, b = sum(x);
    xg::backward({a, b}, {D({1., 1.}), D()});
    CHECK(difference(x.grad(), {3., 5.}) == "");
}

TEST_CASE("a real loss of complex leaves has gradients dL/dRe + i dL/dIm") {
    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    sum(abs2(z)).backward();
    CHECK(difference(z.grad(), {complex<double>(2, 4)}) == "");
    Z const w({complex<double>(1, 2)}, xg::requires_grad);
    sum(real(w * w)).backward();
    CHECK(difference(w.grad(), {complex<double>(2, -4)}) == "");
    Z const u({complex<double>(1, 2)}, xg::requires_grad);
    sum(imag(u)).backward();
    CHECK(difference(u.grad(), {complex<double>(0, 1)}) == "");
}

TEST_CASE("a real leaf beside a complex one gets a real gradient") {
    D const r({3.}, xg::requires_grad);
    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    Z const y = r * z;
    y.backward(Z({complex<double>(1, 0)}));
    CHECK(difference(r.grad(), {1.}) == "");
    CHECK(difference(z.grad(), {complex<double>(3, 0)}) == "");
}

TEST_CASE("a complex output takes a complex gradient") {
    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    Z const y = z * z;
    y.backward(Z({complex<double>(0, 1)})); // g conj(2z)
    CHECK(difference(z.grad(), {complex<double>(4, 2)}) == "");
}

TEST_CASE("each leaf's gradient has the leaf's own type") {
    F const f({1.f, 2.f}, xg::requires_grad);
    D const d({3., 4.}, xg::requires_grad);
    sum(f * d).backward();
    CHECK(difference(f.grad(), {3.f, 4.f}) == "");
    CHECK(difference(d.grad(), {1., 2.}) == "");
}

TEST_CASE("a gradient of an empty tensor is empty") {
    D const x = xg::zeros({0, 3}, xg::requires_grad);
    sum(x * x).backward();
    CHECK(x.grad().shape() == xg::Shape{0, 3});
    D const y = xg::zeros({4, 1}, xg::requires_grad);
    sum(y * xg::zeros({4, 0})).backward();
    CHECK(difference(y.grad(), xg::zeros({4, 1})) == "");
}

TEST_CASE("a statement that went wrong is said in words, and changes nothing") {
    D const x({1., 2.}, xg::requires_grad), c({1., 2.});
    D const y = x * x;
    Z const z({complex<double>(1, 2)}, xg::requires_grad);

    CHECK_THROWS_WITH_AS(y.backward(),
        doctest::Contains("grad can be implicitly created only for scalar outputs"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(y(xg::slice(2)).backward(),
        doctest::Contains("grad can be implicitly created only for scalar outputs"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(sum(z).backward(),
        doctest::Contains(
            "grad can be implicitly created only for real scalar outputs but got complex128"),
        xg::GraphError);
    Z const pair = z * Z({1., 2.});
    CHECK_THROWS_WITH_AS(pair.backward(),
        doctest::Contains("only for scalar outputs, but output 0 has shape [2]; pass a gradient, "
                          "or take sum() of real() or abs2() first"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(sum(z).backward(),
        doctest::Contains("pass a gradient, or take real() or abs2() first"), xg::GraphError);
    CHECK_THROWS_WITH_AS(sum(c).backward(),
        doctest::Contains("element 0 of tensors does not require grad and does not have a grad_fn"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(c.backward(D({1., 1.})),
        doctest::Contains("element 0 of tensors does not require grad"), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::backward({sum(y), sum(c)}),
        doctest::Contains("element 1 of tensors does not require grad"), xg::GraphError);
    CHECK_THROWS_WITH_AS(y.backward(D({1., 1., 1.})),
        doctest::Contains("Mismatch in shape: grad_output[0] has a shape of [3] and output[0] has "
                          "a shape of [2]."),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        y.backward(D({1.})), doctest::Contains("Mismatch in shape"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::backward({sum(z)}, {D(1.)}),
        doctest::Contains("Mismatch in dtype: grad_output[0] has a dtype of float64 and output[0] "
                          "has a dtype of complex128."),
        xg::TypeError);
    CHECK_THROWS_WITH_AS(xg::backward({y, y}, {D({1., 1.})}),
        doctest::Contains("got 2 tensors and 1 gradients"), xg::GraphError);
    CHECK_THROWS_WITH_AS(sum(y).backward({.inputs = {c}}),
        doctest::Contains("One of the differentiated Tensors does not require grad"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::backward({D()}), doctest::Contains("undefined"), xg::Error);
    CHECK_THROWS_AS(sum(y).backward({.inputs = {D()}}), xg::Error);

    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(z.grad().defined());
    y.backward(D({1., 1.}));
    CHECK(difference(x.grad(), {2., 4.}) == "");
}
