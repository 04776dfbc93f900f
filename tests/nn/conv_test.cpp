// Convolutions against numbers recorded from PyTorch 1.13, differences, sums written out, and each
// other.
#include <xgrad/testing/gradcheck.hpp>

#include "nn/waves.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;

namespace {

struct Recorded {
    xg::Shape shape;
    double total, first, last, of_x, of_w, of_b;
};

template <class Conv>
void check(Conv conv, xg::Shape const& x_shape, xg::Shape const& w_shape, std::size_t bias,
    Recorded const& wanted) {
    D x = wave(x_shape, 1), w = wave(w_shape, 1.3), b = wave({bias}, 0.7);
    for (D* t : {&x, &w, &b}) t->requires_grad_();
    D const y = conv(x, w, b);
    CHECK(y.shape() == wanted.shape);
    D const total = weighted(y, 1);
    total.backward();
    auto const close = [](double got, double number) {
        CHECK(got == doctest::Approx(number).epsilon(1e-10));
    };
    close(total.item(), wanted.total);
    close(values(y).front(), wanted.first);
    close(values(y).back(), wanted.last);
    close(weighted(x.grad(), 2).item(), wanted.of_x);
    close(weighted(w.grad(), 2).item(), wanted.of_w);
    close(weighted(b.grad(), 2).item(), wanted.of_b);
}

Z leaf(xg::Shape const& shape, double k) {
    Z t = xg::complex(wave(shape, k), wave(shape, k + 0.4));
    return t.requires_grad_();
}

} // namespace

TEST_CASE("convolutions have the numbers of PyTorch") {
    check(
        [](auto const&... t) {
            return f::conv1d(t..., {.stride = 2, .padding = 3, .dilation = 2, .groups = 2});
        },
        {2, 4, 9}, {6, 2, 3}, 6,
        {{2, 6, 6}, 4.93677634917, -0.823655469879, -1.61378148546, 0.718080946275, 1.97934311205,
            -0.289061910514});
    check(
        [](auto const&... t) {
            return f::conv2d(t..., {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 3}});
        },
        {2, 3, 7, 6}, {4, 3, 3, 2}, 4,
        {{2, 4, 4, 7}, -1.4265411781, -0.606889340752, -0.262903322738, -0.427637071163,
            1.02233415309, -0.613523623477});
    check([](auto const&... t) { return f::conv2d(t..., {.padding = 1, .groups = 4}); },
        {3, 4, 5, 5}, {8, 1, 3, 3}, 8,
        {{3, 8, 5, 5}, 10.9780068805, 1.1427365507, -2.20122333372, 0.911531808505, -36.9375085927,
            0.0844874516954});
    check([](auto const&... t) { return f::conv2d(t...); }, {2, 3, 8, 8}, {5, 3, 1, 1}, 5,
        {{2, 5, 8, 8}, 2.40489373467, 1.34699756791, 1.43908590997, -0.353526636058, 3.58795655538,
            0.562723665271});
    check(
        [](auto const&... t) {
            return f::conv2d(t..., {.stride = {2, 1}, .padding = 1});
        },
        {2, 16, 30, 29}, {3, 16, 3, 3}, 3, // in several parts
        {{2, 3, 15, 29}, -36.5092794077, 1.80986079371, 0.508115973918, -3.50921247849,
            13.9407109365, 1.3372358995});
    check(
        [](auto const&... t) {
            return f::conv_transpose1d(
                t..., {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2});
        },
        {2, 4, 5}, {4, 3, 3}, 6,
        {{2, 6, 10}, 0.27435927682, -0.0305468830662, 0.111501901983, -9.38005577975,
            -0.595748421301, 0.276222400003});
    check(
        [](auto const&... t) {
            return f::conv_transpose2d(t..., {.stride = {3, 2},
                                                 .padding = {2, 1},
                                                 .output_padding = {2, 0},
                                                 .dilation = {2, 3}});
        },
        {2, 3, 4, 3}, {3, 2, 3, 2}, 2,
        {{2, 2, 12, 6}, -1.8661547336, 0.242556324789, 0.810496933788, 0.329745882014,
            -0.0736747322971, 4.61127068109});
}

TEST_CASE("windows of one pixel, of so many channels that an image is taken in parts") {
    D const x = wave({1, 1, 7, 7}, 1), w = wave({1, 700, 1, 1}, 1.3);
    D const y = f::conv_transpose2d(x, w);
    CHECK(difference(y, D(x * w)) == "");
    CHECK(difference(f::conv2d(y, w), D(x * sum(square(w)))) == "");
}

TEST_CASE("convolutions are differentiable twice and forward, real and complex") {
    auto const conv = [](auto const&... t) {
        return f::conv2d(t..., {.stride = {1, 2}, .padding = {1, 0}, .groups = 2});
    };
    D x = wave({2, 2, 3, 4}, 1), w = wave({4, 1, 2, 3}, 1.3), b = wave({4}, 0.7);
    for (D* t : {&x, &w, &b}) t->requires_grad_();
    CHECK(xg::gradcheck(conv, xg::inputs(x, w, b)));
    CHECK(xg::gradgradcheck(conv, xg::inputs(x, w, b)));
    for (bool const biased : {true, false}) {
        auto const along = [&](D const& h) {
            return biased ? conv(D(x + h * x), D(w + h * square(w)), D(b + h))
                          : conv(D(x + h * x), D(w + h * square(w)), D());
        };
        D const tangent = xg::jvp(along, D(0.), D(1.)).second;
        CHECK(difference(tangent, D((along(D(1e-4)) - along(D(-1e-4))) / 2e-4), 1e-7) == "");
    }

    auto const complex_conv = [](auto const&... t) {
        return f::conv1d(t..., {.stride = 2, .padding = 1});
    };
    auto const transposed = [](auto const&... t) {
        return f::conv_transpose1d(t..., {}, {.stride = 2, .padding = 1});
    };
    CHECK(xg::gradcheck(
        complex_conv, xg::inputs(leaf({2, 2, 5}, 1), leaf({3, 2, 3}, 2), leaf({3}, 3))));
    CHECK(xg::gradcheck(transposed, xg::inputs(leaf({2, 3, 3}, 1), leaf({3, 2, 3}, 2))));
    CHECK(xg::gradgradcheck(
        complex_conv, xg::inputs(leaf({1, 2, 4}, 1), leaf({1, 2, 3}, 2), leaf({1}, 3))));
    CHECK(xg::gradgradcheck(transposed, xg::inputs(leaf({1, 1, 3}, 1), leaf({1, 2, 3}, 2))));
}

TEST_CASE_TEMPLATE("a convolution of any scalar type, one sample, a strided input", T, float,
    std::complex<float>, std::complex<double>) {
    auto const as = [](D const& t) { return xg::cast<T>(t); };
    D const x = wave({3, 4, 5, 2}, 1), w = wave({2, 3, 2, 2}, 1.3);
    D const wanted = f::conv2d(D(permute(x, {3, 0, 1, 2})).clone(), w);
    xg::Tensor<T> const y = f::conv2d(permute(as(x), {3, 0, 1, 2}), as(w));
    CHECK(difference(y, as(wanted), 1e-5) == "");
    CHECK(difference(f::conv2d(y(0), as(wave({1, 2, 1, 1}, 2)))(0),
              f::conv2d(y, as(wave({1, 2, 1, 1}, 2)))(0, 0), 1e-5) == "");
}

TEST_CASE("only the wanted gradients are computed, and modules train") {
    xg::manual_seed(1);
    nn::Conv2d<double> layer(4, 6, {3, 2}, {.stride = 2, .padding = {1, 0}, .groups = 2});
    CHECK(layer.weight.shape() == xg::Shape{6, 2, 3, 2});
    for (double const v : values(layer.weight)) CHECK(std::abs(v) <= 1 / std::sqrt(12.));
    D const x = wave({2, 4, 5, 5}, 1);
    sum(layer(x)).backward();
    CHECK(layer.weight.grad().defined());
    CHECK(difference(layer.bias.grad(), xg::full({6}, 2. * 3 * 2)) == "");
    CHECK(
        to_string(layer) ==
        "Conv2d(4, 6, kernel_size=(3, 2), stride=(2, 2), padding=(1, 0), groups=2), 78 parameters");
    CHECK(nn::Conv1d<float>(1, 2, 3)(xg::zeros<float>({1, 8})).shape() == xg::Shape{2, 6});
    nn::ConvTranspose2d<double> up(4, 6, 2, {.stride = 2, .groups = 2, .bias = false});
    CHECK(up.weight.shape() == xg::Shape{4, 3, 2, 2});
    CHECK(up(x).shape() == xg::Shape{2, 6, 10, 10});
    CHECK(to_string(up) == "ConvTranspose2d(4, 6, kernel_size=(2, 2), stride=(2, 2), groups=2, "
                           "bias=false), 48 parameters");
    CHECK(nn::ConvTranspose1d<double>(2, 3, 4)(xg::zeros({1, 2, 5})).shape() == xg::Shape{1, 3, 8});
    CHECK(f::conv2d(xg::zeros({0, 4, 5, 5}), layer.weight.handle_of(), {}, {.groups = 2}).shape() ==
          xg::Shape{0, 6, 3, 4});
}

TEST_CASE("wrong convolutions say what is wrong") {
    D const x = xg::zeros({1, 2, 5, 5}), w = xg::zeros({4, 2, 3, 3});
    CHECK_THROWS_WITH_AS(f::conv2d(x(0, 0), w),
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv2d(xg::zeros({1, 3, 5, 5}), w),
        "Given groups=1, weight of size [4, 2, 3, 3], expected input[1, 3, 5, 5] of conv2d to have "
        "2 channels, but got 3 channels instead",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv_transpose2d(x, w),
        "Given transposed=1, weight of size [4, 2, 3, 3], expected input[1, 2, 5, 5] of "
        "conv_transpose2d to have 4 channels, but got 2 channels instead",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv2d(x, w, xg::zeros({3})),
        "conv2d: a weight of size [4, 2, 3, 3] needs a bias with 4 elements, not one of shape [3]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv2d(x, w, {}, {.dilation = 3}),
        "conv2d: Calculated padded input size per channel: (5 x 5). Kernel size: (7 x 7). Kernel "
        "size can't be greater than actual input size",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv2d(x, w, {}, {.stride = {1, 0}}),
        "conv2d: the stride must be positive, not [1, 0]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv2d(x, w, {}, {.padding = -1}),
        "conv2d: the padding must not be negative, not [-1, -1]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv2d(x, w, {}, {.groups = 3}),
        "conv2d: 3 groups need a weight whose first extent they divide, not shape [4, 2, 3, 3]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv1d(x(0), w),
        "conv1d: the weight needs 3 axes, not shape [4, 2, 3, 3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::conv_transpose2d(xg::zeros({1, 4, 5, 5}), w, {}, {.output_padding = 1}),
        "conv_transpose2d: output padding must be smaller than either stride or dilation, but got "
        "output_padding [1, 1], stride [1, 1], dilation [1, 1]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::Conv2d<double>(3, 4, 3, {.groups = 2}),
        "Conv2d: in_channels 3 must be divisible by groups 2", xg::ShapeError);
}
