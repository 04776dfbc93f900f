// Axes as people write them: one integer of any type, a list in braces, a vector, an array, a span;
// negative ones count from the end; with and without keepdims.
#include <array>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

namespace {

template <class F> void check_arguments(std::string const& name, F const& f) {
    INFO(name);
    D const x = xg::rand({2, 3, 4}) + 0.5;
    auto const same = [](D const& a, D const& b) {
        return a.shape() == b.shape() && (a.numel() == 0 || amax(abs(a - b)).item() < 1e-12);
    };
    D const expected = f(x, xg::Axes{1});
    int const i = 1;
    short const s = 1;
    std::size_t const u = 1;
    long long const l = -2;
    unsigned char const c = 1;
    CHECK(same(f(x, 1), expected));
    CHECK(same(f(x, -2), expected));
    CHECK(same(f(x, i), expected));
    CHECK(same(f(x, s), expected));
    CHECK(same(f(x, u), expected));
    CHECK(same(f(x, l), expected));
    CHECK(same(f(x, c), expected));
    CHECK(same(f(x, std::vector<int>{1}), expected));
    CHECK(same(f(x, std::array<long, 1>{-2}), expected));
    int const list[] = {1};
    CHECK(same(f(x, std::span<int const>(list)), expected));
    CHECK(same(f(x, std::vector<std::size_t>{0, 2}), f(x, xg::Axes{-3, -1})));
    CHECK_THROWS_AS(f(x, 3), xg::Error);
    CHECK_THROWS_AS(f(x, -4), xg::Error);
}

} // namespace

#define CHECK_FUNCTION(expression)                                                                 \
    check_arguments(#expression, [](D const& x, auto const& axes) { return D(expression); })

TEST_CASE("every function of axes takes one integer, or any list") {
    CHECK_FUNCTION(sum(x, axes));
    CHECK_FUNCTION(sum(x, axes, xg::keepdims));
    CHECK_FUNCTION(mean(x, axes));
    CHECK_FUNCTION(mean(x, axes, true));
    CHECK_FUNCTION(prod(x, axes));
    CHECK_FUNCTION(prod(x, axes, true));
    CHECK_FUNCTION(amax(x, axes));
    CHECK_FUNCTION(amax(x, axes, true));
    CHECK_FUNCTION(amin(x, axes));
    CHECK_FUNCTION(var(x, axes));
    CHECK_FUNCTION(var(x, axes, true, 0));
    CHECK_FUNCTION(stddev(x, axes));
    CHECK_FUNCTION(norm(x, 2, axes));
    CHECK_FUNCTION(norm(x, 1, axes, true));
    CHECK_FUNCTION(logsumexp(x, axes));
    CHECK_FUNCTION(logsumexp(x, axes, true));
    CHECK_FUNCTION(xg::cast<double>(count_nonzero(x, axes)));
    CHECK_FUNCTION(xg::cast<double>(any_of(x > 1., axes)));
    CHECK_FUNCTION(xg::cast<double>(all_of(x > 1., axes)));
    CHECK_FUNCTION(flip(x, axes));
    CHECK_FUNCTION(fftshift(x, axes));
    CHECK_FUNCTION(ifftshift(x, axes));
    CHECK_FUNCTION(abs2(fftn(x, axes)));
    CHECK_FUNCTION(abs2(ifftn(x, axes)));
    CHECK_FUNCTION(abs2(rfftn(x, axes)));
}

TEST_CASE("lists in braces, of integers of any types") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    std::size_t const one = 1;
    CHECK(sum(x, {0}).shape() == xg::Shape{3});
    CHECK(sum(x, {-1}).shape() == xg::Shape{2});
    CHECK(sum(x, {0, one}).item() == 21);
    CHECK(sum(x, {}).shape() == xg::Shape{2, 3});
    CHECK(mean(x, 0)(2).item() == 4.5);
    CHECK(sum(2. * x, 1).shape() == xg::Shape{2}); // of an expression
    CHECK(roll(x, 1, 0)(0, 0).item() == 4);
    CHECK(movedim(x, 0, 1).shape() == xg::Shape{3, 2});
    CHECK(movedim(x, 0, -1).shape() == xg::Shape{3, 2});
}

TEST_CASE("one integer for a shape") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    int const all = 6;
    CHECK(reshape(x, -1).shape() == xg::Shape{6});
    CHECK(reshape(x, all).shape() == xg::Shape{6});
    CHECK(x.reshape(-1).shape() == xg::Shape{6});
    CHECK(x.view(-1).shape() == xg::Shape{6});
    CHECK(xg::zeros(3).shape() == xg::Shape{3});
    CHECK(xg::ones(all).shape() == xg::Shape{6});
    CHECK(xg::rand(2).shape() == xg::Shape{2});
    CHECK(xg::randn(2).shape() == xg::Shape{2});
    CHECK(xg::full(2, 7.)(1).item() == 7);
    CHECK(xg::zeros<float>(std::vector<int>{2, 3}).shape() == xg::Shape{2, 3});
    CHECK_THROWS_AS(xg::zeros(-1), xg::ShapeError);
}
