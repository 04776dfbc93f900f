// LayerNorm, attention and the encoder of a transformer: against PyTorch's numbers, with masks,
// derivatives and misuse.
#include <xgrad/nn.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "nn/digest.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;

namespace {

/// Digests of results, of the gradients of leaves, and of those of a module's parameters, compared
/// with recorded ones.
void check_digests(std::vector<D> const& results, std::vector<D> const& leaves,
    nn::AnyModule const* m, std::vector<double> const& wanted) {
    D loss = xg::zeros({});
    std::vector<double> got;
    for (auto const& y : results) {
        loss = loss + digest(y);
        got.push_back(digest(y).item());
    }
    loss.backward();
    for (auto const& x : leaves) got.push_back(digest(x.grad()).item());
    if (m) got.push_back(digest_of_gradients(*m));
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK_MESSAGE(got[i] == doctest::Approx(wanted[i]).epsilon(1e-10), "number ", i);
}
template <class M> M waves_in(M m) {
    fill_with_waves(m);
    return m;
}

} // namespace

TEST_CASE("layer_norm has PyTorch's values and gradients") {
    auto const two = waves_in(nn::LayerNorm<double>({2, 3}));
    D x = wave_leaf({4, 2, 3}, 100);
    check_digests({two(x)}, {x}, &two, {5.86586988571825, 4.32513899796931, 12.0538758772023});
    nn::LayerNorm<double> const plain(40, 0.1, false);
    x = wave_leaf({3, 40}, 100);
    check_digests({plain(x)}, {x}, nullptr, {-2.14470859595352, 126.747679272257});
    auto const affine = waves_in(nn::LayerNorm<double>(40, 0.1));
    x = wave_leaf({3, 40}, 100);
    check_digests(
        {affine(x)}, {x}, &affine, {2.46604932642689, 4.71371568834373, -6.27832373662036});
    CHECK(plain.parameters().empty());
    CHECK(to_string(two) == "LayerNorm([2, 3], eps=1e-05, elementwise_affine=true), 12 parameters");
    CHECK(
        difference(nn::LayerNorm<float>(3)(F({{1, 2, 3}})), {{-1.2247357f, 0, 1.2247357f}}) == "");
}

TEST_CASE("layer_norm is differentiable twice, and in forward mode") {
    auto const y = [](D const& x, D const& w, D const& b) {
        return f::layer_norm(x, {3}, w, b, 0.1);
    };
    auto const inputs = xg::inputs(wave_leaf({2, 3}, 3), wave_leaf({3}, 30), wave_leaf({3}, 40));
    CHECK(xg::gradcheck(y, inputs));
    CHECK(xg::gradgradcheck(y, inputs));
    auto const h = [](D const& x) { return f::layer_norm(x, {3}, {}, {}, 0.1); };
    D const x = half_wave({2, 3}, 3), v = half_wave({2, 3}, 50);
    D const quotient = (h(x + 1e-6 * v) - h(x - 1e-6 * v)) / 2e-6;
    CHECK(difference(xg::jvp(h, x, v).second, quotient, 1e-8) == "");
}

TEST_CASE("scaled_dot_product_attention: plain, causal, with both kinds of masks") {
    D q, k, v;
    auto const leaves = [&] {
        q = wave_leaf({2, 3, 4}, 100), k = wave_leaf({2, 5, 4}, 200), v = wave_leaf({2, 5, 3}, 300);
    };
    auto const check = [&](nn::AttentionOptions<double> const& options,
                           std::vector<double> const& wanted) {
        leaves();
        check_digests(
            {f::scaled_dot_product_attention(q, k, v, options)}, {q, k, v}, nullptr, wanted);
    };
    D const mask = half_wave({3, 5}, 400);
    check({}, {-0.125086855944119, 0.413931746314926, -0.708596325835701, 2.18147680795352});
    check({.is_causal = true},
        {0.349090168668176, -0.218845999983957, -0.530460234777355, 4.87573483001705});
    check({.attn_mask = mask},
        {-0.339094731654546, 0.449274323260283, -0.673131391026196, 2.65963364378291});
    check({.attn_mask = xg::Tensor<bool>(mask > -0.2)},
        {-1.05447365592172, 0.637684941751164, -0.4722110117437, 3.8299776340915});
    check({.scale = 0.5},
        {-0.125086855944119, 0.413931746314926, -0.708596325835701, 2.18147680795352});
    leaves();
    CHECK(xg::gradgradcheck(
        [](D const& a, D const& b, D const& c) {
            return f::scaled_dot_product_attention(a, b, c, {.is_causal = true});
        },
        xg::inputs(wave_leaf({2, 2}, 1), wave_leaf({2, 2}, 20), wave_leaf({2, 2}, 40))));
    xg::manual_seed(1);
    D const dropped =
        f::scaled_dot_product_attention(q, k, D(xg::ones({2, 5, 3})), {.dropout_p = 0.5});
    CHECK(difference(dropped, xg::ones({2, 3, 3})) != ""); // weights no longer sum to 1
    CHECK_THROWS_WITH_AS(f::scaled_dot_product_attention(q, v, v),
        "scaled_dot_product_attention: queries of shape [2, 3, 4], keys of shape [2, 5, 3] and "
        "values of shape [2, 5, 3] do not fit: [..., L, E], [..., S, E] and [..., S, Ev] are "
        "needed",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        f::scaled_dot_product_attention(q, k, v, {.attn_mask = mask, .is_causal = true}),
        "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
        xg::Error);
}

TEST_CASE("multihead attention has PyTorch's values, gradients and names") {
    using Masks = nn::MultiheadAttentionMasks<double>;
    auto const both = [](std::tuple<D, D> const& r) {
        return std::vector<D>{std::get<0>(r), std::get<1>(r)};
    };
    auto const self = waves_in(nn::MultiheadAttention<double>(4, 2));
    D x = wave_leaf({3, 2, 4}, 100);
    check_digests(both(self(x, x, x)), {x}, &self,
        {0.700405247300614, -0.209174783607168, -0.344988687075965, 1.78567050000979});

    auto const first = waves_in(nn::MultiheadAttention<double>(4, 2, {.batch_first = true}));
    x = wave_leaf({2, 3, 4}, 100);
    D k = wave_leaf({2, 5, 4}, 200);
    xg::Tensor<bool> const padding(
        {{false, false, false, false, true}, {false, true, false, false, false}});
    check_digests(both(first(x, k, k,
                      Masks{.key_padding_mask = padding,
                          .attn_mask = half_wave({3, 5}, 400),
                          .average_attn_weights = false})),
        {x, k}, &first,
        {0.67914553323371, 0.301615030209175, -0.2389177724564, 0.093871487646388,
            1.08635981666113});

    auto const unbatched = waves_in(nn::MultiheadAttention<double>(4, 2, {.bias = false}));
    x = wave_leaf({3, 4}, 100);
    xg::Tensor<bool> const hidden(
        {{false, false, false}, {false, false, true}, {true, true, false}});
    auto const r = unbatched(x, x, x, Masks{.attn_mask = hidden});
    CHECK(std::get<1>(r).shape() == xg::Shape{3, 3});
    check_digests(both(r), {x}, &unbatched,
        {-0.0244085875627713, -0.642603707303433, -0.115974453154042, 0.161675746956428});

    auto const others = waves_in(nn::MultiheadAttention<double>(4, 2, {.kdim = 3, .vdim = 2}));
    x = wave_leaf({3, 2, 4}, 100), k = wave_leaf({5, 2, 3}, 200);
    D const v = wave_leaf({5, 2, 2}, 300);
    check_digests(both(others(x, k, v)), {x, k, v}, &others,
        {-0.0223332297936869, -0.0564230660471421, 0.0385040918066592, -0.0378936075558081,
            0.0350817428411765, 1.03356011240216});

    std::string names;
    for (auto const* const m : {&self, &others})
        for (auto const& [name, p] : m->named_parameters()) names += name + " ";
    CHECK(names == "in_proj_weight in_proj_bias out_proj.weight out_proj.bias q_proj_weight "
                   "k_proj_weight v_proj_weight in_proj_bias out_proj.weight out_proj.bias ");
    CHECK_FALSE(std::get<1>(self(x, x, x, Masks{.need_weights = false})).defined());
    CHECK_THROWS_WITH_AS(self(x, k, k),
        "MultiheadAttention: queries of shape [3, 2, 4], keys of shape [5, 2, 3] and values of "
        "shape [5, 2, 3] do not fit: [L, N, 4], [S, N, 4] and [S, N, 4] are needed, or all without "
        "N",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(self(x, x, x, Masks{.attn_mask = hidden(0)}),
        "MultiheadAttention: the attn_mask has shape [3], it should have [3, 3] or [4, 3, 3]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(self(x, x, x, Masks{.key_padding_mask = hidden}),
        "MultiheadAttention: the key_padding_mask has shape [3, 3], it should have [2, 3]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::MultiheadAttention<double>(4, 3),
        "MultiheadAttention: embed_dim 4 must be divisible by num_heads 3", xg::Error);
}

TEST_CASE("the encoder of a transformer has PyTorch's values, gradients and names") {
    using Layer = nn::TransformerEncoderLayer<double>;
    auto const after = waves_in(Layer(4, 2, {.dim_feedforward = 6, .dropout = 0}));
    D x = wave_leaf({2, 3, 4}, 100);
    check_digests({after(x)}, {x}, &after, {0.38984341080298, 3.96685022921359, -2.31151125585297});
    auto const before = waves_in(Layer(4, 2,
        {.dim_feedforward = 6,
            .dropout = 0,
            .activation = nn::TransformerActivation::gelu,
            .batch_first = true,
            .norm_first = true}));
    x = wave_leaf({2, 3, 4}, 100);
    check_digests(
        {before(x)}, {x}, &before, {0.790076960395045, 12.2540436420975, 1.43033555453099});
    auto const padded =
        waves_in(Layer(4, 2, {.dim_feedforward = 6, .dropout = 0, .batch_first = true}));
    x = wave_leaf({2, 3, 4}, 100);
    check_digests({padded(x, nn::AttentionMask<double>(),
                      xg::Tensor<bool>({{false, false, true}, {false, false, false}}))},
        {x}, &padded, {0.421555423271888, 2.96666794833966, -2.40797674024454});

    auto const encoder = waves_in(nn::TransformerEncoder<double>(
        Layer(4, 2, {.dim_feedforward = 6, .dropout = 0}), 2, nn::LayerNorm<double>(4)));
    x = wave_leaf({3, 2, 4}, 100);
    xg::Tensor<bool> const future(
        {{false, true, true}, {false, false, true}, {false, false, false}});
    check_digests({encoder(x, future)}, {x}, &encoder,
        {-0.578116289509876, 0.158822615338095, -2.20912867028544});
    std::string names;
    for (auto const& [name, p] : encoder.named_parameters()) names += name + " ";
    CHECK(
        names ==
        "layers.0.self_attn.in_proj_weight layers.0.self_attn.in_proj_bias "
        "layers.0.self_attn.out_proj.weight layers.0.self_attn.out_proj.bias "
        "layers.0.linear1.weight "
        "layers.0.linear1.bias layers.0.linear2.weight layers.0.linear2.bias layers.0.norm1.weight "
        "layers.0.norm1.bias layers.0.norm2.weight layers.0.norm2.bias "
        "layers.1.self_attn.in_proj_weight layers.1.self_attn.in_proj_bias "
        "layers.1.self_attn.out_proj.weight layers.1.self_attn.out_proj.bias "
        "layers.1.linear1.weight "
        "layers.1.linear1.bias layers.1.linear2.weight layers.1.linear2.bias layers.1.norm1.weight "
        "layers.1.norm1.bias layers.1.norm2.weight layers.1.norm2.bias norm.weight norm.bias ");
}

TEST_CASE("a const module is called with the hooks around it") {
    struct Net : nn::Module<Net> {
        nn::Child<nn::Linear<double>> hidden{*this, "hidden", 2, 2};
        D forward(D const& x) const { return tanh(hidden(x)); }
    };
    Net net;
    std::string log;
    net.register_forward_pre_hook([&](Net&, D const& x) {
        log += "before ";
        return 2. * x;
    });
    net.hidden.register_forward_hook([&](auto&, auto const&, D const&) { log += "hidden "; });
    auto all = nn::register_module_forward_hook(
        [&](nn::AnyModule& m, auto const&, auto const&) { log += std::string(m.kind()) + " "; });
    Net const& same = net;
    D const x = half_wave({1, 2}, 1);
    D const y = same(x);
    CHECK(log == "before Linear hidden Net ");
    CHECK(difference(y, net.forward(D(2. * x))) == "");
    Net const fixed;
    log.clear();
    fixed(x);
    CHECK(log == "Linear Net ");

    all.remove();
}

TEST_CASE("wrong calls of layer_norm say what is wrong") {
    CHECK_THROWS_WITH_AS(f::layer_norm(xg::zeros({2, 3}), {2}),
        "layer_norm: an input of shape [2, 3] does not end in normalized_shape [2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::layer_norm(xg::zeros({2, 3}), {3}, xg::zeros({2})),
        "layer_norm: weight has shape [2], it should have normalized_shape [3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(f::layer_norm(xg::zeros({2, 3}), {}),
        "layer_norm: normalized_shape has no axes", xg::ShapeError);
}

TEST_CASE("a query that sees no key: zeros, and NaN where the weights are asked for") {
    D q = half_wave({2, 3}, 1), v = half_wave({2, 3}, 50);
    q.requires_grad_();
    v.requires_grad_();
    xg::Tensor<bool> const seen({{true, false}, {false, false}});
    D const y = f::scaled_dot_product_attention(q, q, v, {.attn_mask = seen});
    CHECK(difference(y[1], {0., 0., 0.}) == "");
    CHECK(difference(y[0], v[0], 1e-15) == "");
    sum(y).backward();
    CHECK(difference(v.grad(), {{1., 1., 1.}, {0., 0., 0.}}, 1e-15) == "");
    CHECK(difference(q.grad(), {{0., 0., 0.}, {0., 0., 0.}}, 1e-15) == "");

    nn::MultiheadAttention<double> layer(4, 2);
    D const x = half_wave({2, 1, 4}, 1);
    xg::Tensor<bool> const padding({{true, true}});
    using Masks = nn::MultiheadAttentionMasks<double>;
    auto const nans = [](D const& t) {
        return std::count_if(
            t.data(), t.data() + t.numel(), [](double v) { return std::isnan(v); });
    };
    CHECK(nans(std::get<0>(
              layer(x, x, x, Masks{.key_padding_mask = padding, .need_weights = false}))) == 0);
    CHECK(nans(std::get<0>(layer(x, x, x, Masks{.key_padding_mask = padding}))) == 8);
}

TEST_CASE("softmax of nothing, of a number and of infinity") {
    CHECK(f::softmax(D(xg::zeros({0, 2, 5})), -1).shape() == xg::Shape{0, 2, 5});
    CHECK(f::log_softmax(D(xg::zeros({2, 0})), 1).shape() == xg::Shape{2, 0});
    CHECK_THROWS_WITH_AS(f::softmax(D(xg::zeros({2, 0})), 7),
        "softmax: axis 7 is out of range for an array with 2 dimensions, of shape [2, 0]",
        xg::IndexError);
    CHECK(f::softmax(D(3.), 0).item() == 1);
    CHECK(f::log_softmax(D(3.), -1).item() == 0);
    for (D const& x : {D({HUGE_VAL, 1.}), D({-HUGE_VAL, -HUGE_VAL})})
        for (D const& y : {D(f::softmax(x, 0)), D(f::log_softmax(x, 0))}) {
            CHECK(std::isnan(y.data()[0]));
            CHECK(std::isnan(y.data()[1]));
        }
    CHECK(f::flatten(D(3.)).shape() == xg::Shape{1});
    nn::MultiheadAttention<double> layer(4, 2);
    D const some = xg::zeros({5, 2, 4}), no_sample = xg::zeros({5, 0, 4}),
            no_key = xg::zeros({0, 2, 4});
    CHECK(std::get<0>(layer(no_sample, no_sample, no_sample)).shape() == xg::Shape{5, 0, 4});
    CHECK(std::get<0>(layer(some, no_key, no_key)).shape() == xg::Shape{5, 2, 4});
}
