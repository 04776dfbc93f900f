// Data parallel training: what the wrapper costs on one rank, what is hidden behind the backward
// pass, bytes and time by communication hook, scaling, and what larger clusters would do by a
// model.
//
// usage: mpirun -n 2 bench_distributed [repetitions [progress interval in us]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <xgrad/distributed.hpp>
#include <xgrad/optim.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace dist = xg::distributed;
using F = xg::Tensor<float>;
using Labels = xg::Tensor<std::int64_t>;

namespace {

/// The network of examples/digits.
struct Block : nn::Module<Block> {
    nn::Child<nn::Conv2d<float>> conv;
    nn::Child<nn::BatchNorm2d<float>> norm;
    Block(std::size_t in, std::size_t out)
        : conv(*this, "conv", in, out, 3, {.padding = 1, .bias = false}), norm(*this, "norm", out) {
    }
    F forward(F const& x) { return relu(norm(conv(x))); }
};
struct ConvNet : nn::Module<ConvNet> {
    nn::Child<Block> first{*this, "first", 1, 16}, second{*this, "second", 16, 32},
        third{*this, "third", 32, 32};
    nn::Child<nn::MaxPool2d> pool{*this, "pool", 2};
    nn::Child<nn::Linear<float>> last{*this, "last", 128, 10};
    F forward(F const& x) {
        return last(nn::functional::flatten(pool(third(pool(second(first(x)))))));
    }
    static F input(std::size_t batch) { return xg::rand<float>({batch, 1, 8, 8}); }
};
/// 4.2 million parameters, 17 MB of gradients.
struct Perceptron : nn::Module<Perceptron> {
    nn::Child<nn::Linear<float>> first{*this, "first", 1024, 1024},
        second{*this, "second", 1024, 1024}, third{*this, "third", 1024, 1024},
        fourth{*this, "fourth", 1024, 1024}, last{*this, "last", 1024, 10};
    F forward(F const& x) {
        F const a = relu(first(x)), b = relu(second(a)), c = relu(third(b)), d = relu(fourth(c));
        return last(d);
    }
    static F input(std::size_t batch) { return xg::rand<float>({batch, 1024}); }
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
/// Seconds of forward, backward and step; a call is one step.
template <class Net> std::function<double()> steps_of(Net& net, F const& x) {
    auto labels = Labels::empty({x.shape(0)});
    for (std::size_t i = 0; i < labels.numel(); ++i)
        labels.mutable_data()[i] = static_cast<std::int64_t>((7 * i + 3) % 10);
    auto const optimizer =
        std::make_shared<xg::optim::SGD>(net.parameters(), xg::optim::SGDOptions{.lr = 1e-3});
    return [&net, x, labels, optimizer] {
        double const begin = now();
        optimizer->zero_grad();
        F const loss = nn::functional::cross_entropy(net(x), labels);
        loss.backward();
        optimizer->step();
        return now() - begin;
    };
}
/// The smallest times of several routes through a step, which take turns, so that a disturbance
/// meets all alike.
std::vector<double> compare(std::vector<std::function<double()>> const& all, int repetitions) {
    std::vector<std::vector<double>> times(all.size());
    for (int r = -2; r < repetitions; ++r)
        for (std::size_t k = 0; k < all.size(); ++k) {
            double const t = all[k]();
            if (r >= 0) times[k].push_back(t);
        }
    std::vector<double> smallest;
    for (auto const& t : times) smallest.push_back(std::ranges::min(t));
    return smallest;
}

double slowest(dist::ProcessGroup const& group, double seconds) {
    xg::Tensor<double> t({seconds});
    group.allreduce(t, dist::Reduction::max);
    return t.item();
}

struct Link {
    double latency, bandwidth; // seconds, bytes in a second
};
Link measure(dist::ProcessGroup const& group, int repetitions) {
    auto const time = [&](std::size_t elements) {
        F const t = xg::zeros<float>({elements});
        std::vector<double> all;
        for (int r = 0; r < repetitions; ++r) {
            double const begin = now();
            group.allreduce(t);
            all.push_back(now() - begin);
        }
        return slowest(group, std::ranges::min(all));
    };
    double const small = time(1), large = time(1 << 22);
    return {small, 4. * (1 << 22) / large};
}

/// How much of an allreduce is left after a time in which nobody calls the group and the processor
/// is idle, as while a device computes.
void left_after_idle_time(dist::ProcessGroup const& group, int repetitions) {
    constexpr std::chrono::milliseconds idle(30);
    F const t = xg::zeros<float>({1 << 22});
    std::vector<double> all, left;
    for (int r = 0; r < repetitions; ++r) {
        group.barrier();
        double begin = now();
        group.allreduce(t);
        all.push_back(now() - begin);
        group.barrier();
        auto const sum = group.allreduce_async(t);
        std::this_thread::sleep_for(idle);
        begin = now();
        sum.wait();
        left.push_back(now() - begin);
    }
    double const whole = slowest(group, std::ranges::min(all)),
                 rest = slowest(group, std::ranges::min(left));
    if (group.rank() == 0)
        std::printf("allreduce of 16 MB %.2f ms; after 30 ms of sleep %.2f ms of it are left\n",
            1e3 * whole, 1e3 * rest);
}

void overhead_on_one_rank(int repetitions) {
    dist::ProcessGroup const alone(MPI_COMM_SELF);
    F const x = ConvNet::input(32);
    ConvNet net;
    dist::DistributedDataParallel wrapped(net, alone),
        views(net, alone, {.gradient_as_bucket_view = true});
    auto const t =
        compare({steps_of(net, x), steps_of(wrapped, x), steps_of(views, x)}, 40 * repetitions);
    std::printf(
        "one rank, step of the digits' ConvNet (batch 32): alone %.1f us, wrapped %+.1f %%, with "
        "gradient_as_bucket_view %+.1f %%\n",
        1e6 * t[0], 100 * (t[1] / t[0] - 1), 100 * (t[2] / t[0] - 1));
}

struct Hidden {
    double compute, wrapped, bytes;
};
/// How much of the communication is not seen.
Hidden hidden_share(dist::ProcessGroup const& group, int repetitions) {
    F const x = Perceptron::input(64);
    Perceptron net;
    dist::DataParallelOptions const options{.bucket_cap_mb = 4};
    dist::DistributedDataParallel wrapped(net, group, options), silent(net, group, options),
        later(net, group, options);
    silent.register_comm_hook(group, dist::noop_hook);
    later.register_comm_hook(group, [](dist::ProcessGroup& g, dist::GradBucket& bucket) {
        // begins when the pass has ended and waits: nothing is hidden
        return dist::Future<dist::GradBucket*>::of(&bucket).then(
            [&g](dist::GradBucket* b) { return dist::allreduce_hook(g, *b); });
    });
    auto const t =
        compare({steps_of(silent, x), steps_of(wrapped, x), steps_of(later, x)}, repetitions);
    double const compute = slowest(group, t[0]), with = slowest(group, t[1]),
                 after = slowest(group, t[2]);
    double const bytes = 4. * static_cast<double>(net.parameter_count());
    if (group.rank() == 0)
        std::printf("perceptron with %.1f MB of gradients (batch 64 a rank): step without "
                    "communication %.1f ms, after the pass %.1f "
                    "ms, during it %.1f ms: %.0f %% hidden\n",
            bytes / 1e6, 1e3 * compute, 1e3 * after, 1e3 * with,
            after > compute ? 100 * std::clamp((after - with) / (after - compute), 0., 1.) : 0.);
    return {compute, with, bytes};
}

void hooks(dist::ProcessGroup const& group, int repetitions) {
    F const x = Perceptron::input(64);
    Perceptron net;
    double const elements = static_cast<double>(net.parameter_count());
    if (group.rank() == 0) std::printf("%-22s %12s %10s\n", "hook", "MB to MPI", "ms a step");
    auto const row = [&](char const* name, auto state, auto hook, std::function<double()> bytes) {
        dist::DistributedDataParallel wrapped(net, group);
        wrapped.register_comm_hook(state, hook);
        auto const step = steps_of(wrapped, x);
        double const t = slowest(group, compare({step}, repetitions)[0]), before = bytes();
        step();
        if (group.rank() == 0)
            std::printf("%-22s %12.2f %10.1f\n", name, (bytes() - before) / 1e6, 1e3 * t);
    };
    auto const constant = [&](double each) { // counts the calls: what a step gives
        return [each, elements, calls = 0]() mutable { return each * elements * calls++; };
    };
    row("allreduce", group, dist::allreduce_hook, constant(4));
    row("fp16_compress", group, dist::fp16_compress_hook, constant(2));
    row("bf16_compress", group, dist::bf16_compress_hook, constant(2));
    row("quantize", group, dist::quantize_hook, constant(1));
    dist::PowerSGDState state(group, {.matrix_approximation_rank = 4, .start_powerSGD_iter = 2});
    row("powerSGD, rank 4", std::ref(state), dist::powerSGD_hook,
        [&] { return state.bytes_sent(); });
    row("noop", group, dist::noop_hook, constant(0));
}

void scaling(dist::ProcessGroup const& group, int repetitions) {
    dist::ProcessGroup const alone(MPI_COMM_SELF);
    std::size_t const batch = 240;
    ConvNet net;
    double single = 0;
    group.run_on(0, [&] {
        dist::DistributedDataParallel one(net, alone);
        single = compare({steps_of(one, ConvNet::input(batch))}, repetitions)[0];
    });
    dist::DistributedDataParallel all(net, group);
    auto const ranks = static_cast<std::size_t>(group.size());
    double const t =
        slowest(group, compare({steps_of(all, ConvNet::input(batch / ranks))}, repetitions)[0]);
    if (group.rank() == 0)
        std::printf("scaling, ConvNet with batch %zu in all: one rank %.2f ms, %zu ranks %.2f ms: "
                    "%.2f times as fast\n",
            batch, 1e3 * single, ranks, 1e3 * t, single / t);
}

/// Weak scaling by a model: a ring moves 2 (N - 1) / N of the bytes; each bucket and its check wait
/// for 2 log2 N messages. Either all of it is seen, or two thirds of a step hide it, but for the
/// last bucket.
void extrapolate(Hidden const& measured) {
    constexpr double bandwidth = 100e9 / 8, latency = 2e-6, buckets = 5;
    std::printf("model of N ranks at 100 Gb/s and 2 us, %.1f MB of gradients in %.0f buckets, %.1f "
                "ms of computing a step; efficiency:\n",
        measured.bytes / 1e6, buckets, 1e3 * measured.compute);
    std::printf("%6s %18s %14s %10s %18s\n", "N", "communication", "nothing hidden", "hidden",
        "fp16, not hidden");
    for (int n : {8, 64, 256, 1024}) {
        double const waits = 2 * 2 * std::log2(n) * latency;
        auto const moves = [&](double bytes) { return 2. * (n - 1) / n * bytes / bandwidth; };
        double const all = moves(measured.bytes) + buckets * waits,
                     last = moves(measured.bytes) / buckets + waits;
        double const seen = std::max(last, all - 2. / 3 * measured.compute);
        auto const efficiency = [&](double visible) {
            return 100 * measured.compute / (measured.compute + visible);
        };
        std::printf("%6d %15.2f ms %13.1f%% %9.1f%% %17.1f%%\n", n, 1e3 * all, efficiency(all),
            efficiency(seen), efficiency(moves(measured.bytes / 2) + buckets * waits));
    }
}

} // namespace

int main(int argc, char** argv) {
    int const repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30,
              interval = argc > 2 ? std::max(0, std::atoi(argv[2])) : 0;
    dist::Environment const mpi(interval ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
    dist::ProcessGroup const group(
        MPI_COMM_WORLD, {.progress_interval = std::chrono::microseconds(interval)});
    xg::manual_seed(1);
    group.run_on(0, [&] { overhead_on_one_rank(repetitions); });
    auto const link = measure(group, repetitions);
    if (group.rank() == 0)
        std::printf("%d ranks: allreduce of one number %.1f us, of 16 MB %.2f GB/s\n", group.size(),
            1e6 * link.latency, link.bandwidth / 1e9);
    left_after_idle_time(group, repetitions);
    auto const measured = hidden_share(group, repetitions);
    hooks(group, std::max(3, repetitions / 3));
    scaling(group, 4 * repetitions);
    if (group.rank() == 0) extrapolate(measured);
}
