// Modules where a callable is taken: the caller's own parameters get the gradients, not those of a
// copy.
#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/xgrad.hpp>

#include "tensor/compare.hpp"

namespace nn = xg::nn;

namespace {

struct Net : nn::Module<Net> {
    nn::Parameter<double> weight{*this, "weight", D({2., 3.})};
    D forward(D const& x) const { return sum(square(x * weight)); }
};

} // namespace

TEST_CASE("a module under a checkpoint is the caller's, and trains") {
    Net net;
    D const x({1., 2.}, xg::requires_grad);
    D loss = xg::checkpoint(net, x);
    CHECK(loss.item() == 40);
    loss.backward();
    CHECK(difference(net.weight.grad(), {4., 24.}) == "");
    {
        xg::NoGradGuard const off;
        net.weight -= 0.25 * net.weight.grad();
    }
    D const after = xg::checkpoint(std::as_const(net), x);
    CHECK(after.item() == 37);
    after.backward();
    CHECK(difference(net.weight.grad(), {6., 0.}) == "");
}

TEST_CASE("a module that nobody else holds is moved into a checkpoint") {
    D const x({1., 2.}, xg::requires_grad);
    D weight;
    D const loss = [&] {
        Net net;
        weight = net.weight;
        return xg::checkpoint(std::move(net), x);
    }();
    loss.backward();
    CHECK(difference(weight.grad(), {4., 24.}) == "");
    CHECK(difference(x.grad(), {8., 36.}) == "");
}

TEST_CASE("transforms call the caller's module") {
    Net net;
    D const x({1., 2.});
    auto const gradient = xg::grad(net);
    CHECK(difference(gradient(x), {8., 36.}) == "");
    {
        xg::NoGradGuard const off;
        net.weight *= 2.;
    }
    CHECK(difference(gradient(x), {32., 144.}) == "");
    auto const g = xg::value_and_grad(net, x, {.create_graph = true}).second; // 2 w^2 x
    sum(g).backward();
    CHECK(difference(net.weight.grad(), {16., 48.}) == "");
    CHECK(difference(xg::hessian(net, x), {{32., 0.}, {0., 72.}}) == "");
}

TEST_CASE("hooks on saved tensors and collate functions are the caller's modules, too") {
    struct Half : nn::Module<Half> {
        int calls = 0;
        nn::Parameter<double> scale{*this, "scale", D(0.5)};
        xg::AnyTensor forward(xg::AnyTensor const& t) {
            ++calls;
            return t;
        }
    } pack, unpack;
    D const x({1., 2.}, xg::requires_grad);
    D y;
    {
        xg::SavedTensorsHooks const hooks(pack, unpack);
        y = sum(sin(x));
    }
    y.backward();
    CHECK(pack.calls == 1);
    CHECK(unpack.calls == 1);

    struct Batch : nn::Module<Batch> {
        nn::Parameter<double> scale{*this, "scale", D(2.)};
        D forward(std::vector<std::tuple<D>> const& items) const {
            return std::get<0>(items[0]) * scale;
        }
    } batch;
    xg::data::DataLoader const loader(xg::data::TensorDataset(D({1., 2.})), {.prefetch = 0}, batch);
    {
        xg::NoGradGuard const off;
        batch.scale *= 5.;
    }
    auto loop = loader;
    CHECK(difference(*loop.begin(), D(10.)) == "");
}
