// Operands that do not fit: the message names operation and shapes, and nothing is left half done.
#include "compare.hpp"

TEST_CASE("operands that do not broadcast are refused with the operation and both shapes")
{
    D const a({1., 2., 3.}, xg::requires_grad), b({1., 2.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(D(a + b), doctest::Contains("Add: shapes [3] and [2] do not broadcast"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(D(a * b), doctest::Contains("Mul: shapes [3] and [2] do not broadcast"), xg::ShapeError);
    D const m = xg::ones({2, 3});
    CHECK_THROWS_WITH_AS(D(m * xg::ones({4, 1, 2})), doctest::Contains("Mul: shapes [2, 3] and [4, 1, 2] do not broadcast"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(sum(a * b), doctest::Contains("Mul: shapes [3] and [2]"), xg::ShapeError);
    CHECK_FALSE(a.grad().defined());
    sum(a * a).backward();
    CHECK(difference(a.grad(), {2., 4., 6.}) == "");
}

TEST_CASE("in a fused expression the operation that does not fit is the one named")
{
    D const a({1., 2., 3.}), b({1., 2.});
    CHECK_THROWS_WITH_AS(D(exp(a) * (a - b)), doctest::Contains("Sub: shapes [3] and [2]"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(D(exp(a) * (b + b)), doctest::Contains("Mul: shapes [3] and [2]"), xg::ShapeError);
    CHECK_THROWS_AS((a - b).shape(), xg::ShapeError);
}

TEST_CASE("matrices that cannot be multiplied, joined or stacked are refused with their shapes")
{
    D const m = xg::ones({2, 3});
    CHECK_THROWS_WITH_AS(matmul(m, m), doctest::Contains("matmul: shapes [2, 3] and [2, 3]"), xg::ShapeError);
    CHECK_THROWS_AS(matmul(m, D(1.)), xg::ShapeError);
    CHECK_THROWS_WITH_AS(dot(m, m), doctest::Contains("dot"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::cat(std::vector{m, xg::ones({2, 4})}), doctest::Contains("cat: shapes [2, 3] and [2, 4]"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::cat(std::vector{m, m}, 2), doctest::Contains("cat: axis 2 is out of range"), xg::IndexError);
    CHECK_THROWS_AS(xg::cat(std::vector{m, xg::ones({2, 3, 1})}), xg::ShapeError);
    CHECK_THROWS_AS(xg::cat(std::vector<D>{}), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::stack(std::vector{m, xg::ones({3, 2})}), doctest::Contains("stack: shapes [2, 3] and [3, 2]"), xg::ShapeError);
    CHECK_THROWS_AS(xg::stack(std::vector<D>{}), xg::ShapeError);
}

TEST_CASE("a gradient of another shape is not taken over")
{
    D x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(x.set_grad(D({1., 2., 3.})), doctest::Contains("attempting to assign a gradient of size '[3]' to a tensor of size '[2]'"), xg::ShapeError);
    CHECK_FALSE(x.grad().defined());
    x.set_grad(D({5., 6.}));
    CHECK(difference(x.grad(), {5., 6.}) == "");
    x.zero_grad();
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a tensor is not its own gradient")
{
    D x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_AS(x.set_grad(x), xg::Error);
    CHECK_FALSE(x.grad().defined());
    x.zero_grad();
}

TEST_CASE("every error is an xgrad::Error and a std::runtime_error")
{
    D const a({1., 2., 3.}), b({1., 2.});
    CHECK_THROWS_AS(D(a + b), xg::Error);
    CHECK_THROWS_AS(D(a + b), std::runtime_error);
    CHECK_THROWS_AS(a(5), xg::Error);
    CHECK_THROWS_AS(a.backward(), xg::Error);
}

TEST_CASE("cat and stack put gradients back where they came from")
{
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
