// The names of xgrad's own layers, "xgrad.nn.Linear", with their arguments (layer_arguments.hpp).
//
// Shapes: those of the layers.
// Gradients: those of the layers.
// Errors: none: register_layer_calls() may be called again.
#pragma once

#include <xgrad/package/layer_arguments.hpp>
#include <xgrad/package/type.hpp>

namespace xgrad::package {

namespace detail {

/// Layers M<T> with complex T, too.
template <class T, class R> void add_layers_of(R& registry) {
    using Linear = nn::Linear<T>;
    registry.add(
        entry<Linear, "xgrad.nn.Linear", Argument<"in_features", &weight_extent<Linear, 1>>,
            Argument<"out_features", &weight_extent<Linear, 0>>,
            Argument<"bias", &has_bias<Linear>>, StateSize<&size_of_linear>>());
    using Bilinear = nn::Bilinear<T>;
    registry.add(
        entry<Bilinear, "xgrad.nn.Bilinear", Argument<"in1_features", &weight_extent<Bilinear, 1>>,
            Argument<"in2_features", &weight_extent<Bilinear, 2>>,
            Argument<"out_features", &weight_extent<Bilinear, 0>>,
            Argument<"bias", &has_bias<Bilinear>>, StateSize<&size_of_bilinear>>());
    auto const conv = [&]<class M, std::size_t D, bool transposed, Name name>() {
        registry.add(entry<M, name, Argument<"in_channels", &in_channels<M, transposed>>,
            Argument<"out_channels", &out_channels<M, transposed>>,
            Argument<"kernel_size", &kernel_size<M, D>>, Argument<"options", &M::options>,
            Argument<"bias", &has_bias<M>>, Make<&make_conv<M, D>>,
            StateSize<&size_of_conv<D, decltype(M::options)>>>());
    };
    conv.template operator()<nn::Conv1d<T>, 1, false, "xgrad.nn.Conv1d">();
    conv.template operator()<nn::Conv2d<T>, 2, false, "xgrad.nn.Conv2d">();
    conv.template operator()<nn::ConvTranspose1d<T>, 1, true, "xgrad.nn.ConvTranspose1d">();
    conv.template operator()<nn::ConvTranspose2d<T>, 2, true, "xgrad.nn.ConvTranspose2d">();
    registry.add(entry<nn::ParameterList<T>, "xgrad.nn.ParameterList",
        Argument<"shapes", &parameter_shapes<T>>, Make<&make_parameter_list<T>>,
        StateSize<&size_of_shapes>>());
    using Embedding = nn::Embedding<T>;
    registry.add(entry<Embedding, "xgrad.nn.Embedding",
        Argument<"num_embeddings", &weight_extent<Embedding, 0>>,
        Argument<"embedding_dim", &weight_extent<Embedding, 1>>,
        Argument<"padding_idx", &Embedding::padding_idx>, StateSize<&size_of_embedding>>());
}

template <ComplexScalar T, class R> void add_complex_layers_of(R& registry) {
    using ModReLU = nn::ModReLU<T>;
    registry.add(entry<ModReLU, "xgrad.nn.ModReLU",
        Argument<"num_features", &bias_features<ModReLU>>, StateSize<&size_of_features>>());
}

/// Layers M<T> with real T only.
template <RealScalar T, class R> void add_real_layers_of(R& registry) {
    auto const batch_norm = [&]<class M, Name name>() {
        registry.add(entry<M, name, Argument<"num_features", &M::num_features>,
            Argument<"options", &M::options>, StateSize<&size_of_batch_norm>>());
    };
    batch_norm.template operator()<nn::BatchNorm1d<T>, "xgrad.nn.BatchNorm1d">();
    batch_norm.template operator()<nn::BatchNorm2d<T>, "xgrad.nn.BatchNorm2d">();
    using GroupNorm = nn::GroupNorm<T>;
    registry.add(
        entry<GroupNorm, "xgrad.nn.GroupNorm", Argument<"num_groups", &GroupNorm::num_groups>,
            Argument<"num_channels", &num_channels<GroupNorm>>, Argument<"eps", &GroupNorm::eps>,
            Argument<"affine", &is_affine<GroupNorm>>, StateSize<&size_of_group_norm>>());
    using LayerNorm = nn::LayerNorm<T>;
    registry.add(entry<LayerNorm, "xgrad.nn.LayerNorm",
        Argument<"normalized_shape", &LayerNorm::normalized_shape>,
        Argument<"eps", &LayerNorm::eps>, Argument<"elementwise_affine", &is_affine<LayerNorm>>,
        StateSize<&size_of_layer_norm>>());

    auto const recurrent = [&]<class M, Name name, std::size_t gates>() {
        registry.add(entry<M, name, Argument<"input_size", &M::input_size>,
            Argument<"hidden_size", &M::hidden_size>, Argument<"options", &M::options>,
            StateSize<&size_of_recurrent<gates>>>());
    };
    recurrent.template operator()<nn::RNN<T>, "xgrad.nn.RNN", 1>();
    recurrent.template operator()<nn::LSTM<T>, "xgrad.nn.LSTM", 4>();
    recurrent.template operator()<nn::GRU<T>, "xgrad.nn.GRU", 3>();
    using RNNCell = nn::RNNCell<T>;
    registry.add(entry<RNNCell, "xgrad.nn.RNNCell", Argument<"input_size", &input_size<RNNCell>>,
        Argument<"hidden_size", &hidden_size<RNNCell>>, Argument<"bias", &has_bias_ih<RNNCell>>,
        Argument<"nonlinearity", &RNNCell::nonlinearity>, StateSize<&size_of_elman_cell>>());
    auto const cell = [&]<class M, Name name, std::size_t gates>() {
        registry.add(entry<M, name, Argument<"input_size", &input_size<M>>,
            Argument<"hidden_size", &hidden_size<M>>, Argument<"bias", &has_bias_ih<M>>,
            StateSize<&size_of_cell<gates>>>());
    };
    cell.template operator()<nn::LSTMCell<T>, "xgrad.nn.LSTMCell", 4>();
    cell.template operator()<nn::GRUCell<T>, "xgrad.nn.GRUCell", 3>();

    using Attention = nn::MultiheadAttention<T>;
    registry.add(entry<Attention, "xgrad.nn.MultiheadAttention",
        Argument<"embed_dim", &embed_dim<Attention>>, Argument<"num_heads", &Attention::num_heads>,
        Argument<"options", &Attention::options>, StateSize<&size_of_attention>>());
    using EncoderLayer = nn::TransformerEncoderLayer<T>;
    registry.add(entry<EncoderLayer, "xgrad.nn.TransformerEncoderLayer",
        Argument<"d_model", &d_model<EncoderLayer>>, Argument<"nhead", &nhead<EncoderLayer>>,
        Argument<"options", &encoder_layer_options<EncoderLayer>>,
        StateSize<&size_of_encoder_layer>>());
    registry.add(entry<nn::TransformerEncoder<T>, "xgrad.nn.TransformerEncoder",
        Argument<"d_model", &encoder_d_model<T>>, Argument<"nhead", &encoder_nhead<T>>,
        Argument<"options", &encoder_options<T>>, Argument<"num_layers", &encoder_num_layers<T>>,
        Argument<"norm_eps", &encoder_norm<T>>, Make<&make_encoder<T>>,
        StateSize<&size_of_encoder>>());

    using CrossEntropy = nn::CrossEntropyLoss<T>;
    registry.add(entry<CrossEntropy, "xgrad.nn.CrossEntropyLoss",
        Argument<"classes", &class_count<CrossEntropy>>,
        Argument<"reduction", &class_reduction<CrossEntropy>>,
        Argument<"ignore_index", &class_ignore_index<CrossEntropy>>,
        Argument<"label_smoothing", &class_label_smoothing<CrossEntropy>>,
        Make<&make_cross_entropy<T>>, StateSize<&size_of_weighted_cross_entropy>>());
    using NLL = nn::NLLLoss<T>;
    registry.add(entry<NLL, "xgrad.nn.NLLLoss", Argument<"classes", &class_count<NLL>>,
        Argument<"reduction", &class_reduction<NLL>>,
        Argument<"ignore_index", &class_ignore_index<NLL>>, Make<&make_nll<T>>,
        StateSize<&size_of_weighted_nll>>());
    using BinaryCrossEntropy = nn::BCEWithLogitsLoss<T>;
    registry.add(entry<BinaryCrossEntropy, "xgrad.nn.BCEWithLogitsLoss",
        Argument<"reduction", &BinaryCrossEntropy::reduction>,
        Argument<"weight", &weight_shape<BinaryCrossEntropy>>,
        Argument<"pos_weight", &pos_weight_shape<BinaryCrossEntropy>>,
        Make<&make_binary_cross_entropy<T>>, StateSize<&size_of_weighted_binary_cross_entropy>>());
    using BCE = nn::BCELoss<T>;
    registry.add(entry<BCE, "xgrad.nn.BCELoss", Argument<"reduction", &BCE::reduction>,
        Argument<"weight", &weight_shape<BCE>>, Make<&make_bce<T>>,
        StateSize<&size_of_weighted_bce>>());
    using KLDiv = nn::KLDivLoss<T>;
    registry.add(entry<KLDiv, "xgrad.nn.KLDivLoss", Argument<"reduction", &KLDiv::reduction>,
        Argument<"log_target", &KLDiv::log_target>>());
    using Cosine = nn::CosineEmbeddingLoss<T>;
    registry.add(entry<Cosine, "xgrad.nn.CosineEmbeddingLoss", Argument<"margin", &Cosine::margin>,
        Argument<"reduction", &Cosine::reduction>>());
    using Triplet = nn::TripletMarginLoss<T>;
    registry.add(entry<Triplet, "xgrad.nn.TripletMarginLoss", Argument<"margin", &Triplet::margin>,
        Argument<"p", &Triplet::p>, Argument<"eps", &Triplet::eps>,
        Argument<"swap", &Triplet::swap>, Argument<"reduction", &Triplet::reduction>>());
}

template <class R> void add_layers(R& registry) {
    add_layers_of<float>(registry);
    add_layers_of<double>(registry);
    add_layers_of<std::complex<float>>(registry);
    add_layers_of<std::complex<double>>(registry);
    add_complex_layers_of<std::complex<float>>(registry);
    add_complex_layers_of<std::complex<double>>(registry);
    add_real_layers_of<float>(registry);
    add_real_layers_of<double>(registry);

    registry.add(entry<nn::Identity, "xgrad.nn.Identity">());
    registry.add(entry<nn::ReLU, "xgrad.nn.ReLU">());
    registry.add(entry<nn::LeakyReLU, "xgrad.nn.LeakyReLU",
        Argument<"negative_slope", &nn::LeakyReLU::negative_slope>>());
    registry.add(entry<nn::ELU, "xgrad.nn.ELU", Argument<"alpha", &nn::ELU::alpha>>());
    registry.add(
        entry<nn::GELU, "xgrad.nn.GELU", Argument<"approximate", &nn::GELU::approximate>>());
    registry.add(entry<nn::SiLU, "xgrad.nn.SiLU">());
    registry.add(entry<nn::Softplus, "xgrad.nn.Softplus", Argument<"beta", &nn::Softplus::beta>>());
    registry.add(entry<nn::Softmax, "xgrad.nn.Softmax", Argument<"axis", &nn::Softmax::axis>>());
    registry.add(
        entry<nn::LogSoftmax, "xgrad.nn.LogSoftmax", Argument<"axis", &nn::LogSoftmax::axis>>());
    registry.add(entry<nn::MaxPool1d, "xgrad.nn.MaxPool1d",
        Argument<"kernel_size", &nn::MaxPool1d::kernel_size>,
        Argument<"options", &nn::MaxPool1d::options>>());
    registry.add(entry<nn::MaxPool2d, "xgrad.nn.MaxPool2d",
        Argument<"kernel_size", &nn::MaxPool2d::kernel_size>,
        Argument<"options", &nn::MaxPool2d::options>>());
    registry.add(entry<nn::CReLU, "xgrad.nn.CReLU">());
    registry.add(entry<nn::ZReLU, "xgrad.nn.ZReLU">());
    registry.add(entry<nn::Cardioid, "xgrad.nn.Cardioid">());
    registry.add(entry<nn::Tanh, "xgrad.nn.Tanh">());
    registry.add(entry<nn::Sigmoid, "xgrad.nn.Sigmoid">());
    registry.add(entry<nn::Dropout, "xgrad.nn.Dropout", Argument<"p", &nn::Dropout::p>>());
    registry.add(entry<nn::Dropout2d, "xgrad.nn.Dropout2d", Argument<"p", &nn::Dropout2d::p>>());
    registry.add(entry<nn::Flatten, "xgrad.nn.Flatten", Argument<"first", &nn::Flatten::first>,
        Argument<"last", &nn::Flatten::last>>());
    registry.add(entry<nn::AvgPool1d, "xgrad.nn.AvgPool1d",
        Argument<"kernel_size", &nn::AvgPool1d::kernel_size>,
        Argument<"options", &nn::AvgPool1d::options>>());
    registry.add(entry<nn::AvgPool2d, "xgrad.nn.AvgPool2d",
        Argument<"kernel_size", &nn::AvgPool2d::kernel_size>,
        Argument<"options", &nn::AvgPool2d::options>>());
    registry.add(entry<nn::AdaptiveAvgPool1d, "xgrad.nn.AdaptiveAvgPool1d",
        Argument<"output_size", &nn::AdaptiveAvgPool1d::output_size>>());
    registry.add(entry<nn::AdaptiveAvgPool2d, "xgrad.nn.AdaptiveAvgPool2d",
        Argument<"output_size", &nn::AdaptiveAvgPool2d::output_size>>());

    registry.add(
        entry<nn::MSELoss, "xgrad.nn.MSELoss", Argument<"reduction", &nn::MSELoss::reduction>>());
    registry.add(
        entry<nn::L1Loss, "xgrad.nn.L1Loss", Argument<"reduction", &nn::L1Loss::reduction>>());
    registry.add(
        entry<nn::HuberLoss, "xgrad.nn.HuberLoss", Argument<"reduction", &nn::HuberLoss::reduction>,
            Argument<"delta", &nn::HuberLoss::delta>>());
    registry.add(entry<nn::SmoothL1Loss, "xgrad.nn.SmoothL1Loss",
        Argument<"reduction", &nn::SmoothL1Loss::reduction>,
        Argument<"beta", &nn::SmoothL1Loss::beta>>());
}

/// The layers that are called with a Tensor<T> and return one. T is given later than R, so that a
/// program compiles the layers of those scalar types only that it asks for.
template <Scalar T, class R> void add_calls(R& registry) {
    auto const add = [&]<class... M>() {
        (registry.template add_call<M, Tensor<T>(Tensor<T>)>(), ...);
    };
    add.template operator()<nn::Linear<T>, nn::Conv1d<T>, nn::Conv2d<T>, nn::ConvTranspose1d<T>,
        nn::ConvTranspose2d<T>, nn::Identity, nn::Tanh, nn::Sigmoid, nn::Dropout, nn::Dropout2d,
        nn::Flatten, nn::AvgPool1d, nn::AvgPool2d, nn::AdaptiveAvgPool1d, nn::AdaptiveAvgPool2d,
        nn::Sequential<T>>();
    if constexpr (RealScalar<T>)
        add.template operator()<nn::ReLU, nn::LeakyReLU, nn::ELU, nn::GELU, nn::SiLU, nn::Softplus,
            nn::Softmax, nn::LogSoftmax, nn::MaxPool1d, nn::MaxPool2d, nn::BatchNorm1d<T>,
            nn::BatchNorm2d<T>, nn::GroupNorm<T>, nn::LayerNorm<T>, nn::TransformerEncoderLayer<T>,
            nn::TransformerEncoder<T>>();
    else add.template operator()<nn::ModReLU<T>, nn::CReLU, nn::ZReLU, nn::Cardioid>();
}

/// The types of this program, those of xgrad's layers included.
Registry& registry();

/// An empty container of this name; null where there is none, or its type has to be known to the
/// compiler.
std::unique_ptr<nn::AnyModule> make_container(std::string_view name, std::optional<DType> dtype);

} // namespace detail
/// Lets xgrad's layers be called with tensors of type T inside a Sequential or a Slot that comes
/// out of a package generically. (Where the program itself names the layers, or loads a
/// Sequential<T>, that is so.) It is called before the package is loaded; it compiles all layers
/// that there are for T.
template <Differentiable T> void register_layer_calls() {
    [[maybe_unused]] static bool const added = (detail::add_calls<T>(detail::registry()), true);
}

} // namespace xgrad::package
