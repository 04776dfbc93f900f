// A language model of single characters: an LSTM reads a text, by default this repository's
// licence, and learns which character comes next. Then it generates a text. Graves, "Generating
// sequences with recurrent neural networks", 2013.
// ctest: --steps 60 --hidden 24 --sample 60

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>

#include <options.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
using F = xg::Tensor<float>;
using Classes = xg::Tensor<std::int64_t>;

namespace {

struct Settings {
    std::string text =
        (std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "LICENSE")
            .string();
    std::size_t hidden = 128, layers = 1, batch = 16, length = 50, steps = 600, sample = 400;
    double lr = 0.005, temperature = 0.5;
    std::uint64_t seed = 1;

    Settings(int argc, char** argv) {
        examples::Options options(
            "Learns a text character by character with an LSTM, and writes one like it.");
        options.text("text", text, "the file to read");
        options.number("hidden", hidden, "size of the LSTM's state", 1, 10000);
        options.number("layers", layers, "layers of the LSTM", 1, 10);
        options.number("batch", batch, "pieces of text in a step", 1, 10000);
        options.number("length", length, "characters in a piece", 1, 10000);
        options.number("steps", steps, "steps of training", 1);
        options.number("sample", sample, "characters to write at the end");
        options.number("lr", lr, "learning rate", 0);
        options.number(
            "temperature", temperature, "of sampling: small for likely characters", 0.01);
        options.number("seed", seed, "of weights, pieces and sample");
        options.parse(argc, argv);
    }
};

/// A text as numbers of characters, and back.
struct Corpus {
    std::string text, characters;

    explicit Corpus(std::string const& path) {
        std::ifstream file(path, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
        if (text.empty()) throw std::runtime_error("cannot read '" + path + "', or it is empty");
        characters = text;
        std::ranges::sort(characters);
        characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
    }
    std::size_t size() const { return characters.size(); }
    std::size_t number_of(char c) const {
        return static_cast<std::size_t>(
            std::ranges::lower_bound(characters, c) - characters.begin());
    }
};

struct LanguageModel : nn::Module<LanguageModel> {
    nn::Child<nn::LSTM<float>> lstm;
    nn::Child<nn::Linear<float>> head;

    LanguageModel(std::size_t characters, std::size_t hidden, std::size_t layers)
        : lstm(*this, "lstm", characters, hidden, nn::RecurrentOptions{.num_layers = layers}),
          head(*this, "head", hidden, characters) {}
    /// Scores of the next character after each of [length, batch] characters, and the state at the
    /// end.
    std::tuple<F, F, F> forward(F const& one_hot, F const& h, F const& c) const {
        auto const [y, h_n, c_n] = lstm(one_hot, h, c);
        return {head(y), h_n, c_n};
    }
};

/// Characters number `index`, [length, batch], as unit vectors.
F one_hot(std::vector<std::size_t> const& index, std::size_t length, std::size_t size) {
    F x = xg::zeros<float>({length, index.size() / length, size});
    auto* const p = x.mutable_data();
    for (std::size_t i = 0; i < index.size(); ++i) p[i * size + index[i]] = 1;
    return x;
}

std::string write_text(LanguageModel const& model, Corpus const& corpus, Settings const& settings,
    std::mt19937_64& random) {
    xg::NoGradGuard const off;
    std::string written(1, corpus.text[0]);
    F h, c;
    while (written.size() < settings.sample) {
        auto const [scores, h_n, c_n] =
            model(one_hot({corpus.number_of(written.back())}, 1, corpus.size()), h, c);
        h = h_n, c = c_n;
        F const p = nn::functional::softmax(scores / static_cast<float>(settings.temperature), -1);
        std::discrete_distribution<std::size_t> draw(p.data(), p.data() + p.numel());
        written += corpus.characters[draw(random)];
    }
    return written;
}

int train(Settings const& settings) {
    Corpus const corpus(settings.text);
    if (corpus.text.size() <= settings.length)
        throw examples::UsageError("--length must be less than the length of the text, " +
                                   std::to_string(corpus.text.size()));
    xg::manual_seed(settings.seed);
    std::mt19937_64 random(settings.seed);
    LanguageModel model(corpus.size(), settings.hidden, settings.layers);
    std::printf("%zu characters, %zu different ones; %zu parameters\n", corpus.text.size(),
        corpus.size(), model.parameter_count());

    xg::optim::Adam optimizer(model.parameters(), {.lr = settings.lr});
    std::uniform_int_distribution<std::size_t> place(0, corpus.text.size() - settings.length - 1);
    double first = 0, smooth = 0;
    for (std::size_t step = 1; step <= settings.steps; ++step) {
        std::vector<std::size_t> from(settings.length * settings.batch);
        Classes next = xg::zeros<std::int64_t>({from.size()});
        auto* const target = next.mutable_data();
        for (std::size_t n = 0; n < settings.batch; ++n) {
            auto const start = place(random);
            for (std::size_t t = 0; t < settings.length; ++t) {
                from[t * settings.batch + n] = corpus.number_of(corpus.text[start + t]);
                target[t * settings.batch + n] =
                    static_cast<std::int64_t>(corpus.number_of(corpus.text[start + t + 1]));
            }
        }
        optimizer.zero_grad();
        F const scores =
            std::get<0>(model(one_hot(from, settings.length, corpus.size()), F(), F()));
        F const loss = nn::functional::cross_entropy(
            scores.reshape({-1, static_cast<std::ptrdiff_t>(corpus.size())}), next);
        loss.backward();
        xg::optim::clip_grad_norm_(model.parameters(), 1);
        optimizer.step();

        auto const now = static_cast<double>(loss.item());
        if (step == 1) first = smooth = now;
        smooth = 0.9 * smooth + 0.1 * now;
        if (step == 1 || step % 100 == 0 || step == settings.steps)
            std::printf("step %4zu: loss %.3f, %.3f bits a character\n", step, smooth,
                smooth / std::log(2.));
    }
    std::printf("\n%s\n", write_text(model, corpus, settings, random).c_str());
    if (smooth < 0.9 * first) return 0;
    std::fprintf(stderr, "error: the loss did not fall\n");
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    return examples::exit_code([&] { return train(Settings(argc, argv)); });
}
