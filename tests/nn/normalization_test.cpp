// Normalisation against numbers recorded from PyTorch 1.13, differences, and the state of its
// layers.
#include <xgrad/testing/gradcheck.hpp>

#include "nn/waves.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;

namespace {
void is_close(D const& got, double wanted) {
    CHECK(got.item() == doctest::Approx(wanted).epsilon(1e-10));
}
D leaf(xg::Shape const& shape, double k) {
    D t = wave(shape, k);
    return t.requires_grad_();
}
} // namespace

TEST_CASE("batch normalisation: training, running moments, evaluation") {
    nn::BatchNorm2d<double> layer(3);
    {
        xg::NoGradGuard const off;
        layer.weight.copy_(wave({3}, 0.7));
        layer.bias.copy_(wave({3}, 0.4));
    }
    D const x = leaf({2, 3, 4, 5}, 1);
    D const total = weighted(layer(x), 1);
    total.backward();
    is_close(total, 27.4249671851);
    is_close(weighted(x.grad(), 2), 0.569893087458);
    is_close(weighted(layer.weight.grad(), 2), 0.897092826442);
    is_close(weighted(layer.bias.grad(), 2), -0.194410856997);
    is_close(weighted(layer.running_mean, 1), -0.000869945375578);
    is_close(weighted(layer.running_var, 1), 1.07133616958);
    layer(wave({4, 3, 2, 2}, 2));
    layer.eval();
    is_close(weighted(layer(x), 1), 20.3330945103);
    CHECK(layer.num_batches_tracked.item() == 2);
    std::string names;
    for (auto const& entry : layer.state_dict()) names += entry.name + ' ';
    CHECK(names == "weight bias running_mean running_var num_batches_tracked ");
    CHECK(to_string(layer) == "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=true, "
                              "track_running_stats=true), 6 parameters");

    nn::BatchNorm1d<double> mean_of_all(3, {.momentum = std::nullopt, .affine = false});
    mean_of_all(wave({4, 3}, 1));
    mean_of_all(wave({5, 3}, 2));
    CHECK(difference(mean_of_all.running_mean, {0.490053070353, -0.122883608667, -0.369062720348},
              1e-11) == "");
    CHECK(difference(mean_of_all.running_var, {0.0687764853532, 0.684588114253, 0.416637039982},
              1e-11) == "");
    nn::BatchNorm1d<float> untracked(2, {.track_running_stats = false});
    untracked.eval();
    F const y = untracked(F({{1000.f, 0.f}, {1001.f, 2.f}, {1002.f, 4.f}}));
    CHECK(difference(y, {{-1.2247f, -1.2247f}, {0.f, 0.f}, {1.2247f, 1.2247f}}, 1e-4) == "");
}

TEST_CASE("group normalisation") {
    D const x = leaf({2, 6, 5}, 1), w = leaf({6}, 0.7), b = leaf({6}, 0.4);
    D const total = weighted(f::group_norm(x, 2, w, b, 1e-3), 1);
    total.backward();
    is_close(total, 6.83692522667);
    is_close(weighted(x.grad(), 2), -0.501167851942);
    is_close(weighted(w.grad(), 2), -0.0318019549417);
    is_close(weighted(b.grad(), 2), -2.57407524001);
    CHECK(to_string(nn::GroupNorm<double>(3, 6)) ==
          "GroupNorm(3, eps=1e-05, affine=true), 12 parameters");
}

TEST_CASE("normalisation is differentiable twice and forward") {
    auto const batch = [](D const& x, D const& w, D const& b) {
        return f::batch_norm(permute(x, {1, 0, 2}), {}, {}, w, b, true);
    };
    auto const group = [](D const& x) { return square(f::group_norm(x, 2)); };
    auto const x = leaf({2, 3, 2}, 1), w = leaf({2}, 2), b = leaf({2}, 3);
    CHECK(xg::gradcheck(batch, xg::inputs(x, w, b)));
    CHECK(xg::gradgradcheck(batch, xg::inputs(x, w, b)));
    D const numbers = leaf({2, 4, 2}, 1);
    CHECK(xg::gradcheck(group, numbers));
    CHECK(xg::gradgradcheck(group, numbers));
    D const h(1e-5);
    auto const along = [&](D const& t) { return group(numbers + t * square(numbers)); };
    CHECK(difference(xg::jvp(along, D(0.), D(1.)).second, D((along(h) - along(-h)) / 2e-5), 1e-7) ==
          "");
}

TEST_CASE("batch_norm updates running statistics that are columns of a tensor") {
    xg::Tensor<double> const x({{1., 2., 3.}, {3., 6., 0.}});
    xg::Tensor<double> columns = xg::zeros({3, 2}), mean = xg::zeros({3}),
                       variance = xg::zeros({3});
    f::batch_norm(x, columns(xg::all, 0), columns(xg::all, 1), {}, {}, true);
    f::batch_norm(x, mean, variance, {}, {}, true);
    CHECK(allclose(columns(xg::all, 0), mean));
    CHECK(allclose(columns(xg::all, 1), variance));
    CHECK(mean.data()[0] == doctest::Approx(0.2)); // 0.1 times the mean of 1 and 3
}

TEST_CASE("wrong normalisation says what is wrong") {
    CHECK_THROWS_WITH_AS(nn::BatchNorm2d<double>(3)(xg::zeros({2, 3})),
        "BatchNorm2d: expected 4D input (got 2D input), not of shape [2, 3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::BatchNorm1d<double>(3)(xg::zeros({2, 3, 1, 1})),
        "BatchNorm1d: expected 2D or 3D input (got 4D input), not of shape [2, 3, 1, 1]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::BatchNorm1d<double>(3)(xg::zeros({2, 4})),
        "BatchNorm1d: expected input with 3 channels, not of shape [2, 4]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::BatchNorm1d<double>(3)(xg::zeros({1, 3})),
        "batch_norm: Expected more than 1 value per channel when training, got input size [1, 3]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::batch_norm(xg::zeros({2, 3}), xg::zeros({2}), xg::zeros({3})),
        "batch_norm: running_mean should contain 3 elements, not have shape [2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::batch_norm(xg::zeros({2, 3}), {}, {}),
        "batch_norm: Expected running_mean and running_var to be defined when training=False, and "
        "both or none of them",
        xg::Error);
    CHECK_THROWS_WITH_AS(f::group_norm(xg::zeros({2, 3}), 2),
        "group_norm: Expected number of channels in input to be divisible by num_groups, but got "
        "input of shape [2, 3] and num_groups=2",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::GroupNorm<double>(2, 3),
        "GroupNorm: num_channels 3 must be divisible by num_groups 2", xg::ShapeError);
}

TEST_CASE("batches without a sample pass; groups of one number are their bias") {
    nn::BatchNorm1d<double> layer(3);
    D const y = layer(D(xg::zeros({0, 3})));
    CHECK(y.shape() == xg::Shape{0, 3});
    sum(y).backward();
    CHECK(difference(layer.weight.grad(), {0., 0., 0.}) == "");
    CHECK(difference(layer.running_mean.handle_of(), {0., 0., 0.}) == "");
    CHECK(difference(layer.running_var.handle_of(), {1., 1., 1.}) == "");
    CHECK(layer.num_batches_tracked.item() == 1);

    CHECK(difference(nn::GroupNorm<double>(2, 2)(wave({2, 2}, 1)), {{0., 0.}, {0., 0.}}, 1e-12) ==
          "");
    CHECK_THROWS_AS(nn::GroupNorm<double>(2, 2)(wave({1, 2}, 1)), xg::ShapeError);
}

TEST_CASE("a result of evaluation goes back after the layer was trained on") {
    nn::BatchNorm1d<double> layer(2);
    layer.eval();
    D const x = leaf({3, 2}, 1), y = layer(x);
    layer.train();
    layer(wave({3, 2}, 2));
    sum(y).backward();
    CHECK(difference(x.grad(), D(xg::full({3, 2}, 1 / std::sqrt(1 + 1e-5))), 1e-12) == "");
}
