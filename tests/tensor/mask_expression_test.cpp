// A comparison as an index: the mask need not be named.
#include "compare.hpp"

TEST_CASE("a comparison picks the elements where it holds") {
    xg::Tensor<double> x({1., -2., 3.}, xg::requires_grad);
    xg::Tensor<double> const positive = x(x > 0);
    CHECK(difference(positive, {1., 3.}) == "");
    sum(positive * positive).backward();
    CHECK(difference(x.grad(), {2., 0., 6.}) == "");
}

TEST_CASE("what is assigned where a comparison holds is recorded, and read before it is written") {
    xg::Tensor<double> x({1., -2., 3.}, xg::requires_grad);
    xg::Tensor<double> y = x * 1.;
    y(y < 0) = 0.;
    CHECK(difference(y, {1., 0., 3.}) == "");
    y(y > 0 && y < 2) = x(xt::range(1, 2));
    CHECK(difference(y, {-2., 0., 3.}) == "");
    sum(y).backward();
    CHECK(difference(x.grad(), {0., 1., 1.}) == "");
}
