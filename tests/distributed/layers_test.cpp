#include <doctest/doctest.h>

#include <algorithm>

#include <xgrad/data.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "models.hpp"

using namespace models;
using dist::DistributedDataParallel;

namespace {

template <class Norm> struct NormNet : nn::Module<NormNet<Norm>> {
    nn::Child<nn::Conv2d<double>> conv;
    nn::Child<Norm> norm;
    nn::Child<nn::Linear<double>> last;

    template <class... A>
    explicit NormNet(A const&... arguments)
        : conv(*this, "conv", 2, 3, 2), norm(*this, "norm", 3, arguments...),
          last(*this, "last", 27, 2) {}
    D forward(D const& x) {
        D const h = tanh(norm(conv(x)));
        return last(nn::functional::flatten(h));
    }
};

} // namespace

TEST_CASE("SyncBatchNorm on all ranks is BatchNorm of the whole batch: values, running moments and "
          "gradients") {
    auto const group = group_of_test();
    xg::manual_seed(7);
    D const x = xg::randn<double>({12, 2, 4, 4}) * 2. + 1.;
    using Synced = NormNet<dist::SyncBatchNorm<double>>;
    using Whole = NormNet<nn::BatchNorm2d<double>>;
    DistributedDataParallel net(Synced(group), group);
    Whole whole;
    whole.load_state_dict(net.module.state_dict());
    for (int step = 0; step < 3; ++step) {
        net.zero_grad(), whole.zero_grad();
        D const ours = net(part_of(x, group)), theirs = whole(x);
        CHECK(largest_difference(ours.detach(), part_of(theirs.detach(), group)) < 1e-12);
        mean(square(ours - 0.5)).backward();
        mean(square(theirs - 0.5)).backward();
        check_gradients(net.module, whole, 1e-12);
        CHECK(largest_difference(net.module.norm.running_mean, whole.norm.running_mean) < 1e-14);
        CHECK(largest_difference(net.module.norm.running_var, whole.norm.running_var) < 1e-14);
        CHECK(net.module.norm.num_batches_tracked.item() == whole.norm.num_batches_tracked.item());
    }
    net.eval(), whole.eval();
    if (group.rank() == 0)
        CHECK(largest_difference(net(x).detach(), whole(x).detach()) < 1e-13); // alone
    group.barrier();
}

TEST_CASE(
    "SyncBatchNorm takes batches of different sizes, without weights, and none of one value") {
    auto const group = group_of_test();
    nn::BatchNormOptions const plain{.momentum = std::nullopt, .affine = false};
    dist::SyncBatchNorm<double> norm(2, group, plain);
    nn::BatchNorm1d<double> whole(2, plain);
    std::ptrdiff_t const rows = 1 + group.rank() + (group.size() == 1),
                         begin = group.rank() * (group.rank() + 1) / 2;
    std::ptrdiff_t const all = group.size() == 1 ? 2 : group.size() * (group.size() + 1) / 2;
    xg::manual_seed(9);
    D const x = xg::randn<double>({static_cast<std::size_t>(all), 2});
    D const mine = x(xg::slice(begin, begin + rows)).clone();
    CHECK(largest_difference(norm(mine), whole(x)(xg::slice(begin, begin + rows)).clone()) < 1e-13);
    CHECK(largest_difference(norm.running_var, whole.running_var) < 1e-14);
    CHECK_THROWS_AS(norm(xg::ones({2, 3})), xg::ShapeError);
    if (group.size() == 1)
        CHECK_THROWS_WITH_AS(norm(xg::ones({1, 2})),
            doctest::Contains("more than 1 value per channel"), xg::ShapeError);
}

TEST_CASE("sum_over_ranks has the gradient of the sum of all losses, also of second order and of "
          "complex tensors") {
    auto const group = group_of_test();
    double const n = group.size(), mine = group.rank() + 1., all = n * (n + 1) / 2;
    D x({mine}, xg::requires_grad);
    D const total = dist::sum_over_ranks(x, group);
    CHECK(total.item() == all);
    // L_r = r s^3 with s the sum: dL/dx is the same on all ranks
    D const loss = sum(mine * pow(total, 3));
    D const first = xg::grad(loss, x, {.create_graph = true});
    CHECK(first.item() == doctest::Approx(3 * all * all * all).epsilon(1e-14));
    // each rank differentiates its own copy of the gradient, which depends on all x; their sum has
    // n times that
    D const second = xg::grad(sum(first), x);
    CHECK(second.item() == doctest::Approx(n * 6 * all * all).epsilon(1e-14));

    C z({Complex(mine, -mine)}, xg::requires_grad);
    sum(abs2(dist::sum_over_ranks(z, group))).backward();
    CHECK(std::abs(z.grad()(0).item() - 2. * n * Complex(all, -all)) < 1e-12);
}

TEST_CASE(
    "a DistributedSampler divides the items among the ranks, in another order in each epoch") {
    auto const group = group_of_test();
    auto const ranks = static_cast<std::size_t>(group.size());
    for (bool const drops : {false, true})
        for (std::size_t const items : {24u, 25u}) {
            auto const sampler = std::make_shared<dist::DistributedSampler>(
                items, group, dist::SamplerOptions{.seed = 3, .drop_last = drops});
            auto const mine = sampler->order();
            auto const each = drops ? items / ranks : (items + ranks - 1) / ranks;
            REQUIRE(mine.size() == each);
            CHECK(sampler->size() == each);
            auto const indices = xg::Tensor<std::int64_t>::empty({each});
            std::ranges::copy(mine, indices.array_of().begin());
            std::vector<std::int64_t> counts(items, 0);
            for (auto const& t : group.allgather(indices))
                for (std::size_t i = 0; i < each; ++i)
                    ++counts[static_cast<std::size_t>(t.data()[i])];
            auto const most = std::ranges::max(counts), least = std::ranges::min(counts);
            CHECK(most == (each * ranks > items ? 2 : 1));
            CHECK(least == (each * ranks < items ? 0 : 1));
            CHECK(sampler->order() == mine);
            sampler->set_epoch(1);
            CHECK(sampler->order() != mine);
        }
    dist::DistributedSampler plain(6, group, {.shuffle = false});
    CHECK(plain.order()[0] == static_cast<std::size_t>(group.rank()));
    CHECK(dist::DistributedSampler(0, group).order().empty());
}

TEST_CASE("a DataLoader with a DistributedSampler gives each rank its items") {
    auto const group = group_of_test();
    D const x = xg::arange(0., 24.);
    auto const sampler = std::make_shared<dist::DistributedSampler>(24, group);
    xg::data::DataLoader loader(
        xg::data::TensorDataset<double>(x), {.batch_size = 3, .sampler = sampler});
    CHECK(loader.size() ==
          24 / static_cast<std::size_t>(group.size()) / 3 + (group.size() == 3 ? 1 : 0));
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        sampler->set_epoch(epoch);
        D total({0.});
        for (auto const& [batch] : loader) total += sum(batch);
        group.allreduce(total);
        CHECK(total.item() == 276);
    }
}
