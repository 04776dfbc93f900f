// Embeddings, and how parameters begin.
#include <xgrad/testing/gradcheck.hpp>

#include "nn/waves.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;
using I = xg::Tensor<std::int64_t>;

TEST_CASE("an embedding picks rows; their gradients are added, that of padding is not") {
    D table = wave({5, 3}, 1);
    table.requires_grad_();
    I tokens({{1, 4, 1}, {0, 2, 1}});
    D const y = f::embedding(tokens, table, 4);
    CHECK(y.shape() == xg::Shape{2, 3, 3});
    CHECK(difference(y(0, 1), table(4).detach()) == "");
    D const total = weighted(y, 1);
    tokens.zero_();
    total.backward();
    CHECK(total.item() == doctest::Approx(-0.4834669773280392)); // from PyTorch
    CHECK(difference(table.grad(),
              {{-0.9111302619, -0.8390715291, 0.0044256980},
                  {1.2004823738, 0.3365450799, -0.8368102084},
                  {0.8438539587, 0.9074467815, 0.1367372182}, {0., 0., 0.}, {0., 0., 0.}},
              1e-9) == "");
    CHECK(xg::gradgradcheck(
        [](D const& t) {
            return square(f::embedding(I({1, 1, 0}), t));
        },
        table));
    D const g =
        xg::grad(sum(square(f::embedding(I({1, 4}), table, -1))), table, {.create_graph = true});
    CHECK(difference(xg::grad(sum(g), table),
              {{0., 0., 0.}, {2., 2., 2.}, {0., 0., 0.}, {0., 0., 0.}, {0., 0., 0.}}) == "");
}

TEST_CASE(
    "gradients of words are added to what else the table is used for, those of padding are not") {
    D table = wave({3, 2}, 1);
    table.requires_grad_();
    D const y = f::embedding(I({2, 0, 2}), table, 0),
            square = table * table; // what is recorded last has its gradient first
    D(sum(y) + sum(square)).backward();
    D want = 2. * table.detach();
    want(2) = want(2) + 2.;
    CHECK(difference(table.grad(), want) == "");
}

TEST_CASE("the layer, and wrong calls") {
    nn::Embedding<float> layer(10, 3, 0);
    CHECK(difference(layer(I({0})), F({{0.f, 0.f, 0.f}})) == "");
    CHECK(layer(I(7)).shape() == xg::Shape{3});
    CHECK(to_string(layer) == "Embedding(10, 3, padding_idx=0), 30 parameters");
    CHECK_THROWS_WITH_AS(layer(I({3, 10})),
        "embedding: index 10 is out of bounds for axis 0 with extent 10", xg::IndexError);
    CHECK_THROWS_WITH_AS(f::embedding(I({0}), D({1., 2.})),
        "embedding: the weight is [num_embeddings, embedding_dim], not of shape [2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(nn::Embedding<double>(10, 3, 10),
        "Embedding: padding_idx 10 must be within 10 rows", xg::IndexError);
}

namespace {
/// Mean of |v|^2, mean of |v|^4 over its square, and the largest part.
struct Spread {
    double variance = 0, kurtosis = 0, largest = 0;
};
template <class T> Spread spread(xg::Tensor<T> const& t) {
    Spread s;
    for (auto const v : values(t)) {
        double const square = std::norm(v), n = static_cast<double>(t.numel());
        s.variance += square / n, s.kurtosis += square * square / n;
        s.largest = std::max({s.largest, std::abs(std::real(v)), std::abs(std::imag(v))});
    }
    s.kurtosis /= s.variance * s.variance;
    return s;
}
} // namespace

TEST_CASE("xavier and kaiming rules have their variances, of complex parameters in magnitude") {
    xg::manual_seed(7);
    D const w = xg::zeros({64, 32, 3, 3}, xg::requires_grad);
    double const in = 32 * 9, out = 64 * 9;
    nn::init::xavier_uniform_(w, 2.);
    CHECK(spread(w).variance == doctest::Approx(8 / (in + out)).epsilon(0.03));
    CHECK(spread(w).largest <= 2 * std::sqrt(6 / (in + out)));
    nn::init::kaiming_normal_(w, 0, nn::init::FanMode::fan_out, nn::init::Nonlinearity::relu);
    CHECK(spread(w).variance == doctest::Approx(2 / out).epsilon(0.03));
    CHECK(spread(w).kurtosis == doctest::Approx(3).epsilon(0.1));
    nn::init::kaiming_uniform_(w, std::sqrt(5.));
    CHECK(spread(w).largest <= 1 / std::sqrt(in));
    CHECK(spread(w).variance == doctest::Approx(1 / (3 * in)).epsilon(0.03));
    CHECK(w.version() > 0);
    Z const z = xg::zeros<complex<double>>({64, 32, 3, 3});
    nn::init::xavier_normal_(z);
    CHECK(spread(z).variance == doctest::Approx(2 / (in + out)).epsilon(0.03));
    CHECK(spread(z).kurtosis == doctest::Approx(2).epsilon(0.1)); // Rayleigh's distribution
    nn::init::kaiming_uniform_(z);
    CHECK(spread(z).variance == doctest::Approx(2 / in).epsilon(0.03));
    nn::init::ones_(w), nn::init::constant_(z, complex<double>(0, 2));
    CHECK(spread(w).variance == doctest::Approx(1));
    CHECK(spread(z).variance == doctest::Approx(4));
    CHECK(nn::init::calculate_gain(nn::init::Nonlinearity::leaky_relu, 2.) ==
          doctest::Approx(std::sqrt(0.4)));
    CHECK_THROWS_WITH_AS(nn::init::xavier_normal_(D({1., 2.})),
        "xavier_normal_: Fan in and fan out can not be computed for tensor with fewer than 2 "
        "dimensions, of shape [2]",
        xg::ShapeError);
}

TEST_CASE("orthogonal rows, or columns, real and unitary") {
    D const w = xg::zeros({3, 2, 4});
    nn::init::orthogonal_(w, 2.);
    D const rows = reshape(w, {3, 8});
    CHECK(difference(matmul(rows, mT(rows)), D(4. * xg::eye(3))) == "");
    Z const z = xg::zeros<complex<double>>({5, 3});
    nn::init::orthogonal_(z);
    CHECK(difference(matmul(adjoint(z), z), xg::eye<complex<double>>(3)) == "");
    CHECK_THROWS_WITH_AS(nn::init::orthogonal_(D({1.})),
        "orthogonal_: Only tensors with 2 or more dimensions are supported, not of shape [1]",
        xg::ShapeError);
}
