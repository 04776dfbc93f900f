#include <doctest/doctest.h>

#include "models.hpp"

using namespace models;
using dist::DistributedDataParallel;

namespace {

/// Gradients of the parts of a batch on all ranks, beside those of one process that has the whole
/// batch.
template <class Net> void compare_with_one_process(dist::DataParallelOptions const& options) {
    auto const group = group_of_test();
    auto const x = Net::input();
    xg::manual_seed(20 + static_cast<std::uint64_t>(group.rank())); // rank 0's parameters count
    DistributedDataParallel net(Net(), group, options);
    Net whole = net.module.clone();
    xg::optim::SGD ours(net.parameters(), {.lr = 0.05}), theirs(whole.parameters(), {.lr = 0.05});
    for (int step = 0; step < 3; ++step) {
        ours.zero_grad();
        theirs.zero_grad();
        Net::loss(net, part_of(x, group)).backward();
        Net::loss(whole, x).backward();
        check_gradients(net.module, whole, 1e-12);
        ours.step();
        theirs.step();
    }
}

template <class Net> void compare_with_every_option() {
    constexpr double few_bytes = 300. / (1024 * 1024);
    for (bool const finds_unused : {false, true})
        for (bool const views : {false, true})
            for (bool const is_static : {false, true})
                for (double const capacity : {25., few_bytes}) {
                    CAPTURE(finds_unused);
                    CAPTURE(views);
                    CAPTURE(is_static);
                    CAPTURE(capacity);
                    compare_with_one_process<Net>({.bucket_cap_mb = capacity,
                        .first_bucket_mb = capacity / 2,
                        .find_unused_parameters = finds_unused,
                        .gradient_as_bucket_view = views,
                        .static_graph = is_static});
                }
}

/// One of two branches leads to the result.
struct Branches : nn::Module<Branches> {
    nn::Child<nn::Linear<double>> common{*this, "common", 2, 3}, left{*this, "left", 3, 1},
        right{*this, "right", 3, 1}, never{*this, "never", 3, 1};
    D forward(D const& x, bool left_branch) {
        D const hidden = tanh(common(x));
        return left_branch ? left(hidden) : right(hidden);
    }
};

} // namespace

TEST_CASE("gradients of a ConvNet on all ranks are those of one process on the whole batch") {
    compare_with_every_option<ConvNet>();
}
TEST_CASE("gradients of an LSTM on all ranks are those of one process on the whole batch") {
    compare_with_every_option<LstmNet>();
}
TEST_CASE(
    "gradients of a complex network on all ranks are those of one process on the whole batch") {
    compare_with_every_option<ComplexNet>();
}

TEST_CASE("a bucket has one scalar type, and small capacities make several buckets") {
    auto const group = group_of_test();
    DistributedDataParallel mixed(ComplexNet(), group);
    CHECK(mixed.bucket_count() == 2);
    DistributedDataParallel one(ConvNet(), group);
    CHECK(one.bucket_count() == 1);
    DistributedDataParallel several(
        ConvNet(), group, {.bucket_cap_mb = 1e-6, .first_bucket_mb = 1e-6});
    CHECK(several.bucket_count() == 6);
    // one capacity alone is that of all buckets
    DistributedDataParallel alone(ConvNet(), group, {.bucket_cap_mb = 1e-6});
    CHECK(alone.bucket_count() == 6);
    DistributedDataParallel first(ConvNet(), group, {.first_bucket_mb = 1e-6});
    CHECK(first.bucket_count() == 2);
}

TEST_CASE("making it gives all ranks the parameters and buffers of rank 0") {
    auto const group = group_of_test();
    xg::manual_seed(static_cast<std::uint64_t>(group.rank()));
    nn::BatchNorm1d<double> norm(3);
    norm.running_mean.fill_(group.rank() + 5.);
    struct Net : nn::Module<Net> {
        nn::Child<nn::Linear<double>> linear{*this, "linear", 3, 3};
        nn::Child<nn::BatchNorm1d<double>> norm{*this, "norm", 3};
        D forward(D const& x) { return norm(linear(x)); }
    } made;
    made.norm.running_mean.fill_(group.rank() + 5.);
    DistributedDataParallel net(made, group);
    CHECK(net.module.norm.running_mean(0).item() == 5.);
    auto const all = group.allgather(net.module.linear.weight.handle_of().detach());
    for (auto const& w : all) CHECK(largest_difference(w, all[0]) == 0);

    // in training, forward begins with the buffers of rank 0, and moments are those of this rank's
    // part
    net.module.norm.running_mean.fill_(group.rank() + 5.);
    D const y = net(D({{1., 2., 3.}, {group.rank() * 1., 5., 6.}}));
    D const before = xg::full<double>({3}, 5.);
    D const linear = net.module.linear(D({{1., 2., 3.}, {group.rank() * 1., 5., 6.}})).detach();
    D const expected = 0.9 * before + 0.1 * mean(linear, {0});
    CHECK(largest_difference(net.module.norm.running_mean, expected) < 1e-14);
    sum(y).backward();

    // and in evaluation it does not, so that one rank may evaluate alone
    net.eval();
    if (group.rank() == 0) net(D({{1., 2., 3.}}));
    group.barrier();
}

TEST_CASE("running moments are those of rank 0 with broadcast_buffers, and without it those of "
          "each rank's own parts") {
    auto const group = group_of_test();
    constexpr int steps = 3;
    auto const part = [](int rank, int step) { // both moments differ by rank and step
        return D({{rank + 1. * step}, {3. * rank + 2. * step * step}});
    };
    for (bool const broadcasts : {true, false}) {
        CAPTURE(broadcasts);
        nn::BatchNorm1d<double> made(1);
        made.running_mean.fill_(group.rank() + 5.); // making it gives all those of rank 0: 5
        DistributedDataParallel net(made, group, {.broadcast_buffers = broadcasts});
        for (int step = 0; step < steps; ++step)
            sum(square(net(part(group.rank(), step)))).backward();
        double mean = 5, variance = 1; // of this rank's two values: the unbiased one
        for (int step = 0; step < steps; ++step) {
            int const rank = broadcasts && step + 1 < steps ? 0 : group.rank();
            D const x = part(rank, step);
            double const a = x.data()[0], b = x.data()[1];
            mean = 0.9 * mean + 0.1 * (a + b) / 2;
            variance = 0.9 * variance + 0.1 * (a - b) * (a - b) / 2;
        }
        CHECK(net.module.running_mean(0).item() == doctest::Approx(mean).epsilon(1e-14));
        CHECK(net.module.running_var(0).item() == doctest::Approx(variance).epsilon(1e-14));
        CHECK(net.module.num_batches_tracked.item() == steps);

        // so ranks agree in evaluation only after a forward that begins with those of rank 0
        auto const all = group.allgather(D({net.module.running_mean(0).item()}));
        bool const differ = group.size() > 1;
        CHECK((largest_difference(all.back(), all.front()) > 0) == differ);
    }
}

TEST_CASE("gradients add up under no_sync() and are reduced once by the pass after it") {
    auto const group = group_of_test();
    for (bool const views : {false, true}) {
        xg::manual_seed(3);
        DistributedDataParallel net(ConvNet(), group, {.gradient_as_bucket_view = views});
        ConvNet whole = net.module.clone(), local = net.module.clone();
        D const x = ConvNet::input(), mine = part_of(x, group);
        for (int round = 0; round < 2; ++round) {
            net.zero_grad(), whole.zero_grad(), local.zero_grad();
            {
                auto const off = net.no_sync();
                ConvNet::loss(net, mine).backward();
                ConvNet::loss(net, mine).backward();
            }
            for (int i = 0; i < 2; ++i) ConvNet::loss(local, mine).backward();
            check_gradients(net.module, local, 1e-14);
            ConvNet::loss(net, mine).backward();
            for (int i = 0; i < 3; ++i) ConvNet::loss(whole, x).backward();
            check_gradients(net.module, whole, 1e-12);
        }
    }
}

TEST_CASE("the scope of no_sync() can be kept in an object, and scopes may end in any order") {
    auto const group = group_of_test();
    DistributedDataParallel net(nn::Linear<double>(1, 1), group);
    D const mine({{group.rank() + 1.}});
    auto const grad = [&] {
        net.zero_grad();
        sum(net(mine)).backward();
        return net.module.weight.grad().item();
    };
    auto off = std::optional(net.no_sync());
    CHECK(grad() == group.rank() + 1.);
    auto second = std::optional(net.no_sync());
    off.reset();
    CHECK(grad() == group.rank() + 1.);
    second.reset();
    CHECK(grad() == doctest::Approx((group.size() + 1) / 2.).epsilon(1e-15));
}

TEST_CASE("gradients that are kept from step to step add up as the means do") {
    auto const group = group_of_test();
    for (bool const views : {false, true}) {
        xg::manual_seed(3);
        DistributedDataParallel net(LstmNet(), group, {.gradient_as_bucket_view = views});
        LstmNet whole = net.module.clone();
        D const x = LstmNet::input();
        for (int i = 0; i < 3; ++i) {
            LstmNet::loss(net, part_of(x, group)).backward();
            LstmNet::loss(whole, x).backward();
            check_gradients(net.module, whole, 1e-12);
        }
    }
}

TEST_CASE("a kept graph can be passed again, and its gradients are reduced again") {
    auto const group = group_of_test();
    xg::manual_seed(3);
    DistributedDataParallel net(ConvNet(), group);
    ConvNet whole = net.module.clone();
    D const x = ConvNet::input(), loss = ConvNet::loss(net, part_of(x, group)),
            theirs = ConvNet::loss(whole, x);
    for (auto const* l : {&loss, &theirs}) {
        l->backward({.retain_graph = true});
        l->backward();
    }
    check_gradients(net.module, whole, 1e-12);
}

TEST_CASE("parameters that are unused on some ranks get the mean with zeros, and those unused on "
          "all stay as they are") {
    auto const group = group_of_test();
    for (bool const views : {false, true}) {
        xg::manual_seed(4);
        DistributedDataParallel net(
            Branches(), group, {.find_unused_parameters = true, .gradient_as_bucket_view = views});
        Branches local = net.module.clone();
        D const x = xg::ones({1, 2});
        net.module.never.weight.set_grad(xg::full<double>({1, 3}, 7.));
        for (int round = 0; round < 2; ++round) {
            net.module.common.zero_grad(), net.module.left.zero_grad(),
                net.module.right.zero_grad(), local.zero_grad();
            bool const left_branch = (group.rank() + round) % 2 == 0;
            sum(net(x, left_branch)).backward();
            // every rank knows what all of them did
            std::vector<D> weights;
            double const n = group.size();
            for (int r = 0; r < group.size(); ++r)
                sum(local(x, (r + round) % 2 == 0) / n).backward();
            check_gradients(net.module.common, local.common, 1e-14);
            for (auto const& [ours, theirs] : {std::pair(&net.module.left, &local.left),
                     std::pair(&net.module.right, &local.right)}) {
                REQUIRE(ours->weight.grad().defined() == theirs->weight.grad().defined());
                if (theirs->weight.grad().defined()) check_gradients(*ours, *theirs, 1e-14);
            }
            CHECK(largest_difference(
                      net.module.never.weight.grad(), xg::full<double>({1, 3}, 7.)) == 0);
            CHECK_FALSE(net.module.never.bias.grad().defined());
        }
    }
}

TEST_CASE("with static_graph the first forward decides which parameters are unused") {
    auto const group = group_of_test();
    xg::manual_seed(4);
    DistributedDataParallel net(Branches(), group, {.static_graph = true});
    Branches local = net.module.clone();
    for (int round = 0; round < 3; ++round) {
        sum(net(xg::ones({1, 2}), true)).backward();
        sum(local(xg::ones({1, 2}), true)).backward();
        check_gradients(net.module.common, local.common, 1e-14);
        check_gradients(net.module.left, local.left, 1e-14);
        CHECK_FALSE(net.module.right.weight.grad().defined());
    }
}

TEST_CASE("parameters that are unused and were not looked for stop the next forward, with their "
          "names, on all ranks") {
    auto const group = group_of_test();
    auto const message = message_of([&] {
        DistributedDataParallel net(Branches(), group);
        sum(net(xg::ones({1, 2}), true)).backward();
        net(xg::ones({1, 2}), true);
    });
    CHECK(contains(message,
        "Expected to have finished reduction in the prior iteration before starting a new one."));
    CHECK(contains(message, "'right.weight', 'right.bias', 'never.weight', 'never.bias'"));
    CHECK(contains(message, "find_unused_parameters = true"));
}

TEST_CASE("two passes that share a forward and meet in a parameter are refused") {
    auto const group = group_of_test();
    auto const message = message_of([&] {
        DistributedDataParallel net(Branches(), group);
        D const left = net(xg::ones({1, 2}), true);
        sum(left).backward({.retain_graph = true});
        sum(left).backward();
    });
    CHECK(contains(message, "Expected to mark a variable ready only once: parameter '"));
}

TEST_CASE("create_graph is refused where gradients are reduced, and works under no_sync() and by "
          "grad()") {
    auto const group = group_of_test();
    DistributedDataParallel net(ConvNet(), group);
    D const x = ConvNet::input();
    auto const before = xg::set_warning_handler([](auto const&) {});
    CHECK_THROWS_WITH_AS(ConvNet::loss(net, x).backward({.create_graph = true}),
        doctest::Contains("would differentiate gradients before they are reduced over the ranks"),
        xg::GraphError);
    net.zero_grad();
    {
        auto const off = net.no_sync();
        ConvNet::loss(net, x).backward({.create_graph = true});
    }
    xg::set_warning_handler(before);
    net.zero_grad();
    D const w = net.module.last.weight.handle_of();
    D const local = xg::grad(ConvNet::loss(net, part_of(x, group)), w);
    ConvNet alone = net.module.clone();
    ConvNet::loss(alone, part_of(x, group)).backward();
    CHECK(largest_difference(local, alone.last.weight.grad()) < 1e-14);
}

TEST_CASE("hooks of tensors and modules fire as without it, before gradients are reduced") {
    auto const group = group_of_test();
    auto const fired = [&](auto& called, ConvNet& net) {
        std::vector<std::string> all;
        net.first.weight.register_hook([&](D const&) { all.push_back("tensor"); });
        net.first.weight.register_post_accumulate_grad_hook(
            [&](D const&) { all.push_back("accumulated"); });
        net.second.register_forward_hook(
            [&](auto&, auto const&, auto const&) { all.push_back("forward"); });
        net.second.register_full_backward_hook(
            [&](auto&, auto const&, auto const&) { all.push_back("backward"); });
        ConvNet::loss(called, part_of(ConvNet::input(), group)).backward();
        return all;
    };
    xg::manual_seed(3);
    DistributedDataParallel net(ConvNet(), group);
    ConvNet alone = net.module.clone();
    auto const here = fired(net, net.module), there = fired(alone, alone);
    CHECK(here == std::vector<std::string>{"forward", "backward", "tensor", "accumulated"});
    CHECK(here == there);

    // what a tensor hook does to its gradient is reduced
    net.zero_grad();
    net.module.last.bias.register_hook(
        [&](D const& g) { return xg::full<double>(g.shape(), group.rank() + 1.); });
    ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
    CHECK(net.module.last.bias.grad()(0).item() ==
          doctest::Approx((group.size() + 1) / 2.).epsilon(1e-15));
}

TEST_CASE("a rank whose input ends earlier takes part in the passes of the others") {
    auto const group = group_of_test();
    for (bool const divides_by_all : {true, false}) {
        xg::manual_seed(5);
        DistributedDataParallel net(ConvNet(), group);
        ConvNet alone = net.module.clone();
        xg::optim::SGD ours(net.parameters(), {.lr = 0.1}), theirs(alone.parameters(), {.lr = 0.1});
        D const x = ConvNet::input();
        auto const batch = [&](int r, int step) {
            return x(xg::slice(2 * r + step, 2 * r + step + 2));
        };
        // rank r has r + 1 batches
        net.join(
            [&] {
                for (int step = 0; step <= group.rank(); ++step) {
                    ours.zero_grad();
                    ConvNet::loss(net, batch(group.rank(), step)).backward();
                    ours.step();
                }
            },
            {.divide_by_initial_world_size = divides_by_all});
        for (int step = 0; step < group.size(); ++step) {
            theirs.zero_grad();
            double const n = divides_by_all ? group.size() : group.size() - step;
            for (int r = step; r < group.size(); ++r)
                D(ConvNet::loss(alone, batch(r, step)) / n).backward();
            theirs.step();
        }
        auto const a = net.module.parameters(), b = alone.parameters();
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(largest_difference(a[i], b[i]) < 1e-12);
    }
}

TEST_CASE("a state that one rank has loaded reaches all, and the names of its entries are those of "
          "the module") {
    auto const group = group_of_test();
    xg::manual_seed(6);
    DistributedDataParallel net(ConvNet(), group);
    ConvNet other;
    if (group.rank() == 0) net.module.load_state_dict(other.state_dict());
    net.broadcast_state();
    auto const all = group.allgather(net.module.first.weight.handle_of().detach());
    for (auto const& w : all) CHECK(largest_difference(w, all[0]) == 0);
    CHECK(net.state_dict().contains("module.first.weight"));
    CHECK(net.module.state_dict().contains("first.weight"));
}

TEST_CASE("a copy is a module of the same group with parameters of its own") {
    auto const group = group_of_test();
    DistributedDataParallel net(ConvNet(), group);
    auto copy = net.clone();
    ConvNet whole = net.module.clone();
    ConvNet::loss(copy, part_of(ConvNet::input(), group)).backward();
    ConvNet::loss(whole, ConvNet::input()).backward();
    check_gradients(copy.module, whole, 1e-12);
    CHECK_FALSE(net.module.first.weight.grad().defined());
}

TEST_CASE("ranks whose modules differ hear which parameter it is") {
    auto const group = group_of_test();
    if (group.size() == 1) return;
    bool const other = group.rank() == 1;
    auto const message = message_of(
        [&] { DistributedDataParallel net(nn::Linear<double>(3, other ? 4 : 2), group); });
    CHECK(contains(message, "broadcast of parameter 'weight' (float64 [2, 3], from rank 0)"));
    CHECK(
        contains(message, "rank 1: broadcast of parameter 'weight' (float64 [4, 3], from rank 0)"));
    auto const fewer = message_of(
        [&] { DistributedDataParallel net(nn::Linear<double>(3, 2, !other), group_of_test()); });
    CHECK(contains(fewer, "broadcast of parameter 'bias' (float64 [2], from rank 0)"));
    CHECK(contains(fewer, "rank 1: barrier"));
}

TEST_CASE("the text of an exception in a tensor hook reaches the other ranks") {
    auto const group = group_of_test();
    if (group.size() == 1) return;
    auto const message = message_of([&] {
        DistributedDataParallel net(ConvNet(), group);
        if (group.rank() == 1)
            net.module.second.weight.register_hook(
                [](D const&) { throw xg::Error("no such layer"); });
        ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
    });
    CHECK(message == (group.rank() == 1 ? "no such layer" : "rank 1 stopped: no such layer"));
}

TEST_CASE("an exception in the backward pass of one rank stops the others") {
    auto const group = group_of_test();
    if (group.size() == 1) return;
    auto const pass =
        [&] { // with what makes the module: others may still be in there when rank 1 stops
            DistributedDataParallel net(ConvNet(), group);
            if (group.rank() == 1)
                net.module.first.weight.register_hook(
                    [](D const&) { throw std::string("in a tensor hook"); });
            ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
        };
    if (group.rank() == 1) CHECK_THROWS_AS(pass(), std::string);
    else CHECK(message_of(pass) == "rank 1 stopped: an exception ended its backward pass");
}
