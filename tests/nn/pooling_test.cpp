// Pooling against numbers recorded from PyTorch 1.13, differences, and what ties and NaN do.
#include <xgrad/testing/gradcheck.hpp>

#include "nn/waves.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;

namespace {
template <class Pool>
void check(Pool pool, xg::Shape const& from, xg::Shape const& to, double total, double of_x) {
    D x = wave(from, 1);
    x.requires_grad_();
    D const y = pool(x);
    CHECK(y.shape() == to);
    D const all = weighted(y, 1);
    all.backward();
    CHECK(all.item() == doctest::Approx(total).epsilon(1e-10));
    CHECK(weighted(x.grad(), 2).item() == doctest::Approx(of_x).epsilon(1e-10));
}
} // namespace

TEST_CASE("pooling has the numbers of PyTorch") {
    check(
        [](D const& x) { return f::max_pool1d(x, 3, {.stride = 2, .padding = 1, .dilation = 2}); },
        {2, 3, 10}, {2, 3, 4}, 1.40778945607, -1.06424047701);
    check(
        [](D const& x) {
            return f::max_pool2d(
                x, {2, 3}, {.stride = {{2, 3}}, .padding = {0, 1}, .ceil_mode = true});
        },
        {2, 3, 7, 8}, {2, 3, 4, 3}, 2.76719283461, -2.26081710323);
    check([](D const& x) { return nn::MaxPool2d(2)(x); }, {3, 6, 6}, {3, 3, 3}, 0.790555505758,
        0.579876284123);
    check(
        [](D const& x) {
            return f::avg_pool1d(x, 4, {.stride = 3, .padding = 2, .ceil_mode = true});
        },
        {2, 3, 10}, {2, 3, 4}, 0.0282866688853, 0.165097672012);
    check(
        [](D const& x) {
            return f::avg_pool2d(x, {3, 2},
                {.stride = {{2, 3}}, .padding = 1, .ceil_mode = true, .count_include_pad = false});
        },
        {2, 3, 7, 8}, {2, 3, 4, 3}, 2.44929749099, -0.317846989829);
    check(
        [](D const& x) {
            return nn::AvgPool2d({3, 2}, {.padding = 1, .divisor_override = 5})(x);
        },
        {2, 3, 7, 8}, {2, 3, 3, 5}, 0.353772013902, 0.0138430183928);
    check([](D const& x) { return nn::AdaptiveAvgPool1d(4)(x); }, {2, 3, 10}, {2, 3, 4},
        0.07841502673, 0.00378338247116);
    check(
        [](D const& x) {
            return nn::AdaptiveAvgPool2d({3, 5})(x);
        },
        {2, 3, 7, 8}, {2, 3, 3, 5}, 0.140765013511, -0.120030010646);
}

TEST_CASE(
    "of equal numbers the first is the largest, NaN is larger than all, and indices say where") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    D const x({{{1., 1., 2., 0.}, {1., 1., 0., 2.}, {nan, 5., -1., -2.}, {6., 7., -1., -1.}}},
        xg::requires_grad);
    auto [y, at] = f::max_pool2d_with_indices(x, 2);
    CHECK(difference(y, {{{1., 2.}, {nan, -1.}}}) == "");
    CHECK(difference(at, {{{0, 2}, {8, 10}}}) == "");
    at.zero_();
    sum(y).backward();
    CHECK(difference(x.grad(),
              {{{1., 0., 1., 0.}, {0., 0., 0., 0.}, {1., 0., 1., 0.}, {0., 0., 0., 0.}}}) == "");
}

TEST_CASE("pooling is differentiable twice, also of complex numbers and of views") {
    D x = wave({1, 2, 4, 5}, 1);
    x.requires_grad_();
    auto const squared = [](D const& t) {
        return square(f::max_pool2d(permute(t, {0, 1, 3, 2}), {3, 2}, {.stride = 1}));
    };
    CHECK(xg::gradcheck(squared, x));
    CHECK(xg::gradgradcheck(squared, x));
    CHECK(xg::gradgradcheck(
        [](D const& t) {
            return square(f::adaptive_avg_pool2d(t, {3, 2}));
        },
        x));
    Z z = xg::complex(wave({1, 2, 5}, 1), wave({1, 2, 5}, 2));
    z.requires_grad_();
    CHECK(xg::gradcheck(
        [](Z const& t) { return f::avg_pool1d(t, 3, {.stride = 1, .padding = 1}); }, z));
    CHECK(difference(xg::jvp([](D const& t) { return f::max_pool1d(t, 2); }, D({{1., 3., 2.}}),
                         D({{4., 5., 6.}}))
                         .second,
              {{5.}}) == "");
}

TEST_CASE("wrong pooling says what is wrong; layers show their options") {
    D const x = xg::zeros({1, 2, 4, 4});
    CHECK_THROWS_WITH_AS(f::max_pool2d(x(0, 0), 2),
        "Expected 3D (unbatched) or 4D (batched) input to max_pool2d, but got input of size: [4, "
        "4]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::max_pool2d(x, 3, {.padding = 2}),
        "max_pool2d: pad should be at most half of kernel size, but got padding 2 and kernel size "
        "3",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::avg_pool2d(x, 5),
        "avg_pool2d: a window of 5 positions does not fit an extent of 4 with padding 0, in shape "
        "[1, 2, 4, 4]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::avg_pool1d(x(0), 0),
        "avg_pool1d: the kernel size must be positive, not [0]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::max_pool1d(xg::zeros({1, 2}), 2, {.padding = 1, .dilation = 3}),
        "max_pool1d: a window of kernel size 2 and dilation 3 sees nothing but padding",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::avg_pool2d(x, 2, {.divisor_override = 0}),
        "avg_pool2d: divisor must be not zero", xg::Error);
    CHECK_THROWS_WITH_AS(f::adaptive_avg_pool2d(x, -1),
        "adaptive_avg_pool2d: an output size must not be negative, not [-1, -1]", xg::ShapeError);
    CHECK(to_string(nn::MaxPool2d(3, {.stride = 2, .ceil_mode = true})) ==
          "MaxPool2d(kernel_size=(3, 3), stride=(2, 2), padding=(0, 0), ceil_mode=true)");
    CHECK(to_string(nn::AvgPool1d(2)) == "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))");
}

TEST_CASE("with ceil_mode an image may be smaller than a window") {
    D const line({{{1., 2.}}}), square({{{{1., 2.}, {3., 4.}}}});
    CHECK(difference(f::max_pool1d(line, 3, {.stride = 2, .ceil_mode = true}), {{{2.}}}) == "");
    CHECK(difference(f::avg_pool1d(line, 3, {.stride = 2, .ceil_mode = true}), {{{1.5}}}) == "");
    CHECK(difference(f::max_pool2d(square, 3, {.stride = 2, .ceil_mode = true}), {{{{4.}}}}) == "");
    CHECK(
        difference(f::avg_pool2d(square, 3, {.stride = 2, .ceil_mode = true}), {{{{2.5}}}}) == "");
    CHECK_THROWS_AS(f::max_pool1d(line, 3, {.stride = 1, .ceil_mode = true}), xg::ShapeError);
}

TEST_CASE("no windows at all have the gradient zero") {
    { D const used_before = xg::ones({1, 2, 4000}); }
    D x = D::empty({1, 2, 4000});
    x.fill_(1.);
    x.requires_grad_();
    D const y = f::adaptive_avg_pool1d(x, 0);
    CHECK(y.shape() == xg::Shape{1, 2, 0});
    sum(y).backward();
    CHECK(amax(abs(x.grad())).item() == 0);
}
