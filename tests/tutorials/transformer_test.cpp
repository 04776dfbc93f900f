// A transformer block as one writes it oneself: causal self-attention and a network of two layers,
// each with a residual connection. It learns a sequence by heart.
#include <doctest/doctest.h>

#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace F = nn::functional;
using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;

namespace {

struct CausalSelfAttention : nn::Module<CausalSelfAttention> {
    std::size_t heads;
    nn::Child<nn::Linear<double>> qkv, out;

    CausalSelfAttention(std::size_t width, std::size_t n)
        : heads(n), qkv(*this, "qkv", width, 3 * width), out(*this, "out", width, width) {}
    D forward(D const& x) { // [N, L, E]
        auto const batch = x.size(0), length = x.size(1), width = x.size(2);
        auto const in_heads = [&](D const& t) {
            return t.view(batch, length, heads, width / heads).transpose(1, 2);
        };
        auto const parts = qkv(x).split(width, 2);
        D const q = in_heads(parts[0]), k = in_heads(parts[1]), v = in_heads(parts[2]);
        auto const scores =
            matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
        auto const future = xg::ones(length, length).triu(1) > 0.;
        D const weights = softmax(masked_fill(scores, future, -1e9), -1);
        D const y = matmul(weights, v).transpose(1, 2).reshape(batch, length, width);
        return out(y);
    }
};

struct Block : nn::Module<Block> {
    nn::Child<nn::LayerNorm<double>> norm1, norm2;
    nn::Child<CausalSelfAttention> attention;
    nn::Child<nn::Sequential<double>> mlp;

    Block(std::size_t width, std::size_t heads)
        : norm1(*this, "norm1", width), norm2(*this, "norm2", width),
          attention(*this, "attention", width, heads),
          mlp(*this, "mlp", nn::Linear(width, 4 * width), nn::GELU(),
              nn::Linear(4 * width, width)) {}
    D forward(D x) {
        x = x + attention(norm1(x));
        return x + mlp(norm2(x));
    }
};

struct Model : nn::Module<Model> {
    nn::Child<nn::Embedding<double>> token, position;
    nn::Child<nn::ModuleList<Block>> blocks{*this, "blocks"};
    nn::Child<nn::LayerNorm<double>> norm;
    nn::Child<nn::Linear<double>> head;

    Model(std::size_t vocabulary, std::size_t length, std::size_t width)
        : token(*this, "token", vocabulary, width), position(*this, "position", length, width),
          norm(*this, "norm", width), head(*this, "head", width, vocabulary, {.bias = false}) {
        for (int i = 0; i < 2; ++i) blocks.append(Block(width, 2));
    }
    D forward(I const& tokens) {
        D x = token(tokens) + position(xg::arange(tokens.size(1)));
        for (auto& block : blocks) x = block(x);
        return head(norm(x));
    }
};

} // namespace

TEST_CASE("a transformer block") {
    xg::manual_seed(5);
    std::string const text = "the compiler checks your derivative";
    std::vector<std::int64_t> codes;
    for (char const c : text) codes.push_back(c == ' ' ? 0 : c - 'a' + 1);
    I const all(codes);
    auto const length = all.numel() - 1;
    I const tokens = all(xg::range(0, -1)).unsqueeze(0), targets = all(xg::range(1, {}));

    Model model(27, length, 16);
    // attention is causal: the first outputs do not depend on later tokens
    I changed = tokens.clone();
    changed(0, -1) = 5;
    auto const last = static_cast<std::ptrdiff_t>(length) - 1;
    CHECK(allclose(model(tokens)(0, xg::range(0, last)), model(changed)(0, xg::range(0, last))));
    CHECK_FALSE(allclose(model(tokens)(0, -1), model(changed)(0, -1)));

    xg::optim::AdamW optimizer(model.parameters(), {.lr = 1e-2, .betas = {0.9, 0.95}});
    xg::optim::OneCycleLR schedule(optimizer, {.max_lr = 1e-2, .total_steps = 150});
    nn::CrossEntropyLoss loss_fn;
    for (int step = 0; step < 150; ++step) {
        D const loss = loss_fn(model(tokens).flatten(0, 1), targets);
        optimizer.zero_grad();
        loss.backward();
        xg::optim::clip_grad_norm_(model.parameters(), 1.0);
        optimizer.step();
        schedule.step();
    }
    CHECK((model(tokens).flatten(0, 1).argmax(-1) == targets).all().item());
}
