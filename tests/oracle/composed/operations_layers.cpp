// Layers, losses and other functions of nn.hpp, at small shapes.
#include "program.hpp"

#include <xgrad/nn.hpp>

#include "user_operations.hpp"

namespace composed {

// clang-format off
void add_layers(Catalogue& all) {
    std::string group = "function of layers";
    REAL3_T("n,k", "m,k", "m", functional::linear(a, b, c));
    REAL3_T("2,3", "2,2", "2,3,2", functional::bilinear(a, b, c));
    REAL2_T("1,2,4", "3,2,2", functional::conv1d(a, b));
    REAL3_T("1,2,4", "2,1,3", "2", functional::conv1d(a, b, c, {.stride = 2, .padding = 1, .groups = 2}));
    REAL2_T("1,1,3,4", "2,1,2,2", functional::conv2d(a, b));
    REAL2_T("1,2,3,3", "1,2,3,2", functional::conv2d(a, b, {}, {.padding = 1, .dilation = {1, 2}}));
    REAL2_T("1,2,3", "2,1,2", functional::conv_transpose1d(a, b, {}, {.stride = 2}));
    REAL2_T("1,1,2,2", "1,2,2,2", functional::conv_transpose2d(a, b));
    COMPLEX2_T("1,2,4", "1,2,2", functional::conv1d(a, b));
    REAL_T("1,2,4", functional::max_pool1d(a, 2) + functional::avg_pool1d(a, 2));
    REAL_T("1,1,4,4", functional::max_pool2d(a, 2) * functional::avg_pool2d(a, 2));
    REAL_T("1,1,3,4", std::get<0>(functional::max_pool2d_with_indices(a, 2)));
    REAL_T("1,1,4,3", functional::adaptive_avg_pool2d(a, 2));
    REAL_T("1,2,5", functional::adaptive_avg_pool1d(a, 2));
    REAL_T("2,3", functional::softmax(a, 1) * functional::log_softmax(a, 0) + a.softmax(0) * a.log_softmax(1));
    REAL_T("2,3", functional::normalize(a + 1.) + functional::normalize(a - 2., 3., 0));
    REAL2_T("2,3", "2,3", functional::cosine_similarity(a + 1.2, b - 2.));
    // eps is 0.1: where all elements are equal, third derivatives are of the size of eps^-1.5
    REAL_T("2,3", functional::layer_norm(a, {3}, {}, {}, 0.1));
    REAL3_T("2,3", "3", "3", functional::layer_norm(a, {3}, b, c, 0.1));
    REAL_T("2,4,2", functional::group_norm(a, 2, {}, {}, 0.1));
    REAL_T("3,2", functional::batch_norm(a, {}, {}, {}, {}, true, 0.1, 0.1));
    REAL_T("2,3,2", functional::flatten(a) * 2.);
    REAL_T("2,3", (xg::manual_seed(1), functional::dropout(a, 0.3)));
    REAL_T("1,3,2,2", (xg::manual_seed(1), functional::dropout2d(a, 0.3)));
    REAL_T("3,2", functional::embedding(I({2, 0, 2}), a));
    REAL3_T("2,3", "2,3", "2,2", functional::scaled_dot_product_attention(a, b, c));

    group = "loss";
    REAL2_T("2,3", "2,3", functional::mse_loss(a, b) + functional::l1_loss(a, b));
    REAL2_T("2,3", "2,3", functional::huber_loss(a, b) * functional::smooth_l1_loss(a, b, "sum"));
    REAL2_T("2,3", "2,3 probability", functional::binary_cross_entropy_with_logits(a, b));
    REAL2_T("2,3 probability", "2,3 probability", functional::binary_cross_entropy(a, b));
    REAL2_T("2,3", "2,3 probability", functional::kl_div(a, b));
    REAL_T("2,3", functional::cross_entropy(a, I({2, 0})) + functional::nll_loss(a, I({1, 1})));
    REAL2_T("2,3", "2,3 probability", functional::cross_entropy(a, b));
    REAL2_T("2,3", "2,3", functional::cosine_embedding_loss(a + 1., b, D({1., -1.})));
    REAL3_T("2,3", "2,3", "2,3", functional::triplet_margin_loss(a, b + 1., c));

    group = "layer";
    REAL_T("2,3", module_of<nn::Linear<double>>(3, 2)(a));
    REAL2_T("2,3", "2,2", module_of<nn::Bilinear<double>>(3, 2, 2)(a, b));
    REAL_T("1,2,4", module_of<nn::Conv1d<double>>(2, 2, 3)(a));
    REAL_T("1,1,3,3", module_of<nn::Conv2d<double>>(1, 2, 2)(a));
    REAL_T("1,2,3", module_of<nn::ConvTranspose1d<double>>(2, 1, 2)(a));
    REAL_T("1,1,2,2", module_of<nn::ConvTranspose2d<double>>(1, 1, 2)(a));
    REAL_T("1,2,4", nn::MaxPool1d(2)(a) * nn::AvgPool1d(2)(a) + nn::AdaptiveAvgPool1d(2)(a));
    REAL_T("1,1,4,4", nn::MaxPool2d(2)(a) * nn::AvgPool2d(2)(a) + nn::AdaptiveAvgPool2d(2)(a));
    REAL_T("3,2", module_of<nn::BatchNorm1d<double>>(2, nn::BatchNormOptions{.eps = 0.1})(a));
    REAL_T("2,2,1,2", module_of<nn::BatchNorm2d<double>>(2, nn::BatchNormOptions{.eps = 0.1})(a));
    REAL_T("2,4,2", module_of<nn::GroupNorm<double>>(2, 4, nn::GroupNormOptions{.eps = 0.1})(a));
    REAL_T("2,3", module_of<nn::LayerNorm<double>>(3, nn::LayerNormOptions{.eps = 0.1})(a));
    REAL_T("3,1,2", std::get<0>(module_of<nn::RNN<double>>(2, 2)(a)));
    REAL_T("3,1,2", std::get<0>(module_of<nn::LSTM<double>>(2, 2)(a)));
    REAL_T("2,1,2", std::get<0>(module_of<nn::GRU<double>>(2, 2)(a)));
    REAL2_T("2,2", "2,3", module_of<nn::RNNCell<double>>(2, 3)(a, b));
    REAL_T("2,2", std::get<1>(module_of<nn::LSTMCell<double>>(2, 2)(a)));
    REAL2_T("2,2", "2,2", module_of<nn::GRUCell<double>>(2, 2)(a, b));
    REAL2_T("2,1,2", "3,1,2", std::get<0>(module_of<nn::MultiheadAttention<double>>(2, 1)(a, b, b)));
    REAL_T("2,1,2", module_of<nn::TransformerEncoderLayer<double>>(2, 1, nn::TransformerEncoderLayerOptions{.dim_feedforward = 3, .dropout = 0., .layer_norm_eps = 0.1})(a));
    REAL_T("2,1,2", module_of<nn::TransformerEncoder<double>>(module_of<nn::TransformerEncoderLayer<double>>(2, 1, nn::TransformerEncoderLayerOptions{.dim_feedforward = 2, .dropout = 0., .layer_norm_eps = 0.1}), 2)(a));
    REAL_T("2,3", module_of<nn::Sequential<double>>(module_of<nn::Linear<double>>(3, 2), nn::Tanh(), module_of<nn::Linear<double>>(2, 1))(a));
    REAL_T("2,3", nn::ReLU()(a) + nn::LeakyReLU()(a) * nn::ELU()(a) + nn::GELU()(a) - nn::SiLU()(a));
    REAL_T("2,3", nn::Tanh()(a) * nn::Sigmoid()(a) + nn::Softplus()(a) + nn::Identity()(a) * nn::Softmax(1)(a) - nn::LogSoftmax(1)(a));
    REAL_T("2,3,2", nn::Flatten()(a) * 2.);
    REAL_T("2,3", (xg::manual_seed(1), nn::Dropout(0.3)(a)));
    REAL_T("1,3,2,2", (xg::manual_seed(1), nn::Dropout2d(0.3)(a)));
    COMPLEX_T("2,3", nn::CReLU()(a) + nn::ZReLU()(a) * a + nn::Cardioid()(a) + module_of<nn::ModReLU<std::complex<double>>>(3)(a));
    COMPLEX_T("2,3", module_of<nn::Linear<std::complex<double>>>(3, 2)(a));
    REAL2_T("2,3", "2,3", nn::MSELoss()(a, b) + nn::L1Loss()(a, b) * nn::HuberLoss()(a, b) + nn::SmoothL1Loss()(a, b));
    REAL_T("2,3", nn::CrossEntropyLoss<double>()(a, I({2, 0})) + nn::NLLLoss<double>()(a, I({0, 1})));
    REAL2_T("2,3 probability", "2,3 probability", nn::BCELoss<double>()(a, b) + nn::BCEWithLogitsLoss<double>()(a, b) + nn::KLDivLoss<double>()(a, b));
    REAL2_T("2,3", "2,3", nn::CosineEmbeddingLoss<double>()(a + 1., b, D({1., -1.})));
    REAL3_T("2,3", "2,3", "2,3", nn::TripletMarginLoss<double>()(a, b + 1., c));

    for (auto const& each : all.all)
        if (each->text.find("max_pool") != each->text.npos || each->text.find("MaxPool") != each->text.npos) each->reads_values = true;
}
// clang-format on

} // namespace composed
