#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "models.hpp"

using namespace models;
using dist::DistributedDataParallel;

namespace {

/// Losses of some steps of training with a hook, and the parameters at its end.
template <class Net, class Register>
std::pair<std::vector<double>, std::vector<xg::AnyTensor>> train(Register add_hook, int steps,
    double rate = 0.1, dist::DataParallelOptions const& options = {}) {
    auto const group = group_of_test();
    auto const x = Net::input();
    xg::manual_seed(31);
    DistributedDataParallel net(Net(), group, options);
    add_hook(net, group);
    xg::optim::SGD optimizer(net.parameters(), {.lr = rate});
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        optimizer.zero_grad();
        D const loss = Net::loss(net, part_of(x, group));
        loss.backward();
        optimizer.step();
        D const mean = loss.detach().clone();
        group.allreduce(mean);
        losses.push_back(mean.item() / group.size());
    }
    return {losses, net.module.parameters()};
}

constexpr auto no_hook = [](auto&, auto const&) {};
constexpr double few_bytes = 500. / (1024 * 1024);

/// A matrix of low rank and one of full rank, whose gradients are what the input says.
template <xg::Scalar T> struct Matrices : nn::Module<Matrices<T>> {
    nn::Parameter<T> low{*this, "low", xg::zeros<T>({12, 10})},
        full{*this, "full", xg::zeros<T>({12, 10})}, vector{*this, "vector", xg::zeros<T>({7})};
    D forward(xg::Tensor<T> const& a, xg::Tensor<T> const& b, xg::Tensor<T> const& c) {
        if constexpr (xg::RealScalar<T>) return sum(low * a) + sum(full * b) + sum(vector * c);
        else
            return sum(real(low * conj(a))) + sum(real(full * conj(b))) +
                   sum(real(vector * conj(c)));
    }
};

template <xg::Scalar T> void check_power_sgd() {
    auto const group = group_of_test();
    dist::PowerSGDState state(group, {.matrix_approximation_rank = 1, .start_powerSGD_iter = 2});
    DistributedDataParallel net(Matrices<T>(), group);
    net.register_comm_hook(std::ref(state), dist::powerSGD_hook);
    xg::manual_seed(5);
    xg::Tensor<T> const u = xg::randn<T>({12, 1}), v = xg::randn<T>({1, 10}),
                        b = xg::randn<T>({12, 10}), c = xg::randn<T>({7});
    auto const mine = static_cast<xg::precision_of<T>>(group.rank() + 1),
               average = static_cast<xg::precision_of<T>>(group.size() + 1) / 2;
    xg::Tensor<T> const low = mine * matmul(u, v), full = mine * b, vector = mine * c;
    xg::Tensor<T> low_sum = xg::zeros<T>({12, 10}), full_sum = low_sum.clone();
    double error_at_first = 0;
    int const passes = 40;
    for (int pass = 0; pass < 2 + passes; ++pass) {
        net.zero_grad();
        net(low, full, vector).backward();
        CHECK(largest_difference(net.module.vector.grad(), xg::Tensor<T>(average * c)) < 1e-12);
        auto const error = largest_difference(net.module.full.grad(), xg::Tensor<T>(average * b));
        if (pass < 2) CHECK(error < 1e-12);
        else {
            // a matrix of rank 1 is exact at once; the other one never is, but error feedback adds
            // what one pass leaves out in later ones
            CHECK(largest_difference(net.module.low.grad(), xg::Tensor<T>(average * matmul(u, v))) <
                  1e-10);
            if (pass == 2) error_at_first = error;
            CHECK(error > 1e-3);
            full_sum += net.module.full.grad();
        }
    }
    auto const mean_error =
        largest_difference(xg::Tensor<T>(full_sum / static_cast<xg::precision_of<T>>(passes)),
            xg::Tensor<T>(average * b));
    CHECK(mean_error < 0.35 * error_at_first);
    double const all = 2 * 120 + 7, sent = 2 * (12 + 10) + 7;
    CHECK(state.bytes_of_gradients() == (2 + passes) * all * sizeof(T));
    CHECK(state.bytes_sent() == (2 * all + passes * sent) * sizeof(T));
}

} // namespace

TEST_CASE("training with allreduce_hook is bit for bit that without a hook") {
    auto const check = []<class Net>(Net const&) {
        auto const with = train<Net>(
                       [](auto& net, auto const& group) {
                           net.register_comm_hook(group, dist::allreduce_hook);
                       },
                       6),
                   without = train<Net>(no_hook, 6);
        CHECK(with.first == without.first);
        for (std::size_t i = 0; i < with.second.size(); ++i)
            CHECK(largest_difference(with.second[i], without.second[i]) == 0);
    };
    check(ConvNet());
    check(LstmNet());
    check(ComplexNet());
}

TEST_CASE("a hook is called once for each bucket and pass, in order, and not under no_sync()") {
    auto const group = group_of_test();
    DistributedDataParallel net(
        ConvNet(), group, {.bucket_cap_mb = few_bytes, .first_bucket_mb = few_bytes});
    std::vector<std::size_t> indices;
    std::vector<bool> last;
    net.register_comm_hook(group, [&](dist::ProcessGroup& g, dist::GradBucket& bucket) {
        indices.push_back(bucket.index());
        last.push_back(bucket.is_last());
        auto const gradients = bucket.gradients();
        auto const& parameters = bucket.parameters();
        std::size_t elements = 0;
        REQUIRE(gradients.size() == parameters.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            CHECK(gradients[i].shape() == parameters[i].shape());
            CHECK(largest_difference(gradients[i], grad_of(parameters[i])) == 0);
            elements += gradients[i].numel();
        }
        CHECK(bucket.buffer().shape() == xg::Shape{elements});
        return dist::allreduce_hook(g, bucket);
    });
    for (int pass = 0; pass < 2; ++pass) {
        indices.clear(), last.clear();
        net.zero_grad();
        ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
        REQUIRE(indices.size() == net.bucket_count());
        CHECK(indices.size() > 1);
        for (std::size_t i = 0; i < indices.size(); ++i) {
            CHECK(indices[i] == i);
            CHECK(last[i] == (i + 1 == indices.size()));
        }
    }
    indices.clear();
    auto const off = net.no_sync();
    ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
    CHECK(indices.empty());
}

TEST_CASE(
    "what the future of a hook gives becomes the gradients, whether in the buffer or elsewhere") {
    auto const group = group_of_test();
    for (bool const views : {false, true})
        for (int kind = 0; kind < 2; ++kind) {
            DistributedDataParallel net(LstmNet(), group, {.gradient_as_bucket_view = views});
            net.register_comm_hook(kind, [](int& k, dist::GradBucket& bucket) {
                if (k == 0)
                    return dist::Future<xg::AnyTensor>::of(
                        xg::full<double>(bucket.buffer().shape(), 3.));
                for (auto const& g : bucket.gradients()) g.as<double>().fill_(4.);
                return dist::Future<xg::AnyTensor>::of(bucket.buffer());
            });
            LstmNet::loss(net, part_of(LstmNet::input(), group)).backward();
            for (auto const& p : net.module.parameters())
                CHECK(largest_difference(grad_of(p), xg::full<double>(p.shape(), 3. + kind)) == 0);
        }
}

TEST_CASE("a hook is registered once, before the first pass, and gives a tensor like the buffer") {
    auto const group = group_of_test();
    DistributedDataParallel net(LstmNet(), group);
    net.register_comm_hook(group, dist::noop_hook);
    CHECK_THROWS_WITH(net.register_comm_hook(group, dist::noop_hook),
        "register_comm_hook or register_builtin_comm_hook can only be called once.");
    DistributedDataParallel late(LstmNet(), group);
    LstmNet::loss(late, part_of(LstmNet::input(), group)).backward();
    CHECK_THROWS_WITH(late.register_comm_hook(group, dist::noop_hook),
        doctest::Contains("must be registered before the first forward"));

    auto const message = message_of([&] {
        DistributedDataParallel wrong(nn::Linear<double>(2, 1), group_of_test());
        wrong.register_comm_hook(0, [](int&, dist::GradBucket&) {
            return dist::Future<xg::AnyTensor>::of(xg::ones<float>({3}));
        });
        sum(wrong(xg::ones({1, 2}))).backward();
    });
    CHECK(
        contains(message, "a communication hook gave [float32 [3]] for a bucket of [float64 [3]]"));
}

TEST_CASE(
    "an exception in a hook, or in a function after it, reaches its rank and stops the others") {
    auto const group = group_of_test();
    for (bool const later : {false, true}) {
        auto const hook = [later](dist::ProcessGroup& g, dist::GradBucket& bucket) {
            bool const fails = g.rank() == g.size() - 1;
            if (fails && !later) throw xg::ShapeError("the hook's own error");
            return dist::allreduce_hook(g, bucket).then([fails](xg::AnyTensor const& t) {
                if (fails) throw xg::ShapeError("the hook's own error");
                return t;
            });
        };
        auto const pass =
            [&] { // with what makes the module: others may still be in there when a rank stops
                DistributedDataParallel net(ConvNet(), group_of_test());
                net.register_comm_hook(net.group(), hook);
                ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
                net.group().barrier();
            };
        if (group.rank() == group.size() - 1) CHECK_THROWS_AS(pass(), xg::ShapeError);
        else
            CHECK(message_of(pass) ==
                  "rank " + std::to_string(group.size() - 1) + " stopped: the hook's own error");
    }
}

TEST_CASE("noop_hook keeps the gradients of each rank") {
    auto const group = group_of_test();
    DistributedDataParallel net(ComplexNet(), group);
    net.register_comm_hook(group, dist::noop_hook);
    ComplexNet alone = net.module.clone();
    ComplexNet::loss(net, part_of(ComplexNet::input(), group)).backward();
    ComplexNet::loss(alone, part_of(ComplexNet::input(), group)).backward();
    check_gradients(net.module, alone, 0);
}

TEST_CASE("float16 and bfloat16 round to the nearest, and know infinities, NaN and what is below "
          "the normal numbers") {
    using Half = dist::detail::Float16;
    using Brain = dist::detail::BFloat16;
    CHECK(Half::encode(1.f) == 0x3c00);
    CHECK(Half::encode(-2.f) == 0xc000);
    CHECK(Half::encode(65504.f) == 0x7bff);
    CHECK(Half::encode(65519.f) == 0x7bff);
    CHECK(Half::encode(65520.f) == 0x7c00);
    CHECK(Half::encode(0x1p-24f) == 1);
    CHECK(Half::encode(0x1p-25f) == 0);          // a tie, to even
    CHECK(Half::encode(0x1.8p-24f) == 2);        // a tie, to even
    CHECK(Half::encode(1 + 0x1p-11f) == 0x3c00); // a tie, to even
    CHECK(Half::encode(1 + 0x1.8p-10f) == 0x3c02);
    CHECK(Brain::encode(1.f) == 0x3f80);
    CHECK(Brain::encode(1 + 0x1p-8f) == 0x3f80);
    CHECK(Brain::encode(-std::numeric_limits<float>::infinity()) == 0xff80);
    CHECK(std::isnan(Half::decode(Half::encode(std::nanf("")))));
    CHECK(std::isnan(Brain::decode(Brain::encode(std::nanf("")))));
    // all numbers of both formats survive
    for (std::uint32_t h = 0; h < 0x10000; ++h) {
        auto const code = static_cast<std::uint16_t>(h);
        if (!std::isnan(Half::decode(code)) && Half::encode(Half::decode(code)) != code) FAIL(h);
        if (!std::isnan(Brain::decode(code)) && Brain::encode(Brain::decode(code)) != code) FAIL(h);
    }
}

TEST_CASE(
    "compressing hooks give the mean within the precision of what they send, real and complex") {
    auto const group = group_of_test();
    auto const check = [&]<class Net>(Net const&, auto hook, double relative) {
        xg::manual_seed(8);
        DistributedDataParallel net(Net(), group);
        Net whole = net.module.clone();
        net.register_comm_hook(group, hook);
        Net::loss(net, part_of(Net::input(), group)).backward();
        Net::loss(whole, Net::input()).backward();
        double largest = 0, error = 0;
        auto const ours = net.module.parameters(), theirs = whole.parameters();
        for (std::size_t i = 0; i < ours.size(); ++i) {
            auto const zero = xg::AnyTensor(ours[i].impl().type->filled(ours[i].shape(), 0));
            largest = std::max(largest, largest_difference(grad_of(theirs[i]), zero));
            error = std::max(error, largest_difference(grad_of(ours[i]), grad_of(theirs[i])));
        }
        CHECK(error < relative * largest);
        CHECK(error > 0); // it was compressed
        auto const all = group.allgather(group.rank() == 0 ? D({error}) : D({error}));
        for (auto const& e : all) CHECK(e.item() == error); // all ranks have the same
    };
    auto const check_all = [&](auto hook, double relative) {
        check(ConvNet(), hook, relative);
        check(ComplexNet(), hook, relative);
    };
    check_all(dist::fp16_compress_hook, 4e-3);
    check_all(dist::bf16_compress_hook, 3e-2);
    check_all(dist::quantize_hook, 3e-2);
    check_all(dist::float32_compress_wrapper(dist::allreduce_hook), 1e-6);
    check_all(dist::float32_compress_wrapper(dist::fp16_compress_hook), 4e-3);
    check_all(dist::fp16_compress_wrapper(dist::allreduce_hook), 4e-3);
    check_all(dist::bf16_compress_wrapper(dist::allreduce_hook), 3e-2);
    check_all(
        dist::float32_compress_wrapper(dist::bf16_compress_wrapper(dist::allreduce_hook)), 3e-2);
}

TEST_CASE("a 16-bit wrapper rounds what a hook sends, also in functions that follow, and nothing "
          "else") {
    auto const group = group_of_test();
    double const n = group.size();
    // each rank has the gradient 1; the second sum is that of 1 + more
    auto const gradient = [&](auto wrapper, double more) {
        DistributedDataParallel net(nn::Linear<double>(1, 1, {.bias = false}), group);
        net.register_comm_hook(
            group, wrapper([more](dist::ProcessGroup& g, dist::GradBucket& bucket) {
                return g.allreduce_async(bucket.buffer()).then([g, more](xg::AnyTensor const& sum) {
                    return g.allreduce_async(D(sum.as<double>() / g.size() + more));
                });
            }));
        sum(net(D({{1.}}))).backward();
        D const other({1. + more});
        group.allreduce(other);
        CHECK(other(0).item() == n * (1. + more));
        return net.module.weight.grad().item();
    };
    auto const none = [](auto hook) { return hook; };
    auto const half = [](auto hook) { return dist::fp16_compress_wrapper(hook); };
    auto const brain = [](auto hook) { return dist::bf16_compress_wrapper(hook); };
    CHECK(gradient(none, 0x1p-14) == n * (1 + 0x1p-14));
    CHECK(gradient(half, 0x1p-14) == n); // 10 bits of fraction
    CHECK(gradient(brain, 0x1p-14) == n);
    if (n == 1) CHECK(gradient(half, 0x1p-9) == 1 + 0x1p-9);
    CHECK(gradient(brain, 0x1p-9) == n); // 7 bits
}

TEST_CASE(
    "all operations of a group send 16 bits in a wrapper, and the products of complex numbers "
    "do not") {
    auto const group = group_of_test();
    double const n = group.size(), inexact = 1 + 0x1p-14;
    bool called = false;
    auto const hook = [&](dist::ProcessGroup& g, dist::GradBucket& bucket) {
        called = true;
        D const t({inexact});
        g.broadcast(t, g.size() - 1); // all ranks have the same bits, the root too
        CHECK(t(0).item() == 1);
        auto const all = g.allgather(xg::Tensor<float>({static_cast<float>(g.rank() + inexact)}));
        CHECK(all[0](0).item() == 1);
        CHECK(all.back()(0).item() == n);
        C const rows = xg::full<Complex>({2 * all.size()}, Complex(inexact, -inexact));
        CHECK(g.reduce_scatter(rows)(1).item() == Complex(n, -n));
        C const factor({Complex(0, inexact)});
        g.allreduce(factor, dist::Reduction::product);
        CHECK(std::abs(factor(0).item() - std::pow(Complex(0, inexact), n)) < 1e-12);
        D const least({g.rank() + inexact}), greatest({g.rank() + inexact}), product({2 * inexact});
        g.allreduce(least, dist::Reduction::min);
        g.allreduce(greatest, dist::Reduction::max);
        g.allreduce(product, dist::Reduction::product);
        CHECK(least(0).item() == 1);
        CHECK(greatest(0).item() == n);
        CHECK(product(0).item() == std::pow(2., n));
        xg::Tensor<std::int64_t> const count({100001});
        g.allreduce(count);
        CHECK(count(0).item() == 100001 * g.size());
        return dist::noop_hook(g, bucket);
    };
    DistributedDataParallel net(nn::Linear<double>(1, 1), group);
    net.register_comm_hook(group, dist::fp16_compress_wrapper(hook));
    sum(net(D({{1.}}))).backward();
    CHECK(called);
}

TEST_CASE("a hook of one's own sends 8 bits a number") {
    auto const group = group_of_test();
    double const n = group.size();
    auto const hook = [](dist::ProcessGroup& g, dist::GradBucket& bucket) {
        auto const x = bucket.buffer().as<double>();
        std::vector<std::int8_t> signs;
        for (double const v : x.ravel().array()) signs.push_back(v < 0 ? -1 : 1);
        return g.allgather_async(std::move(signs), "the signs")
            .then([](std::vector<std::vector<std::int8_t>> const& all) {
                D mean = xg::zeros<double>({all[0].size()});
                for (auto const& rank : all)
                    for (std::size_t i = 0; i < rank.size(); ++i)
                        mean.mutable_data()[i] += rank[i] / static_cast<double>(all.size());
                return mean;
            });
    };
    DistributedDataParallel net(nn::Linear<double>(2, 1, {.bias = false}), group);
    net.register_comm_hook(group, hook);
    sum(net(D({{group.rank() == 0 ? -3. : 3., 2.}}))).backward();
    D const expected({{(n - 2) / n, 1.}});
    CHECK(largest_difference(net.module.weight.grad(), expected) < 1e-15);
}

TEST_CASE("PowerSGD finds matrices of low rank, and sends later what it has left out") {
    check_power_sgd<double>();
}
TEST_CASE("PowerSGD does the same with complex matrices") { check_power_sgd<Complex>(); }

TEST_CASE(
    "with a warm start PowerSGD finds the best matrix of its rank by and by, without it not") {
    auto const group = group_of_test();
    auto const check = [&]<class T>(T phase) {
        auto const last_error = [&](bool warm) {
            Matrices<T> made;
            DistributedDataParallel net(made, group);
            net.register_comm_hook(dist::PowerSGDState(group, {.matrix_approximation_rank = 1,
                                                                  .start_powerSGD_iter = 2,
                                                                  .use_error_feedback = false,
                                                                  .warm_start = warm}),
                dist::powerSGD_hook);
            // singular values 3 and 2: the best matrix of rank 1 is the first of them alone
            xg::Tensor<T> const zero = xg::zeros<T>({12, 10}), best = xg::zeros<T>({12, 10}),
                                c = xg::zeros<T>({7});
            best(4, 7).fill_(T(3) * phase);
            xg::Tensor<T> const full = best.clone();
            full(0, 1).fill_(T(2));
            for (int pass = 0; pass < 60; ++pass) {
                net.zero_grad();
                net(zero, full, c).backward();
            }
            return largest_difference(net.module.full.grad(), best);
        };
        CHECK(last_error(true) < 1e-12);
        CHECK(last_error(false) > 1e-3);
    };
    check(1.);
    check(Complex(0.6, 0.8));
}

TEST_CASE("PowerSGD finds a matrix of less than its rank, also after passes without a gradient") {
    auto const group = group_of_test();
    auto const check = [&]<class T>(T phase) {
        for (bool const feeds_back : {false, true}) {
            DistributedDataParallel net(Matrices<T>(), group);
            net.register_comm_hook(
                dist::PowerSGDState(group, {.matrix_approximation_rank = 2,
                                               .start_powerSGD_iter = 2,
                                               .use_error_feedback = feeds_back}),
                dist::powerSGD_hook);
            xg::manual_seed(9);
            xg::Tensor<T> const low = phase * matmul(xg::randn<T>({12, 1}), xg::randn<T>({1, 10})),
                                full = xg::zeros<T>({12, 10}), vector = xg::zeros<T>({7});
            for (int pass = 0; pass < 12; ++pass) {
                bool const is_zero = pass < 5; // of them, three are compressed
                net.zero_grad();
                net(is_zero ? full : low, full, vector).backward();
                auto const error = largest_difference(net.module.low.grad(), is_zero ? full : low);
                CAPTURE(pass);
                CHECK(error < 1e-12);
                CHECK(largest_difference(net.module.full.grad(), full) == 0);
            }
        }
    };
    check(1.);
    check(Complex(0.6, 0.8));
}

TEST_CASE("training with PowerSGD reaches the loss of training without it, real and complex, in "
          "several buckets") {
    auto const check = []<class Net>(Net const&, double rate) {
        int const steps = 150;
        auto const add = [](auto& net, auto const& group) {
            net.register_comm_hook(dist::PowerSGDState(group, {.matrix_approximation_rank = 2,
                                                                  .start_powerSGD_iter = 5,
                                                                  .min_compression_rate = 1}),
                dist::powerSGD_hook);
        };
        auto const with = train<Net>(add, steps, rate,
                       {.bucket_cap_mb = few_bytes, .first_bucket_mb = few_bytes}),
                   without = train<Net>(no_hook, steps, rate);
        CHECK(without.first.back() < 0.5 * without.first.front());
        CHECK(with.first.back() < 1.05 * without.first.back() + 1e-3);
        CHECK(with.first != without.first);
    };
    check(ConvNet(), 0.2);
    check(ComplexNet(), 0.02);
}

TEST_CASE("PowerSGD inside of a wrapper, and its options") {
    auto const group = group_of_test();
    dist::PowerSGDState state(group, {.start_powerSGD_iter = 2});
    DistributedDataParallel net(ConvNet(), group);
    net.register_comm_hook(std::ref(state), dist::float32_compress_wrapper(dist::powerSGD_hook));
    for (int pass = 0; pass < 4; ++pass) {
        net.zero_grad();
        ConvNet::loss(net, part_of(ConvNet::input(), group)).backward();
    }
    double const elements = static_cast<double>(net.parameter_count());
    CHECK(state.bytes_of_gradients() == 4 * elements * sizeof(float));
    CHECK(state.bytes_sent() < 0.75 * state.bytes_of_gradients());
    // 16 bits are a quarter of what it sends in double
    dist::PowerSGDState plain(group, {.start_powerSGD_iter = 2}),
        half(group, {.start_powerSGD_iter = 2});
    auto const train = [&](auto& of, auto hook) {
        DistributedDataParallel made(ConvNet(), group);
        made.register_comm_hook(std::ref(of), hook);
        for (int pass = 0; pass < 4; ++pass)
            ConvNet::loss(made, part_of(ConvNet::input(), group)).backward();
    };
    train(plain, dist::powerSGD_hook);
    train(half, dist::bf16_compress_wrapper(dist::powerSGD_hook));
    CHECK(half.bytes_sent() == plain.bytes_sent() / 4);
    CHECK(half.bytes_of_gradients() == plain.bytes_of_gradients());
    CHECK_THROWS_WITH(dist::PowerSGDState(group, {.start_powerSGD_iter = 1}),
        doctest::Contains("Expect `start_powerSGD_iter` > 1"));
    CHECK_THROWS_AS(dist::PowerSGDState(group, {.matrix_approximation_rank = 0}), xg::ShapeError);
}
