// RNN, LSTM, GRU and their cells: against PyTorch's numbers, with names, states, hooks and misuse.
#include <functional>

#include <xgrad/nn.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "nn/digest.hpp"

namespace nn = xg::nn;

namespace {

/// Calls a module on waves and compares digests: of the results, of the gradients of input and
/// states, and of those of all parameters.
template <class M>
void check_digests(M m, xg::Shape const& input, std::vector<xg::Shape> const& states,
    std::vector<double> const& wanted) {
    fill_with_waves(m);
    D const x = wave_leaf(input, 100);
    std::vector<D> first;
    for (auto const& s : states)
        first.push_back(wave_leaf(s, 200 + 50 * static_cast<double>(first.size())));
    auto results = [&] {
        if constexpr (requires { m.forward(x, x, x); })
            return first.empty() ? m(x) : m(x, first[0], first[1]);
        else return first.empty() ? m(x) : m(x, first[0]);
    }();
    std::vector<double> got;
    D loss = xg::zeros({});
    auto const see = [&](D const& y) {
        loss = loss + digest(y);
        got.push_back(digest(y).item());
    };
    if constexpr (std::same_as<decltype(results), D>) see(results);
    else std::apply([&](auto const&... y) { (see(y), ...); }, results);
    loss.backward();
    got.push_back(digest(x.grad()).item());
    for (auto const& s : first) got.push_back(digest(s.grad()).item());
    got.push_back(digest_of_gradients(m));
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK_MESSAGE(got[i] == doctest::Approx(wanted[i]).epsilon(1e-10), m.kind(), " number ", i);
}

} // namespace

TEST_CASE("recurrent networks have PyTorch's values and gradients") {
    using nn::Nonlinearity;
    check_digests(nn::RNN<double>(2, 3), {4, 2, 2}, {},
        {0.961101380809808, 0.45327762991547, 2.20214572296817, -0.239145071924304});
    check_digests(
        nn::RNN<double>(
            2, 3, {.batch_first = true, .bidirectional = true, .nonlinearity = Nonlinearity::relu}),
        {2, 4, 2}, {{2, 2, 3}},
        {1.90926341303425, -0.0420766128674332, 1.72536521745067, 1.32046853898505,
            6.16469286469102});
    check_digests(nn::LSTM<double>(2, 3, {.num_layers = 2, .bidirectional = true}), {4, 2, 2}, {},
        {1.36344503431386, 0.134800776677196, 0.185951661766194, 0.165744394100859,
            1.05696521367457});
    check_digests(nn::LSTM<double>(2, 3, {.num_layers = 2, .bias = false, .proj_size = 2}),
        {4, 2, 2}, {{2, 2, 2}, {2, 2, 3}},
        {-0.000701593633456544, 0.0231172670624231, -0.194900799401158, -0.135838471575578,
            -0.237150622095998, 0.332589505294927, 0.358360518933921});
    check_digests(nn::GRU<double>(2, 3, {.num_layers = 2}), {4, 2, 2}, {{2, 2, 3}},
        {-1.12069127411423, -0.148184258549928, 0.0786251836263771, 4.37035301787474,
            0.783046569970585});
    check_digests(nn::GRU<double>(2, 3, {.bidirectional = true}), {4, 2}, {},
        {3.52385150490708, 0.493471105864809, -0.215233080902469, 0.299627865255594});
    check_digests(nn::RNNCell<double>(2, 3), {2, 2}, {{2, 3}},
        {0.367817532265543, 1.30301067789099, 0.691120721614277, -0.604108929357452});
    check_digests(nn::LSTMCell<double>(2, 3), {2, 2}, {{2, 3}, {2, 3}},
        {-0.0117278778970976, -0.165371524598316, -0.0654144930239182, 1.18333218673772,
            1.29375353417607, -0.473375632137114});
    check_digests(nn::GRUCell<double>(2, 3), {2}, {},
        {0.166833569023033, -0.0324667576560937, 0.524462128590285});
}

TEST_CASE("recurrent networks are differentiable twice, and in forward mode") {
    nn::LSTM<double> lstm(1, 2);
    nn::GRU<double> gru(1, 2, {.bidirectional = true});
    auto const f = [&](D const& x) { return std::get<0>(lstm(x)); };
    auto const g = [&](D const& x) { return std::get<1>(gru(x)); };
    CHECK(xg::gradcheck(f, wave_leaf({3, 2, 1}, 0)));
    CHECK(xg::gradgradcheck(f, wave_leaf({3, 2, 1}, 0)));
    CHECK(xg::gradgradcheck(g, wave_leaf({2, 2, 1}, 0)));
    D const x = half_wave({3, 2, 1}, 0), v = half_wave({3, 2, 1}, 50);
    for (auto const& h : {std::function<D(D const&)>(f), std::function<D(D const&)>(g)}) {
        D const quotient = (h(x + 1e-6 * v) - h(x - 1e-6 * v)) / 2e-6;
        CHECK(difference(xg::jvp(h, x, v).second, quotient, 1e-8) == "");
    }
}

TEST_CASE("the parameters of a recurrent network have PyTorch's names, and are copied with it") {
    nn::LSTM<double> const lstm(2, 4, {.num_layers = 2, .bidirectional = true, .proj_size = 3});
    std::string names;
    for (auto const& [name, p] : lstm.named_parameters())
        names += name + (p.requires_grad() ? " " : "? ");
    CHECK(names ==
          "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_hr_l0 weight_ih_l0_reverse "
          "weight_hh_l0_reverse bias_ih_l0_reverse bias_hh_l0_reverse "
          "weight_hr_l0_reverse weight_ih_l1 weight_hh_l1 bias_ih_l1 bias_hh_l1 weight_hr_l1 "
          "weight_ih_l1_reverse weight_hh_l1_reverse bias_ih_l1_reverse "
          "bias_hh_l1_reverse weight_hr_l1_reverse ");
    CHECK(lstm.state_dict().at("weight_ih_l1_reverse").shape() == xg::Shape{16, 6});
    for (auto const& p : lstm.parameters())
        for (auto const v : values(p.as<double>())) REQUIRE(std::abs(v) <= 0.5); // 1/sqrt(4)

    nn::RNN<double> a(2, 3);
    nn::RNN<double> b = a, c(2, 3);
    D const x = half_wave({4, 2, 2}, 0);
    D const before = std::get<0>(a(x));
    {
        xg::NoGradGuard const off;
        b.parameters()[0].as<double>().zero_();
    }
    CHECK(difference(std::get<0>(a(x)), before) == "");
    CHECK(difference(std::get<0>(b(x)), before) != "");
    CHECK(b.parameters()[0].requires_grad());
    c.load_state_dict(a.state_dict());
    CHECK(difference(std::get<0>(c(x)), before) == "");
    CHECK(to_string(nn::GRU<float>(
              2, 3, {.num_layers = 2, .bias = false, .batch_first = true, .dropout = 0.5})) ==
          "GRU(2, 3, num_layers=2, bias=false, batch_first=true, dropout=0.5), 99 parameters");
}

TEST_CASE("dropout stands between the layers of a recurrent network, in training") {
    nn::GRU<double> gru(2, 3, {.num_layers = 2, .dropout = 1});
    D const x = half_wave({4, 2, 2}, 0);
    D const zeros = std::get<0>(gru(x));
    CHECK(difference(zeros(0, 0), zeros(0, 1)) == ""); // nothing of the input arrives
    gru.eval();
    D const y = std::get<0>(gru(x));
    CHECK(difference(y(0, 0), y(0, 1)) != "");
}

TEST_CASE("hooks see a recurrent network's states as results") {
    nn::LSTM<double> lstm(2, 3);
    std::size_t results = 0;
    lstm.register_forward_hook(
        [&](auto&, std::vector<xg::AnyTensor> const&, std::vector<xg::AnyTensor> const& out) {
            results = out.size();
        });
    lstm(half_wave({4, 2, 2}, 0));
    CHECK(results == 3);
}

TEST_CASE("wrong calls of recurrent networks say what is wrong") {
    nn::LSTM<double> lstm(2, 3);
    CHECK_THROWS_WITH_AS(lstm(xg::zeros({4, 2, 5})),
        "LSTM: an input of shape [4, 2, 5] is none of shape [length, 2] or [length, batch, 2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::GRU<double>(2, 3, {.batch_first = true})(xg::zeros({2})),
        "GRU: an input of shape [2] is none of shape [length, 2] or [batch, length, 2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(lstm(xg::zeros({0, 2, 2})),
        "LSTM: Expected sequence length to be larger than 0, the input has shape [0, 2, 2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(lstm(xg::zeros({4, 2, 2}), xg::zeros({1, 2, 3}), xg::zeros({2, 3})),
        "LSTM: the first c has shape [2, 3], it should have [1, 2, 3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::LSTMCell<double>(2, 3)(xg::zeros({4, 2}), xg::zeros({3}), D()),
        "LSTMCell: an input of shape [4, 2] needs a state of shape [4, 3], not [3]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::RNNCell<double>(2, 3)(xg::zeros({3})),
        "RNNCell: an input of shape [3] is none of shape [2] or [batch, 2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::GRU<double>(2, 3, {.proj_size = 2}),
        "GRU: proj_size argument is only supported for LSTM, not RNN or GRU", xg::Error);
    CHECK_THROWS_WITH_AS(nn::LSTM<double>(2, 3, {.proj_size = 3}),
        "LSTM: proj_size has to be smaller than hidden_size", xg::Error);
    CHECK_THROWS_WITH_AS(nn::GRU<double>(2, 3, {.nonlinearity = nn::Nonlinearity::relu}),
        "GRU: nonlinearity is an option of RNN, not of LSTM or GRU", xg::Error);
    CHECK_THROWS_WITH_AS(nn::RNN<double>(2, 3, {.dropout = 2}),
        "RNN: dropout should be a number in range [0, 1] representing the probability of an "
        "element being zeroed",
        xg::Error);
    CHECK_THROWS_WITH_AS(nn::RNN<double>(2, 3, {.num_layers = 0}),
        "RNN: num_layers must be greater than zero", xg::Error);
}
