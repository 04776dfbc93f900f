// What tensors are made of, and what they tell about themselves.
#include "compare.hpp"

TEST_CASE("a list makes a vector, lists of lists make matrices and more") {
    D const v({1., 2., 3.}), m({{1., 2., 3.}, {4., 5., 6.}}),
        t({{{1., 2.}, {3., 4.}}, {{5., 6.}, {7., 8.}}}), q({{{{1., 2.}, {3., 4.}}}});
    CHECK(v.shape() == xg::Shape{3});
    CHECK(m.shape() == xg::Shape{2, 3});
    CHECK(t.shape() == xg::Shape{2, 2, 2});
    CHECK(q.shape() == xg::Shape{1, 1, 2, 2});
    CHECK(values(m) == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK(values(t) == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(m.strides() == xg::Strides{3, 1});
    CHECK(m.is_contiguous());
    CHECK(m.numel() == 6);
    CHECK(m.dim() == 2);
    CHECK(m.shape(-1) == 3);
    CHECK_THROWS_WITH_AS(m.shape(2), doctest::Contains("axis 2 is out of range"), xg::IndexError);
}

TEST_CASE("a matrix with one column or one row is a matrix") {
    D const column({{1.}, {2.}}), row({{1., 2.}}), one({{1.}});
    CHECK(column.shape() == xg::Shape{2, 1});
    CHECK(row.shape() == xg::Shape{1, 2});
    CHECK(one.shape() == xg::Shape{1, 1});
    CHECK(Z({{1., 2.}, {3., 4.}}).shape() == xg::Shape{2, 2});
}

TEST_CASE("the depth of a nested list is the number of dimensions, whatever the extents") {
    CHECK(D({{{1.}, {2.}}, {{3.}, {4.}}}).shape() == xg::Shape{2, 2, 1});
    CHECK(D({{{{{{1., 2.}}}}}}).shape() == xg::Shape{1, 1, 1, 1, 1, 2});
    CHECK(D({{}, {}}).shape() == xg::Shape{2, 0});
    CHECK(D({}).shape() == xg::Shape{0});
    CHECK(D({1, 2.5f}).shape() == xg::Shape{2});
}

TEST_CASE("a ragged nested list is an error that names both lengths") {
    CHECK_THROWS_WITH_AS(
        (D({{1., 2.}, {3.}})), doctest::Contains("rows of 2 and of 1"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        (D({{1.5}, {3., 4.}})), doctest::Contains("rows of 1 and of 2"), xg::ShapeError);
    CHECK_THROWS_AS((D({{{1., 2.}, {3., 4.}}, {{5., 6.}, {7.}}})), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        (D({{1.5, 2.}, 3.})), doctest::Contains("numbers beside lists"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        (D({1.5, {3., 4.}})), doctest::Contains("numbers beside lists"), xg::ShapeError);
}

TEST_CASE("a number makes a tensor without dimensions") {
    D const x(2.5);
    CHECK(x.dim() == 0);
    CHECK(x.numel() == 1);
    CHECK(x.item() == 2.5);
    CHECK(D({2.5}).shape() == xg::Shape{1});
    CHECK(D({2.5}, xg::requires_grad).shape() == xg::Shape{1});
    CHECK(Z({complex<double>(2.5)}).shape() == xg::Shape{1});
    CHECK(xg::Tensor<std::int64_t>({2}).shape() == xg::Shape{1});
}

TEST_CASE("item is for one element, in whatever shape") {
    CHECK(D({{7.}}).item() == 7);
    CHECK_THROWS_WITH_AS(D({1., 2.}).item(), doctest::Contains("shape [2]"), xg::ShapeError);
    CHECK_THROWS_AS(xg::zeros({0}).item(), xg::ShapeError);
}

TEST_CASE("empty tensors have a shape and no elements") {
    D const x = xg::zeros({2, 0, 3});
    CHECK(x.numel() == 0);
    CHECK(x.shape() == xg::Shape{2, 0, 3});
    CHECK(values(x).empty());
    CHECK(D(exp(x)).shape() == xg::Shape{2, 0, 3});
    CHECK(sum(x).item() == 0);
    CHECK(x.array().size() == 0);
}

TEST_CASE("every scalar type has its name") {
    CHECK(name(F({1.f}).dtype()) == "float32");
    CHECK(name(D({1.}).dtype()) == "float64");
    CHECK(name(xg::zeros<complex<float>>({1}).dtype()) == "complex64");
    CHECK(name(xg::zeros<complex<double>>({1}).dtype()) == "complex128");
    CHECK(name(xg::zeros<bool>({1}).dtype()) == "bool");
    CHECK(name(xg::zeros<std::int64_t>({1}).dtype()) == "int64");
}

TEST_CASE("an undefined tensor says so when it is used") {
    D const x;
    CHECK_FALSE(x.defined());
    CHECK_FALSE(x);
    CHECK_THROWS_WITH_AS(x.shape(), doctest::Contains("undefined"), xg::Error);
    CHECK_THROWS_AS(x.item(), xg::Error);
    CHECK_THROWS_AS(x.backward(), xg::Error);
    CHECK_THROWS_AS(D(x + 1.), xg::Error);
    CHECK_THROWS_AS(x.detach(), xg::Error);
    CHECK_THROWS_AS(x.grad(), xg::Error);
}

TEST_CASE("a tensor asked for as another type is an error, and as its own the same tensor") {
    xg::AnyTensor const any = D({1., 2.});
    CHECK(any.as<double>().is_same(any));
    CHECK_THROWS_WITH_AS(any.as<float>(), doctest::Contains("float64"), xg::TypeError);
}

TEST_CASE(
    "requires_grad is asked for at construction or later, and of a result cannot be withdrawn") {
    D x({1., 2.}, xg::requires_grad), plain({1., 2.});
    CHECK(x.requires_grad());
    CHECK(x.is_leaf());
    CHECK(x.grad_fn() == nullptr);
    CHECK_FALSE(plain.requires_grad());
    CHECK(&plain.requires_grad_() == &plain);
    CHECK(plain.requires_grad());
    plain.requires_grad_(false);
    CHECK_FALSE(plain.requires_grad());
    D y = x * 2.;
    y.requires_grad_();
    CHECK_THROWS_WITH_AS(y.requires_grad_(false),
        doctest::Contains("you can only change requires_grad flags of leaf variables"),
        xg::GraphError);
    CHECK(y.requires_grad());
    CHECK_FALSE(y.is_leaf());
    CHECK(y.output_nr() == 0);
}

TEST_CASE("what is computed from a tensor that requires grad requires it too, and masks never do") {
    D const x({1., 2.}, xg::requires_grad), c({1., 2.});
    CHECK(D(x * c).requires_grad());
    CHECK_FALSE(D(c * c).requires_grad());
    xg::Tensor<bool> const mask = x > c;
    CHECK_FALSE(mask.requires_grad());
    CHECK(mask.is_leaf());
}

TEST_CASE("the scalar type of an expression's tensor is deduced") {
    D const a({0.5, 1.}), b({2., 3.});
    xg::Tensor y = sin(a) * b;
    static_assert(std::same_as<decltype(y), D>);
    CHECK(difference(y, {std::sin(0.5) * 2, std::sin(1.) * 3}) == "");
    xg::Tensor mask = a < b;
    static_assert(std::same_as<decltype(mask), xg::Tensor<bool>>);
    xg::Tensor z = a * complex<double>(0, 1);
    static_assert(std::same_as<decltype(z), Z>);
    xg::Tensor number(2.5f);
    static_assert(std::same_as<decltype(number), F>);
    xg::Tensor leaf(2.5f, xg::requires_grad);
    static_assert(std::same_as<decltype(leaf), F>);
}

TEST_CASE("the scalar type of a list's tensor is that of its numbers") {
    using I = xg::Tensor<std::int64_t>;
    xg::Tensor v({1., 2.});
    static_assert(std::same_as<decltype(v), D>);
    CHECK(difference(v, {1., 2.}) == "");
    xg::Tensor const m({{1, 2}, {3, 4}});
    static_assert(std::same_as<decltype(m), I const>);
    CHECK(difference(m, {{1, 2}, {3, 4}}) == "");
    static_assert(std::same_as<decltype(xg::Tensor({true, false})), xg::Tensor<bool>>);
    static_assert(std::same_as<decltype(xg::Tensor({{1.f}, {2.f}})), F>);
    static_assert(std::same_as<decltype(xg::Tensor({{{1.L, 2.L}}})), D>);
    static_assert(std::same_as<decltype(xg::Tensor({{{{short(1)}}}})), I>);
    static_assert(std::same_as<decltype(xg::Tensor({complex<double>(1, 2)})), Z>);
    static_assert(std::same_as<decltype(xg::Tensor{2, 3}), I>);
    static_assert(std::same_as<decltype(xg::Tensor{{2., 3.}, {4., 5.}}), D>);
    static_assert(std::same_as<decltype(xg::Tensor(2)), I>);
    xg::Tensor const leaf({1., 2.}, xg::requires_grad);
    CHECK(leaf.requires_grad());
    CHECK(xg::Tensor{v}.data() == v.data()); // the tensor itself, as in Tensor<double>{v}
}

TEST_CASE("a list of several types or of many levels makes a tensor of double or complex numbers") {
    D const t = 3.;
    xg::Tensor const mixed({{1, 2.5f}, {true, 4.}}), joined({{1., t}, {0., 1.}}), none({}),
        deep({{{{{1, 2}}}}});
    static_assert(std::same_as<decltype(mixed), D const>);
    CHECK(difference(mixed, {{1., 2.5}, {1., 4.}}) == "");
    CHECK(difference(joined, {{1., 3.}, {0., 1.}}) == "");
    CHECK(none.shape() == xg::Shape{0});
    CHECK(deep.shape() == xg::Shape{1, 1, 1, 1, 2});
    xg::Tensor const z({{1., complex<double>(0, 2)}});
    static_assert(std::same_as<decltype(z), Z const>);
    CHECK(difference(z, {{1., complex<double>(0, 2)}}) == "");
}

TEST_CASE("precisions promote as in NumPy, and numbers have none") {
    F const f({1.f, 2.f});
    D const d({1., 2.});
    xg::Tensor<std::int64_t> const i({1, 2});
    static_assert(std::same_as<decltype(xg::Tensor(f * 2.)), F>);
    static_assert(std::same_as<decltype(xg::Tensor(f * d)), D>);
    static_assert(std::same_as<decltype(xg::Tensor(i + i)), xg::Tensor<std::int64_t>>);
    static_assert(std::same_as<decltype(xg::Tensor(i / i)), D>);
    CHECK(difference(xg::Tensor(i / i), {1., 1.}) == "");
    CHECK(difference(xg::Tensor(f * d), {1., 4.}) == "");
}

TEST_CASE("copies are handles to one tensor") {
    D a({1., 2.}), b = a;
    CHECK(a.is_same(b));
    a.fill_(5.);
    CHECK(values(b) == std::vector<double>{5, 5});
    b.requires_grad_();
    CHECK(a.requires_grad());
}

TEST_CASE("detach shares memory and version, without history") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    D d = y.detach();
    CHECK_FALSE(d.requires_grad());
    CHECK(d.is_leaf());
    CHECK(share_memory(d, y));
    CHECK(d.data() == y.data());
    d.fill_(7.);
    CHECK(values(y) == std::vector<double>{7, 7});
    CHECK(y.version() == 1);
    CHECK(d.version() == 1);
}

TEST_CASE("clone has memory and a version of its own, and passes the gradient on") {
    D x({1., 2.}, xg::requires_grad);
    {
        xg::NoGradGuard const off;
        x += 1.;
    }
    D c = x.clone();
    CHECK(c.requires_grad());
    CHECK_FALSE(share_memory(c, x));
    CHECK(c.version() == 0);
    c.backward(D({3., 4.}));
    CHECK(difference(x.grad(), {3., 4.}) == "");
    D t = x.detach().clone();
    t.fill_(0.);
    CHECK(values(x) == std::vector<double>{2, 3});
}

TEST_CASE("a clone of a view has only the view's elements, in row-major order") {
    D const m({{1., 2., 3.}, {4., 5., 6.}});
    D const c = m.t().clone();
    CHECK(c.is_contiguous());
    CHECK(difference(c, {{1., 4.}, {2., 5.}, {3., 6.}}) == "");
}

TEST_CASE("data of a temporary's copy stays valid as long as a tensor holds it") {
    D a({1., 2., 3.});
    auto const* const p = a.data();
    D const view = a(1);
    a = D();
    CHECK(view.item() == 2);
    CHECK(view.data() == p + 1);
}

TEST_CASE("eval makes the tensor of an expression once, and gives a tensor itself") {
    auto const twice = [](auto const& operand) {
        auto const once = xg::eval(operand);
        return xg::eval(once + once);
    };
    D const x({1., 2.}, xg::requires_grad);
    D y = twice(sin(x) * x);
    CHECK(y.grad_fn()->formula() == "Add(a, b)");
    CHECK(y.grad_fn()->next_edges().size() == 1);
    sum(y).backward();
    double const slope = 2 * (std::cos(2.) * 2 + std::sin(2.));
    CHECK(x.grad()(1).item() == doctest::Approx(slope).epsilon(1e-14));
    CHECK(std::is_same_v<decltype(xg::eval(x * xg::Tensor<float>({1.f, 2.f}))), D>);
    CHECK(std::is_same_v<decltype(xg::eval(x > 1)), xg::Tensor<bool>>);

    D const same = xg::eval(x), copy = x.clone();
    CHECK(same.data() == x.data());
    CHECK(same.is_leaf());
    CHECK(copy.data() != x.data());

    xt::xarray<double> array{1., 2., 3.};
    D const of_array = xg::eval(2. * array);
    array(0) = 7.;
    CHECK(values(of_array) == std::vector<double>{2, 4, 6});

    auto const formula = 2. * x;
    D const before = xg::eval(formula);
    {
        xg::NoGradGuard guard;
        D(x) += 1.;
        CHECK(!xg::eval(formula).requires_grad());
    }
    CHECK(values(before) == std::vector<double>{2, 4});
    CHECK(values(xg::eval(formula)) == std::vector<double>{4, 6});
}

namespace {
std::string taken(D const&) { return "double"; }
std::string taken(xg::Tensor<float> const&) { return "float"; }
std::string taken(Z const&) { return "complex"; }
} // namespace

TEST_CASE("of functions with tensors of other types an expression finds that of its own") {
    D const x({1., 2.});
    xg::Tensor<float> const f({1.f, 2.f});
    Z const z({1., 2.});
    CHECK(taken(x * x) == "double");
    CHECK(taken(f * f) == "float");
    CHECK(taken(z * z) == "complex");
    CHECK(taken(2. * x + 1.) == "double");
}

// Two texts are neither numbers nor a pointer and a shape.
static_assert(!std::is_constructible_v<xg::Shape, char const (&)[2]>);
static_assert(!std::is_constructible_v<D, char const*, char const (&)[2]>);
