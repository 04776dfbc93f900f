// An error of a function of networks names the function as it is written, and the shapes that
// matter.
#include <support/error_names.hpp>
#include <support/implementation.hpp>

#include <xgrad/nn.hpp>

using namespace support;

namespace {
namespace nn = xg::nn;
namespace f = xg::nn::functional;
using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using M = xg::Tensor<bool>;

D const u, number(1.), v2 = xg::ones({2}), v3 = xg::ones({3}), m23 = xg::ones({2, 3}),
                       m32 = xg::ones({3, 2}), m22 = xg::ones({2, 2}), cube = xg::ones({2, 3, 4}),
                       four = xg::ones({2, 3, 4, 4});

/// PyTorch's sentences about inputs name the function somewhere.
#define SAYS(parts, ...) CHECK(has(message_of([&] { __VA_ARGS__; }), Parts parts))
} // namespace

TEST_CASE("pooling") {
    SAYS(({"max_pool1d", "[2]"}), f::max_pool1d(v2, 2));
    SAYS(({"max_pool2d", "[2, 3]"}), f::max_pool2d(m23, 2));
    SAYS(({"avg_pool1d", "[2]"}), f::avg_pool1d(v2, 2));
    SAYS(({"avg_pool2d", "[2, 3]"}), f::avg_pool2d(m23, 2));
    SAYS(({"adaptive_avg_pool1d", "[2]"}), f::adaptive_avg_pool1d(v2, 1));
    SAYS(({"adaptive_avg_pool2d", "[2, 3]"}), f::adaptive_avg_pool2d(m23, 1));
    NAMES("max_pool1d", ({"9 positions", "[2, 3, 4]"}), f::max_pool1d(cube, 9));
    NAMES("max_pool2d", ({"9 positions", "[2, 3, 4, 4]"}), f::max_pool2d(four, 9));
    NAMES("max_pool2d_with_indices", ({"9 positions", "[2, 3, 4, 4]"}),
        f::max_pool2d_with_indices(four, 9));
    NAMES("avg_pool1d", ({"9 positions", "[2, 3, 4]"}), f::avg_pool1d(cube, 9));
    NAMES("avg_pool2d", ({"9 positions", "[2, 3, 4, 4]"}), f::avg_pool2d(four, 9));
    NAMES("max_pool2d", ({"kernel size", "[0, 0]"}), f::max_pool2d(four, 0));
    NAMES("max_pool2d", ({"stride", "[0, 0]"}), f::max_pool2d(four, 2, {.stride = 0}));
    NAMES("max_pool2d", ({"dilation", "[0, 0]"}), f::max_pool2d(four, 2, {.dilation = 0}));
    NAMES("max_pool2d", ({"padding 2", "kernel size 2"}), f::max_pool2d(four, 2, {.padding = 2}));
    NAMES("adaptive_avg_pool2d", ({"output size", "[-1, -1]"}), f::adaptive_avg_pool2d(four, -1));
    UNDEFINED("max_pool1d", f::max_pool1d(u, 2));
    UNDEFINED("max_pool2d", f::max_pool2d(u, 2));
    UNDEFINED("avg_pool1d", f::avg_pool1d(u, 2));
    UNDEFINED("adaptive_avg_pool2d", f::adaptive_avg_pool2d(u, 2));
}

TEST_CASE("convolutions") {
    D const weight = xg::ones({2, 3, 2, 2});
    SAYS(({"conv1d", "[2]"}), f::conv1d(v2, cube));
    SAYS(({"conv2d", "[2, 3]"}), f::conv2d(m23, weight));
    SAYS(({"conv_transpose1d", "[2]"}), f::conv_transpose1d(v2, cube));
    SAYS(({"conv2d", "[2, 4, 1, 1]", "[2, 3, 4, 4]"}), f::conv2d(four, xg::ones({2, 4, 1, 1})));
    SAYS(({"conv2d", "groups=2", "[2, 3, 2, 2]", "[2, 3, 4, 4]"}),
        f::conv2d(four, weight, {}, {.groups = 2}));
    SAYS(({"conv_transpose1d", "[2, 3, 4]"}), f::conv_transpose1d(cube, cube));
    NAMES("conv1d", ({"(4)", "(9)"}), f::conv1d(cube, xg::ones({2, 3, 9})));
    NAMES("conv1d", ({"[2, 3, 2]", "[3]"}), f::conv1d(cube, xg::ones({2, 3, 2}), v3));
    NAMES("conv2d", ({"[2, 3, 4]"}), f::conv2d(four, cube));
    NAMES("conv2d", ({"stride", "[0, 0]"}), f::conv2d(four, weight, {}, {.stride = 0}));
    NAMES("conv2d", ({"dilation", "[0, 0]"}), f::conv2d(four, weight, {}, {.dilation = 0}));
    NAMES("conv2d", ({"groups"}), f::conv2d(four, weight, {}, {.groups = 0}));
    NAMES("conv_transpose2d", ({"[2, 3, 4]"}), f::conv_transpose2d(four, cube));
    NAMES("conv_transpose2d", ({"[3, 2, 2, 2]", "[3]"}),
        f::conv_transpose2d(four, xg::ones({3, 2, 2, 2}), v3));
    UNDEFINED("conv1d", f::conv1d(u, cube));
    UNDEFINED("conv1d", f::conv1d(cube, u));
    UNDEFINED("conv2d", f::conv2d(u, weight));
    UNDEFINED("conv_transpose1d", f::conv_transpose1d(cube, u));
    UNDEFINED("conv_transpose2d", f::conv_transpose2d(u, weight));
}

TEST_CASE("linear layers and normalisation") {
    NAMES("linear", ({"[2, 3]", "[2, 2]"}), f::linear(m23, m22));
    NAMES("linear", ({"[]", "[2, 3]"}), f::linear(number, m23));
    NAMES("linear", ({"[3]", "[2, 2]"}), f::linear(m23, m23, v3));
    NAMES("bilinear", ({"[2, 3]", "[2, 2]", "[2, 3, 4]"}), f::bilinear(m23, m22, cube));
    NAMES(
        "bilinear", ({"[2, 3]", "[3, 4]", "[2, 3, 4]"}), f::bilinear(m23, xg::ones({3, 4}), cube));
    NAMES("bilinear", ({"[3]", "[2, 2]"}), f::bilinear(m23, xg::ones({2, 4}), cube, v3));
    NAMES("batch_norm", ({"[2]"}), f::batch_norm(v2, {}, {}));
    NAMES("batch_norm", ({"running_mean", "3 elements", "[2]"}), f::batch_norm(m23, v2, v2));
    NAMES("batch_norm", ({"weight", "3 elements", "[2]"}), f::batch_norm(m23, v3, v3, v2));
    NAMES("batch_norm", ({"[1, 3]"}), f::batch_norm(xg::ones({1, 3}), {}, {}, {}, {}, true));
    NAMES("group_norm", ({"[2, 3, 4]", "num_groups=2"}), f::group_norm(cube, 2));
    NAMES("group_norm", ({"weight", "3 elements", "[2]"}), f::group_norm(cube, 3, v2));
    NAMES("layer_norm", ({"[2, 3]", "[2]"}), f::layer_norm(m23, {2}));
    NAMES("layer_norm", ({"weight", "[2]", "[3]"}), f::layer_norm(m23, {3}, v2));
    NAMES("layer_norm", ({"[3]", "[2, 3]"}), f::layer_norm(v3, {2, 3}));
    NAMES("embedding", ({"[3]"}), f::embedding(I({0}), v3));
    NAMES("flatten", ({"axis 3", "[2, 3]"}), f::flatten(m23, 3));
    NAMES("flatten", ({"axis 1", "axis 0", "[2, 3]"}), f::flatten(m23, 1, 0));
    UNDEFINED("linear", f::linear(u, m23));
    UNDEFINED("linear", f::linear(m23, u));
    UNDEFINED("bilinear", f::bilinear(m23, u, cube));
    UNDEFINED("batch_norm", f::batch_norm(u, v3, v3));
    UNDEFINED("group_norm", f::group_norm(u, 1));
    UNDEFINED("layer_norm", f::layer_norm(u, {3}));
    UNDEFINED("embedding", f::embedding(I(), m23));
    UNDEFINED("embedding", f::embedding(I({0}), u));
    UNDEFINED("flatten", f::flatten(u));
    UNDEFINED("dropout", f::dropout(u));
    UNDEFINED("dropout2d", f::dropout2d(u));
    UNDEFINED("softplus", f::softplus(u, 2.));
}

TEST_CASE("attention") {
    auto const attend = [](D const& q, D const& k, D const& v,
                            nn::AttentionOptions<double> const& o = {}) {
        return f::scaled_dot_product_attention(q, k, v, o);
    };
    auto const name = "scaled_dot_product_attention";
    NAMES(name, ({"[2, 3]", "[3, 2]"}), attend(m23, m32, m32));
    NAMES(name, ({"[2, 3]", "[3, 2]"}), attend(m23, m23, m32));
    NAMES(name, ({"[3]"}), attend(v3, v3, v3));
    NAMES(
        name, ({"[2, 3, 4]", "[3, 3, 4]"}), attend(cube, xg::ones({3, 3, 4}), xg::ones({3, 3, 4})));
    NAMES(name, ({"[2, 3, 4]", "[3, 3, 4]"}), attend(cube, cube, xg::ones({3, 3, 4})));
    NAMES(name, ({"attn_mask", "[3, 3]", "[2, 2]"}),
        attend(m23, m23, m23, {.attn_mask = M(xg::ones({3, 3}) > 0.)}));
    NAMES(name, ({"attn_mask", "[3, 3]", "[2, 2]"}),
        attend(m23, m23, m23, {.attn_mask = D(xg::ones({3, 3}))}));
    UNDEFINED(name, attend(u, m23, m23));
    UNDEFINED(name, attend(m23, u, m23));
    UNDEFINED(name, attend(m23, m23, u));
}

TEST_CASE("losses") {
    auto const mean = nn::Reduction::mean;
    NAMES("cross_entropy", ({"Target 7", "3 classes"}), f::cross_entropy(m23, I({7, 0})));
    NAMES("cross_entropy", ({"[3]", "[1]"}), f::cross_entropy(v3, I({0})));
    NAMES("cross_entropy", ({"[2, 3]", "[3, 2]"}), f::cross_entropy(m23, m32));
    NAMES("cross_entropy", ({"weight", "3 classes", "[2]"}),
        f::cross_entropy(m23, I({0, 0}), {.weight = v2}));
    NAMES("nll_loss", ({"Target 5", "3 classes"}), f::nll_loss(m23, I({5, 0})));
    NAMES("binary_cross_entropy_with_logits", ({"a weight", "[3]", "[2]"}),
        f::binary_cross_entropy_with_logits(v2, v2, mean, v3));
    NAMES("binary_cross_entropy_with_logits", ({"a pos_weight", "[3]", "[2]"}),
        f::binary_cross_entropy_with_logits(v2, v2, mean, {}, v3));
    NAMES("cosine_embedding_loss", ({"[2, 3]", "[3]"}), f::cosine_embedding_loss(m23, m23, v3));
    NAMES("triplet_margin_loss", ({"[2, 3]", "[3]"}), f::triplet_margin_loss(m23, m23, v3));
    UNDEFINED("mse_loss", f::mse_loss(u, v2));
    UNDEFINED("l1_loss", f::l1_loss(v2, u));
    UNDEFINED("cross_entropy", f::cross_entropy(u, I({0})));
    UNDEFINED("cross_entropy", f::cross_entropy(m23, I()));
    UNDEFINED("nll_loss", f::nll_loss(u, I({0})));
    UNDEFINED("kl_div", f::kl_div(u, v2));
    UNDEFINED("cosine_embedding_loss", f::cosine_embedding_loss(m23, m23, u));
    UNDEFINED("triplet_margin_loss", f::triplet_margin_loss(m23, m23, u));
}

TEST_CASE("modules") {
    nn::Linear<double> linear(3, 2);
    nn::Conv2d<double> conv(3, 2, 2);
    nn::BatchNorm1d<double> norm(3);
    nn::MultiheadAttention<double> attention(4, 2);
    nn::LSTM<double> lstm(3, 2);
    nn::GRU<double> gru(3, 2);
    NAMES("linear", ({"[2, 2]", "[2, 3]"}), linear(m22));
    SAYS(({"conv2d", "[2, 3]"}), conv(m23));
    NAMES("BatchNorm1d", ({"[3]"}), norm(v3));
    NAMES("BatchNorm1d", ({"3 channels", "[2, 2]"}), norm(m22));
    NAMES("MultiheadAttention", ({"[2, 3]"}), attention(m23, m23, m23));
    NAMES("LSTM", ({"[2, 2]"}), lstm(m22));
    UNDEFINED("linear", linear(u));
    UNDEFINED("LSTM", lstm(u));
    UNDEFINED("GRU", gru(u));
    UNDEFINED("MultiheadAttention", attention(m23, u, m23));
}
