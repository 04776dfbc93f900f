// Changes in place, outside the graph.
#include "compare.hpp"

TEST_CASE("copy_ and fill_ write the tensor's own memory, and each counts as one version") {
    D x({1., 2., 3.});
    auto const* const p = x.data();
    x.copy_(D({4., 5., 6.}));
    CHECK(values(x) == std::vector<double>{4, 5, 6});
    CHECK(x.version() == 1);
    x.fill_(2.);
    CHECK(values(x) == std::vector<double>{2, 2, 2});
    x.zero_();
    CHECK(values(x) == std::vector<double>{0, 0, 0});
    x.copy_(7.);
    CHECK(values(x) == std::vector<double>{7, 7, 7});
    CHECK(x.version() == 4);
    CHECK(x.data() == p);
}

TEST_CASE("the four arithmetic assignments change in place and return the tensor itself") {
    D x({1., 2., 3.});
    auto const* const p = x.data();
    CHECK(&(x += D({1., 1., 1.})) == &x);
    CHECK(values(x) == std::vector<double>{2, 3, 4});
    x -= 1.;
    CHECK(values(x) == std::vector<double>{1, 2, 3});
    x *= x + 1.;
    CHECK(values(x) == std::vector<double>{2, 6, 12});
    x /= D({2., 3., 4.});
    CHECK(values(x) == std::vector<double>{1, 2, 3});
    CHECK(x.version() == 4);
    CHECK(x.data() == p);
}

TEST_CASE("operands broadcast to the tensor's shape, never the tensor to theirs") {
    D m({{1., 2.}, {3., 4.}});
    m += D({10., 20.});
    CHECK(difference(m, {{11., 22.}, {13., 24.}}) == "");
    m.copy_(D(1.5));
    CHECK(difference(m, {{1.5, 1.5}, {1.5, 1.5}}) == "");
    D v({1., 2.});
    CHECK_THROWS_WITH_AS(v += m,
        doctest::Contains("output with shape [2] doesn't match the broadcast shape [2, 2]"),
        xg::ShapeError);
    CHECK_THROWS_AS(v.copy_(D({1., 2., 3.})), xg::ShapeError);
    CHECK_THROWS_AS(v += D({1., 2., 3.}), xg::ShapeError);
    CHECK_THROWS_AS((v.copy_(D({{1., 2.}}))), xg::ShapeError);
    CHECK(values(v) == std::vector<double>{1, 2});
    CHECK(v.version() == 0);
}

TEST_CASE("an operand that shares the memory in another order is read as it was before") {
    D m({{1., 2.}, {3., 4.}});
    m += transpose(m);
    CHECK(difference(m, {{2., 5.}, {5., 8.}}) == "");
    m = D({{1., 2.}, {3., 4.}});
    m.copy_(m.t());
    CHECK(difference(m, {{1., 3.}, {2., 4.}}) == "");
    D v({1., 2., 3., 4.});
    D tail = v(xg::slice(1));
    tail += v(xg::slice(0, 3));
    CHECK(values(v) == std::vector<double>{1, 3, 5, 7});
    v = D({1., 2., 3., 4.});
    v += v[0];
    CHECK(values(v) == std::vector<double>{2, 3, 4, 5});
    v *= v;
    CHECK(values(v) == std::vector<double>{4, 9, 16, 25});
}

TEST_CASE("long overlapping parts are read as they were before, too") {
    D v = xg::arange(0., 3000.);
    v(xg::slice(1)).copy_(v(xg::slice(0, 2999)));
    auto const got = values(v);
    bool right = got[0] == 0;
    for (std::size_t i = 1; i < 3000; ++i) right &= got[i] == static_cast<double>(i - 1);
    CHECK(right);
}

TEST_CASE("changes through a view write the base where the view lies") {
    D m({{1., 2., 3.}, {4., 5., 6.}});
    m(xt::all(), xg::slice(0, 3, 2)) += 10.;
    CHECK(difference(m, {{11., 2., 13.}, {14., 5., 16.}}) == "");
    m.t()(1).copy_(D({-1., -2.}));
    CHECK(difference(m, {{11., -1., 13.}, {14., -2., 16.}}) == "");
    m[0].zero_();
    CHECK(difference(m, {{0., 0., 0.}, {14., -2., 16.}}) == "");
    CHECK(m.version() == 3);
}

TEST_CASE("values are converted to the type of the tensor that is changed, never complex to real") {
    F f({1.f, 2.f});
    f += D({0.5, 0.25});
    CHECK(difference(f, {1.5f, 2.25f}) == "");
    f.copy_(xg::Tensor<std::int64_t>({3, 4}));
    CHECK(difference(f, {3.f, 4.f}) == "");
    Z z({complex<double>(1, 1), complex<double>(0, 2)});
    z *= D({2., 3.});
    CHECK(difference(z, {complex<double>(2, 2), complex<double>(0, 6)}) == "");
}

TEST_CASE("an empty tensor can be changed in place") {
    D x = xg::zeros({0, 3});
    x += 1.;
    x.fill_(2.);
    CHECK(x.shape() == xg::Shape{0, 3});
}

TEST_CASE("a leaf that requires grad is not changed where its operations are recorded") {
    D x({1., 2.}, xg::requires_grad);
    auto const text = doctest::Contains(
        "a leaf Variable that requires grad is being used in an in-place operation.");
    CHECK_THROWS_WITH_AS(x += 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(x -= 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(x *= 2., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(x /= 2., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(x.copy_(D({3., 4.})), text, xg::GraphError);
    CHECK_THROWS_WITH_AS(x.fill_(1.), text, xg::GraphError);
    CHECK_THROWS_WITH_AS(x.zero_(), text, xg::GraphError);
    CHECK(values(x) == std::vector<double>{1, 2});
    CHECK(x.version() == 0);
}

TEST_CASE(
    "a leaf that requires grad is changed under NoGradGuard and through detach, and stays a leaf") {
    D x({1., 2.}, xg::requires_grad);
    {
        xg::NoGradGuard const off;
        x -= 0.5;
    }
    x.detach().fill_(3.);
    CHECK(values(x) == std::vector<double>{3, 3});
    CHECK(x.is_leaf());
    CHECK(x.requires_grad());
    CHECK(x.version() == 2);
}

TEST_CASE("nothing is recorded by a change in place under NoGradGuard, whatever its operands") {
    D const x({1., 2.}, xg::requires_grad);
    D sum_of = xg::zeros({2});
    {
        xg::NoGradGuard const off;
        sum_of += x;
        sum_of += x * x;
    }
    CHECK(difference(sum_of, {2., 6.}) == "");
    CHECK_FALSE(sum_of.requires_grad());
}

TEST_CASE("a failed change leaves the tensor and its version alone") {
    D x({1., 2.});
    D const undefined;
    CHECK_THROWS_AS(x += undefined, xg::Error);
    CHECK_THROWS_AS(x.copy_(undefined), xg::Error);
    CHECK(values(x) == std::vector<double>{1, 2});
    CHECK(x.version() == 0);
}

TEST_CASE("uniform_ and normal_ refuse a distribution that there is not") {
    D x({1., 2.});
    CHECK_THROWS_WITH_AS(
        uniform_(x, 2., 1.), "uniform_: high must be at least 2, and is 1", xg::Error);
    CHECK_THROWS_WITH_AS(
        x.normal_(0., -0.5), "normal_: deviation must be at least 0, and is -0.5", xg::Error);
    CHECK_THROWS_AS(x.normal_(0., std::nan("")), xg::Error);
    CHECK_THROWS_AS(x.uniform_(std::nan(""), 1.), xg::Error);
    CHECK(values(x) == std::vector<double>{1, 2});
    CHECK(x.version() == 0);
    x.uniform_(2., 2.);
    CHECK(values(x) == std::vector<double>{2, 2});
    x.normal_(3., 0.);
    CHECK(values(x) == std::vector<double>{3, 3});
}
