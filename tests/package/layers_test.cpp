// All of xgrad's layers go into a package and come back; a training run that is resumed from a
// package.
#include <doctest/doctest.h>

#include "acme.hpp"

#include <fstream>
#include <regex>
#include <set>

#include <xgrad/optim.hpp>

namespace {

template <class T> struct Layers {
    std::vector<std::unique_ptr<nn::AnyModule>> all;
    template <class M> void add(M module) { all.push_back(std::make_unique<M>(std::move(module))); }

    void add_of_any() {
        add(nn::Linear<T>(3, 2));
        add(nn::Linear<T>(3, 2, false));
        add(nn::Bilinear<T>(2, 3, 4));
        add(nn::Conv1d<T>(4, 6, 3, {.stride = 2, .padding = 1, .groups = 2}));
        add(nn::Conv2d<T>(2, 4, {3, 2}, {.stride = {2, 1}, .dilation = 2, .bias = false}));
        add(nn::ConvTranspose1d<T>(4, 2, 3, {.stride = 2, .output_padding = 1}));
        add(nn::ConvTranspose2d<T>(4, 6, 3, {.padding = 1, .groups = 2, .dilation = {1, 2}}));
        add(nn::Embedding<T>(5, 3));
        add(nn::Embedding<T>(5, 3, {.padding_idx = 1}));
        add(nn::Embedding<T>(5, 3, -1));
        add(nn::ParameterList<T>({xg::ones<T>({2, 3}), xg::ones<T>({4})}));
    }
    void add_of_real() {
        add(nn::BatchNorm1d<T>(3));
        add(nn::BatchNorm2d<T>(
            3, {.eps = 1e-3, .momentum = {}, .affine = false, .track_running_stats = false}));
        add(nn::GroupNorm<T>(2, 4));
        add(nn::GroupNorm<T>(2, 4, 1e-3, false));
        add(nn::LayerNorm<T>({2, 3}));
        add(nn::LayerNorm<T>({2, 3}, 1e-3, false));
        add(nn::RNN<T>(3, 4, {.nonlinearity = nn::Nonlinearity::relu}));
        add(nn::LSTM<T>(
            3, 4, {.num_layers = 2, .dropout = 0.1, .bidirectional = true, .proj_size = 2}));
        add(nn::GRU<T>(3, 4, {.bias = false, .batch_first = true}));
        add(nn::RNNCell<T>(3, 4, true, nn::Nonlinearity::relu));
        add(nn::LSTMCell<T>(3, 4, false));
        add(nn::GRUCell<T>(3, 4));
        add(nn::MultiheadAttention<T>(4, 2, {.dropout = 0.1, .kdim = 3, .vdim = 5}));
        add(nn::MultiheadAttention<T>(4, 2, {.bias = false, .batch_first = true}));
        nn::TransformerEncoderLayer<T> const layer(4, 2,
            {.dim_feedforward = 6,
                .dropout = 0,
                .activation = nn::TransformerActivation::gelu,
                .norm_first = true});
        add(layer);
        add(nn::TransformerEncoder<T>(layer, 2));
        add(nn::TransformerEncoder<T>(layer, 2, nn::LayerNorm<T>(4, 1e-3)));
        add(nn::CrossEntropyLoss<T>(
            {.weight = xg::Tensor<T>({T(1), T(2)}), .ignore_index = -1, .label_smoothing = 0.1}));
        add(nn::CrossEntropyLoss<T>());
        add(nn::NLLLoss<T>({.weight = xg::Tensor<T>({T(1), T(2), T(0.5)}),
            .reduction = nn::Reduction::sum,
            .ignore_index = 2}));
        add(nn::NLLLoss<T>());
        add(nn::BCEWithLogitsLoss<T>(
            nn::Reduction::none, xg::Tensor<T>({{T(1)}, {T(2)}}), xg::Tensor<T>(T(3))));
        add(nn::BCEWithLogitsLoss<T>(nn::Reduction::sum, {}, xg::Tensor<T>({T(1), T(2)})));
        add(nn::BCEWithLogitsLoss<T>());
        add(nn::BCELoss<T>("sum", xg::Tensor<T>({T(1), T(2)})));
        add(nn::KLDivLoss<T>(nn::Reduction::batch_mean, true));
        add(nn::CosineEmbeddingLoss<T>(0.5, nn::Reduction::sum));
        add(nn::TripletMarginLoss<T>(2, 1, 1e-3, true));
    }
};
Layers<double> without_type() {
    Layers<double> l;
    l.add(nn::ReLU()), l.add(nn::LeakyReLU(0.25)), l.add(nn::ELU(2)),
        l.add(nn::GELU(nn::Approximate::tanh)), l.add(nn::SiLU()), l.add(nn::Softplus(3));
    l.add(nn::Identity()), l.add(nn::Tanh()), l.add(nn::Sigmoid()), l.add(nn::Softmax(-1)),
        l.add(nn::LogSoftmax(1)), l.add(nn::Dropout(0.25)), l.add(nn::Dropout2d(0.125)),
        l.add(nn::Flatten(1, -2));
    l.add(nn::MaxPool1d(3, {.stride = 2, .padding = 1, .dilation = 2, .ceil_mode = true})),
        l.add(nn::MaxPool2d({3, 2}));
    l.add(nn::AvgPool1d(3, {.count_include_pad = false})),
        l.add(nn::AvgPool2d({3, 2}, {.stride = 2, .divisor_override = 7})),
        l.add(nn::AdaptiveAvgPool1d(4)), l.add(nn::AdaptiveAvgPool2d({4, 5}));
    l.add(nn::CReLU()), l.add(nn::ZReLU()), l.add(nn::Cardioid());
    l.add(nn::MSELoss(nn::Reduction::sum)), l.add(nn::L1Loss()),
        l.add(nn::HuberLoss(nn::Reduction::none, 2)),
        l.add(nn::SmoothL1Loss(nn::Reduction::mean, 3));
    return l;
}

using Names = std::set<std::string>;

template <class T> Names names_of(Layers<T> const& layers) {
    Names all;
    for (auto const& m : layers.all) all.insert(package::detail::record_of(*m).type);
    return all;
}

struct Headers {
    Names modules, containers;
};
/// The module classes that the headers in include/xgrad/nn define: those that derive from Module,
/// but for the bases that stand in detail:: and take the class as a template argument.
Headers module_classes_of_headers() {
    struct Class {
        std::string name, bases;
    };
    std::vector<Class> classes;
    std::regex const definition(
        "(?:struct|class) (\\w+)(?:<R\\(A\\.\\.\\.\\)>)?\\s*:\\s*([^{};]*)\\{");
    auto const folder = std::filesystem::path(__FILE__).parent_path() / "../../include/xgrad/nn";
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".hpp") continue;
        std::ifstream file(entry.path());
        std::string text, line;
        while (std::getline(file, line)) text += line.substr(0, line.find("//")) + '\n';
        for (std::sregex_iterator at(text.begin(), text.end(), definition), end; at != end; ++at)
            classes.push_back({(*at)[1], (*at)[2]});
    }
    Headers found;
    Names bases{"Module"};
    for (std::size_t before = 0; before != bases.size();) { // bases of bases
        before = bases.size();
        for (auto const& c : classes)
            for (auto const& base : Names(bases)) {
                if (!std::regex_search(c.bases, std::regex("\\b" + base + "<"))) continue;
                bool const is_base = std::regex_search(c.bases, std::regex(base + "<Self\\b"));
                if (is_base) bases.insert(c.name);
                else if (c.bases.find("ModuleContainer") != c.bases.npos)
                    found.containers.insert("xgrad.nn." + c.name);
                else found.modules.insert("xgrad.nn." + c.name);
            }
    }
    return found;
}

/// Each comes back as the same type, with the same state, which prints the same and is described
/// the same.
template <class T> void check_all_come_back(Layers<T>& layers) {
    Folder const d("xgrad_package_layers");
    package::PackageExporter e(d / "p");
    e.intern("xgrad.nn.**");
    for (std::size_t i = 0; i < layers.all.size(); ++i)
        e.save_module("layers", "m" + std::to_string(i), *layers.all[i]);
    e.close();
    package::PackageImporter importer(d / "p");
    for (std::size_t i = 0; i < layers.all.size(); ++i) {
        auto& m = *layers.all[i];
        auto const loaded = importer.load_module("layers", "m" + std::to_string(i));
        INFO(to_string(m));
        auto const& same = *loaded;
        CHECK(typeid(same) == typeid(m));
        CHECK(to_string(*loaded) == to_string(m));
        CHECK(same_state(*loaded, m));
        CHECK(xg::data::to_text(package::detail::record_of(*loaded).arguments) ==
              xg::data::to_text(package::detail::record_of(m).arguments));
    }
}

} // namespace

TEST_CASE("every layer comes back from a package") {
    Layers<float> f;
    f.add_of_any(), f.add_of_real();
    check_all_come_back(f);
    Layers<double> d;
    d.add_of_any(), d.add_of_real();
    check_all_come_back(d);
    Layers<std::complex<float>> cf;
    cf.add_of_any(), cf.add(nn::ModReLU<std::complex<float>>(3));
    check_all_come_back(cf);
    Layers<std::complex<double>> cd;
    cd.add_of_any(), cd.add(nn::ModReLU<std::complex<double>>(3));
    check_all_come_back(cd);
    auto plain = without_type();
    check_all_come_back(plain);

    // and these are all that there are: whoever adds a layer adds its name, and a line above
    auto came_back = names_of(d);
    came_back.merge(names_of(cd));
    came_back.merge(names_of(plain));
    auto headers = module_classes_of_headers();
    CHECK(headers.modules.erase("xgrad.nn.ModuleDict") == 1); // docs/package.md: is not stored
    CHECK(headers.modules.size() > 50);
    for (auto const& name : headers.modules) {
        INFO(name);
        CHECK(came_back.contains(name));
    }
    for (auto const& name : came_back) {
        INFO(name);
        CHECK(headers.modules.contains(name));
    }
    CHECK(
        headers.containers == Names{"xgrad.nn.ModuleList", "xgrad.nn.Sequential", "xgrad.nn.Slot"});
}

TEST_CASE("layers compute the same when they come back") {
    Folder const d("xgrad_package_layers_compute");
    xg::manual_seed(1);
    nn::Sequential<double> net(nn::Conv2d<double>(1, 2, 3, {.stride = 2, .padding = 1}),
        nn::BatchNorm2d<double>(2), nn::LeakyReLU(0.2), nn::AvgPool2d(2), nn::Flatten(),
        nn::Linear<double>(8, 3), nn::Softmax(1));
    nn::LSTM<double> lstm(3, 4, {.num_layers = 2, .bidirectional = true});
    nn::Sequential<std::complex<double>> waves(nn::Linear<std::complex<double>>(2, 2), nn::CReLU());
    D const x = xg::randn<double>({2, 1, 8, 8}), s = xg::randn<double>({5, 2, 3});
    auto const z = xg::randn<std::complex<double>>({3, 2});
    net(x); // moments
    net.eval();
    package::PackageExporter e(d / "p");
    e.intern("xgrad.**");
    e.save_module("acme", "net", net);
    e.save_module("acme", "lstm", lstm);
    e.save_module("acme", "waves", waves);
    e.close();
    package::PackageImporter i(d / "p");
    auto net2 = i.load_module<nn::Sequential<double>>("acme", "net");
    CHECK(same(net2(x), net(x)));
    auto lstm2 = i.load_module<nn::LSTM<double>>("acme", "lstm");
    CHECK(same(std::get<2>(lstm2(s)), std::get<2>(lstm(s))));
    auto waves2 = i.load_module<nn::Sequential<std::complex<double>>>("acme", "waves");
    CHECK(same(waves2(z), waves(z)));
}

TEST_CASE("losses have their weights when they come back") {
    Folder const d("xgrad_package_losses");
    using Labels = xg::Tensor<std::int64_t>;
    nn::NLLLoss<double> const nll({.weight = D({1., 2., 4.}), .ignore_index = 1});
    nn::BCEWithLogitsLoss<double> const bce(nn::Reduction::sum, D({{2.}, {3.}}), D({5., 7.}));
    package::PackageExporter e(d / "p");
    e.intern("xgrad.**");
    e.save_module("acme", "nll", nn::NLLLoss<double>(nll));
    e.save_module("acme", "bce", nn::BCEWithLogitsLoss<double>(bce));
    e.close();
    package::PackageImporter i(d / "p");
    auto const nll2 = i.load_module<nn::NLLLoss<double>>("acme", "nll");
    // classes 0 and 2 count, with weights 1 and 4; class 1 is ignored
    CHECK(nll2(D({{-1., 0., 0.}, {0., -9., 0.}, {0., 0., -3.}}), Labels({0, 1, 2})).item() ==
          doctest::Approx((1 * 1 + 4 * 3) / 5.));
    auto const bce2 = i.load_module<nn::BCEWithLogitsLoss<double>>("acme", "bce");
    // log(2) for each zero; rows weigh 2 and 3, targets of one 5 and 7 by column
    CHECK(bce2(D({{0., 0.}, {0., 0.}}), D({{1., 0.}, {0., 1.}})).item() ==
          doctest::Approx((2 * (5 + 1) + 3 * (1 + 7)) * std::log(2.)));
}

TEST_CASE("resuming from a package equals going on, bit for bit") {
    Folder const d("xgrad_package_resume");
    xg::manual_seed(5);
    D const x = xg::randn<double>({16, 2}), target = sum(x * x, {1}, true);
    auto const step = [&](auto& net, auto& optimizer, auto& schedule) {
        optimizer.zero_grad();
        D const loss = nn::functional::mse_loss(net(x), target);
        loss.backward();
        optimizer.step();
        schedule.step();
    };
    nn::Sequential<double> net(nn::Linear<double>(2, 8), nn::BatchNorm1d<double>(8), nn::Tanh(),
        nn::Dropout(0.25), nn::Linear<double>(8, 1));
    xg::optim::Adam optimizer(net.parameters(), {.lr = 0.05});
    xg::optim::StepLR schedule(optimizer, 3);
    for (int k = 0; k < 7; ++k) step(net, optimizer, schedule);
    {
        package::PackageExporter e(d / "p");
        e.intern("xgrad.**");
        e.save_module("run", "net", net);
        e.save_tensors("run", "optimizer", optimizer.state_dict());
        e.save_tensors("run", "schedule", schedule.state_dict());
        e.close();
    }
    xg::manual_seed(9);
    for (int k = 0; k < 7; ++k) step(net, optimizer, schedule);

    package::PackageImporter i(d / "p");
    auto again = i.load_module<nn::Sequential<double>>("run", "net");
    xg::optim::Adam optimizer_again(again.parameters(), {.lr = 0.05});
    xg::optim::StepLR schedule_again(optimizer_again, 3);
    optimizer_again.load_state_dict(i.load_tensors("run", "optimizer"));
    schedule_again.load_state_dict(i.load_tensors("run", "schedule"));
    xg::manual_seed(9);
    for (int k = 0; k < 7; ++k) step(again, optimizer_again, schedule_again);
    CHECK(same_state(again, net));
}
