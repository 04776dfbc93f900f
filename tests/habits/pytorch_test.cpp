// Lines of PyTorch's tutorials: tensors, autograd, "Learning with Examples", and of the C++ front
// end.
#include <complex>

#include <doctest/doctest.h>

#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

namespace torch = xgrad;
namespace nn = xgrad::nn;
namespace F = xgrad::nn::functional;
using D = torch::Tensor<double>;
using I = torch::Tensor<std::int64_t>;
using A = xt::xarray<double>;

namespace {
bool same(D const& x, A const& expected) {
    return x.shape() == torch::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.array(), expected);
}
bool same(I const& x, xt::xarray<std::int64_t> const& expected) { return x.array() == expected; }
} // namespace

TEST_CASE("tensors") {
    auto x = torch::tensor({{1., -1.}, {1., -1.}});
    CHECK(x.sizes() == torch::Shape{2, 2});
    torch::Tensor const w({{0.5, 1.}}, torch::requires_grad);
    static_assert(std::same_as<decltype(w), D const>);
    torch::Tensor const classes({0, 2, 1});
    static_assert(std::same_as<decltype(classes), I const>);
    CHECK(same(classes + 1, {1, 3, 2}));
    CHECK(x.numel() == 4);
    CHECK(x.dim() == 2);
    CHECK(same(torch::ones(5), {1, 1, 1, 1, 1}));
    CHECK(torch::zeros(3, torch::requires_grad).requires_grad());
    CHECK(torch::randn({2, 3}, torch::requires_grad).is_leaf());
    CHECK(torch::ones(2, 2).requires_grad_().requires_grad());
    CHECK(torch::empty({3, 4}).normal_(0, 1).shape(0) == 3);
    D const uniform = torch::empty(1000).uniform_(-1, 1);
    CHECK(uniform.min().item() < -0.9);
    CHECK(uniform.max().item() > 0.9);
    torch::manual_seed(42);
    D const first = torch::rand(3);
    torch::manual_seed(42);
    CHECK(torch::equal(first, torch::rand(3)));
    CHECK(same(x.add(2), {{3, 1}, {3, 1}}));
    CHECK(same(x.mul(3), {{3, -3}, {3, -3}}));
    CHECK(same(x.sub(1), {{0, -2}, {0, -2}}));
    CHECK(same(x.div(2), {{0.5, -0.5}, {0.5, -0.5}}));
    CHECK(same(x.neg(), {{-1, 1}, {-1, 1}}));
    CHECK(same(torch::mul(x, x), {{1, 1}, {1, 1}}));
    CHECK(same(x.add_(1).mul_(2), {{4, 0}, {4, 0}})); // x has changed
    x.fill_(3);
    x.zero_();
    CHECK(same(x, {{0, 0}, {0, 0}}));
    CHECK(torch::tensor(3.).item<int>() == 3);
    CHECK(same(torch::where(torch::tensor({1., -2.}) > 0, 1., 0.), {1, 0}));
}

TEST_CASE("shapes") {
    D const x = torch::arange<double>(0, 12).view(3, 4);
    CHECK(x.view(-1, 6).shape() == torch::Shape{2, 6});
    CHECK(x.view({4, 3}).shape() == torch::Shape{4, 3});
    CHECK(x.permute(1, 0).shape() == torch::Shape{4, 3});
    CHECK(x.transpose(-2, -1).shape() == torch::Shape{4, 3});
    CHECK(x.unsqueeze(0).flatten(1).shape() == torch::Shape{1, 12});
    CHECK(torch::flatten(torch::zeros(2, 3, 4), 1).shape() == torch::Shape{2, 12});
    CHECK(torch::flatten(torch::zeros(2, 3, 4), 0, 1).shape() == torch::Shape{6, 4});
    CHECK_THROWS_AS(torch::flatten(x, 1, 0), torch::ShapeError);
    CHECK(x.unsqueeze(0).expand(2, -1, 4).shape() == torch::Shape{2, 3, 4});
    CHECK(x(0).repeat(2, 1).shape() == torch::Shape{2, 4});
    CHECK(x(0).repeat({2}).shape() == torch::Shape{8});
    CHECK(x.expand_as(torch::zeros(2, 3, 4)).dim() == 3);
    CHECK_THROWS_AS(x.expand(3, 5), torch::ShapeError);
    CHECK_THROWS_WITH_AS(x.expand(-1, 3, 4),
        "expand: the extent -1 of axis 0 is negative; -1 keeps the extent of an axis that is there",
        torch::ShapeError);
    CHECK(torch::cat({x, x, x}, 1).shape() == torch::Shape{3, 12});
    CHECK(torch::cat({x, x}, -1).shape() == torch::Shape{3, 8});
    CHECK(torch::stack({x, x}, 0).shape() == torch::Shape{2, 3, 4});
    CHECK(x.chunk(2, 1).size() == 2);
    CHECK(torch::unbind(x, 0).size() == 3);
    CHECK(same(x.index_select(0, I({2, 0}))(0), {8, 9, 10, 11}));
    CHECK(same(x.gather(1, I({{1}, {0}, {3}})).flatten(), {1, 4, 11}));
    CHECK(same(x[0].masked_fill(x[0] < 2., -1.), {-1, -1, 2, 3}));
    CHECK(same(torch::masked_fill(x[0], x[0] > 2., 9), {0, 1, 2, 9}));
    CHECK(same(x.diagonal(), {0, 5, 10}));
    CHECK(x.trace().item() == 15);
    CHECK(same(torch::ones(3, 3).tril()(0), {1, 0, 0}));
    CHECK(same(torch::ones(3, 3).triu(1)(0), {0, 1, 1}));
}

TEST_CASE("reductions and products") {
    D const x({{3., 1.}, {2., 4.}});
    auto [values, indices] = x.topk(1);
    CHECK(same(values.flatten(), {3, 4}));
    CHECK(same(indices.flatten(), {0, 1}));
    CHECK(same(x.argmax(1), {0, 1}));
    CHECK((x.argmax(1) == I({0, 0})).sum().item() == 1);
    CHECK(same(x.mean(-1, true).flatten(), {2, 3}));
    CHECK(same(x.std(0), {0.707106781186548, 2.12132034355964}));
    CHECK(same(torch::std(x, 0), {0.707106781186548, 2.12132034355964}));
    CHECK(x.norm().item() == doctest::Approx(std::sqrt(30.)));
    CHECK(same(x.sum(1, torch::keepdims).flatten(), {4, 6}));
    CHECK(same(torch::mm(x, x), {{11, 7}, {14, 18}}));
    CHECK(same(x.mm(x), {{11, 7}, {14, 18}}));
    CHECK(same(torch::mv(x, D({1., 1.})), {4, 6}));
    CHECK(torch::bmm(x.unsqueeze(0), x.unsqueeze(0)).shape() == torch::Shape{1, 2, 2});
    CHECK(same(torch::addmm(D({1., 2.}), x, x), {{12, 9}, {15, 20}}));
    CHECK(same(torch::lerp(x, 2. * x, 0.5)(0), {4.5, 1.5}));
    CHECK(same(x.clamp_min(2.)(0), {3, 2}));
    CHECK(same(x.softmax(-1).sum(-1), {1, 1}));
    CHECK(torch::isnan(x).any().item() == false);
    CHECK((x > 0.).all().item());
    CHECK(same(F::normalize(x, 2., 1)(1), {2 / std::sqrt(20.), 4 / std::sqrt(20.)}));
    CHECK(same(F::cosine_similarity(x, 2. * x), {1, 1}));
    CHECK(same(torch::cosine_similarity(D({{1., 0.}}), D({{1., 1.}})), {std::sqrt(0.5)}));
    CHECK(F::one_hot(I({0, 2}), 3).shape() == torch::Shape{2, 3});
    CHECK(same(F::pad(D({1., 2., 3.}), {1, 1}, "reflect"), {2, 1, 2, 3, 2}));
}

TEST_CASE("autograd") {
    D x = torch::ones({2, 2}, torch::requires_grad);
    D y = x + 2;
    D z = y * y * 3;
    D out = z.mean();
    out.backward();
    CHECK(same(x.grad(), {{4.5, 4.5}, {4.5, 4.5}}));
    CHECK(out.grad_fn());
    x.grad().zero_();
    CHECK(same(x.grad(), {{0, 0}, {0, 0}}));
    (2. * x).backward(torch::ones_like(x));
    CHECK(same(x.grad(), {{2, 2}, {2, 2}}));
    auto handle = x.register_hook([](D const& g) { return g * 2; });
    x.zero_grad();
    x.sum().backward({.retain_graph = true});
    CHECK(same(x.grad()(0), {2, 2}));
    handle.remove();
    {
        torch::NoGradGuard const no_grad;
        x -= 0.5 * x.grad();
    }
    CHECK(same(x(0), {0, 0}));
    auto [g] = torch::grad(x.sum(), std::tuple(x));
    auto gradients = torch::grad(x.sum(), {x}, {.create_graph = true});
    CHECK(gradients.size() == 1);
    CHECK(same(g, {{1, 1}, {1, 1}}));
}

TEST_CASE("matrices of tensors, and drawn classes") {
    D const k(2., torch::requires_grad);
    double const dt = 0.1;
    D const step({{D(1.), k * dt}, {0., 1.}});
    CHECK(same(step.detach(), {{1, 0.2}, {0, 1}}));
    sum(step * D({{1., 3.}, {0., 0.}})).backward();
    CHECK(k.grad().item() == doctest::Approx(0.3));
    D const same_tensor{k};
    CHECK(same_tensor.is_same(k)); // one pair of braces: another handle
    CHECK_THROWS_AS(D({{D({1., 2.}), D(1.)}}), torch::ShapeError);
    CHECK_THROWS_AS(D({{k, D(1.)}}, torch::requires_grad), torch::GraphError);

    torch::manual_seed(1);
    I const drawn = torch::multinomial(D({0., 1., 3.}), 4000, true);
    CHECK(drawn.amin().item() == 1);
    CHECK(drawn.mean().item() == doctest::Approx(1.75).epsilon(0.02));
    I const each = torch::multinomial(D({{0., 1., 3.}, {1., 1., 0.}}), 2);
    CHECK(same(each.sum(1), {3, 1}));
    CHECK_THROWS_AS(torch::multinomial(D({0., 1.}), 2), torch::Error);
    CHECK_THROWS_AS(torch::multinomial(D({-1., 1.}), 1), torch::Error);
}

TEST_CASE("formulas where tensors are expected") {
    D const x({{1., 2.}, {3., 4.}}, torch::requires_grad);
    I const k({0, 1});
    CHECK(F::cross_entropy(2. * x, k).item() == F::cross_entropy(D(2. * x), k).item());
    CHECK(F::binary_cross_entropy(sigmoid(x), D(0. * x)).item() ==
          doctest::Approx(F::binary_cross_entropy_with_logits(1. * x, D(0. * x)).item()));
    CHECK(nn::MSELoss()(2. * x, x).item() == 7.5);
    CHECK(torch::dropout(2. * x, 0.).shape() == x.shape());
    torch::data::TensorDataset const data(2. * x.detach() - 1., k);
    CHECK(same(std::get<0>(data[1]), {5, 7}));
    CHECK(same(torch::grad(0.5 * sum(x), x), {{0.5, 0.5}, {0.5, 0.5}}));
    (2. * x).backward(D({{1., 1.}, {0., 0.}}), {.retain_graph = true});
    CHECK(same(x.grad()(0), {2, 2}));
    CHECK_FALSE((2. * x).detach().requires_grad());
    CHECK_THROWS_WITH_AS(x(torch::range({}, {}, -1)),
        "a slice of axis 0 has step -1; it must be positive: flip(x, 0) reverses the axis",
        torch::IndexError);
}

TEST_CASE("a network as in the tutorials") {
    torch::manual_seed(1);
    nn::Sequential net(nn::Flatten(), nn::Linear(4, 16), nn::Tanh(), nn::Linear(16, 3));
    D const x = torch::rand(5, 2, 2);
    I const target({0, 1, 2, 0, 1});
    nn::CrossEntropyLoss loss_fn;
    torch::optim::SGD optimizer(net.parameters(), {.lr = 0.2, .momentum = 0.9});
    torch::optim::ExponentialLR schedule(optimizer, 0.99);
    double first = 0, last = 0;
    for (int epoch = 0; epoch < 200; ++epoch) {
        optimizer.zero_grad();
        D const loss = loss_fn(net(x), target);
        loss.backward();
        optimizer.step();
        schedule.step();
        (epoch ? last : first) = loss.item();
    }
    CHECK(last < 0.1 * first);
    CHECK((net(x).argmax(1) == target).sum().item() == 5);
    CHECK(schedule.get_last_lr()[0] == doctest::Approx(0.2 * std::pow(0.99, 200)));
    for (auto const& [name, p] : net.named_parameters()) CHECK(p.grad().norm() >= 0);
    net.eval();
    CHECK(net.parameters().size() == 4);
}

TEST_CASE("binary cross entropy of probabilities") { // values of PyTorch 1.13
    D p({0.2, 0.7, 0., 1.}, torch::requires_grad);
    D const t({0., 1., 1., 1.});
    D const loss = F::binary_cross_entropy(p, t);
    CHECK(loss.item() == doctest::Approx(25.1449546));
    CHECK(same(F::binary_cross_entropy(p, t, {.reduction = "none"}).detach(),
        {0.22314355, 0.35667494, 100, 0}));
    CHECK(nn::BCELoss("sum")(p, t).item() == doctest::Approx(100.5798185));
    nn::BCELoss({.weight = D({1., 2., 0., 0.})})(p, t).backward();
    CHECK(same(p.grad()(torch::range(0, 2)), {0.3125, -0.71428571}));
    p.zero_grad();
    loss.backward();
    CHECK(same(p.grad(), {0.3125, -0.35714286, -2.5e11, 0}));
    CHECK_THROWS_WITH_AS(F::binary_cross_entropy(D(2. * t), t),
        "binary_cross_entropy: all elements of input should be between 0 and 1", torch::Error);
}
