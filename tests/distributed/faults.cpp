// What the ranks that are left are told when one of them fails, and that all processes end.
// faults.py runs this with four ranks and a scenario, and once more with a thread in each group;
// each rank that hears of it as it should prints "as expected", and how long that took.
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include <xgrad/distributed.hpp>

namespace xg = xgrad;
namespace dist = xg::distributed;
using D = xg::Tensor<double>;

namespace {

constexpr int culprit = 2;
constexpr std::chrono::milliseconds limit(1500);

struct Net : xg::nn::Module<Net> {
    xg::nn::Child<xg::nn::Linear<double>> first, last;

    explicit Net(std::size_t hidden)
        : first(*this, "first", 4, hidden), last(*this, "last", hidden, 1) {}
    D forward(D const& x) {
        D const h = tanh(first(x));
        return last(h);
    }
};

/// The time limit of the groups. Where a process ends, nobody waits for it.
std::chrono::milliseconds limit_of(std::string_view scenario) {
    return scenario == "killed_long_limit" ? dist::GroupOptions().timeout : limit;
}

/// Ranks 2 and 3 are not in the group that fails.
void let_another_group_fail(dist::ProcessGroup const& group, dist::GroupOptions const& options) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, group.rank() / 2, 0, &half);
    dist::ProcessGroup const other(half, options);
    if (group.rank() == 0) other.barrier();
    if (group.rank() == 1) {
        std::this_thread::sleep_for(2 * limit);
        other.barrier();
    }
}

/// Trains until the scenario happens on rank 2.
void train(std::string_view scenario, dist::ProcessGroup const& group) {
    bool const fails = group.rank() == culprit;
    if (fails && scenario == "never_comes") std::this_thread::sleep_for(4 * limit);
    dist::DistributedDataParallel net(Net(fails && scenario == "other_shapes" ? 9 : 8), group,
        {.bucket_cap_mb = 1e-4, .first_bucket_mb = 1e-4});
    bool armed = false;
    if (fails && scenario == "killed_in_backward")
        net.module.first.weight.register_hook([&](D const&) {
            if (armed) std::raise(SIGKILL);
        });
    if (scenario == "hook_throws")
        net.register_comm_hook(group, [&](dist::ProcessGroup& g, dist::GradBucket& bucket) {
            if (armed && g.rank() == culprit && bucket.index() == 1)
                throw xg::Error("the hook is broken");
            return dist::allreduce_hook(g, bucket);
        });
    for (int step = 0;; ++step) {
        armed = step == 3;
        if (armed && fails) {
            if (scenario.starts_with("killed") && scenario != "killed_in_backward")
                std::raise(SIGKILL);
            if (scenario == "exits") std::_Exit(0);
            if (scenario == "leaves_main") {
                std::this_thread::sleep_for(2 * limit); // the others have given up
                return;
            }
            if (scenario == "stops_coming") std::this_thread::sleep_for(4 * limit);
            if (scenario == "other_order") {
                group.allreduce(xg::ones({3}), dist::Reduction::max, "the best loss");
                group.barrier();
            }
            if (scenario == "tensor_hook_throws")
                net.module.last.weight.register_hook(
                    [](D const&) { throw xg::Error("the hook is broken"); });
            if (scenario == "throws_in_forward") throw xg::Error("no such file");
        }
        sum(net(xg::rand<double>({2, 4}))).backward();
    }
}

constexpr std::string_view left = "it left main()";

/// What stands in the error of a rank, of which the culprit is told something else.
std::string_view expected_text(std::string_view scenario, int rank) {
    bool const fails = rank == culprit;
    if (scenario == "another_group_fails")
        return rank < 2 ? "no operation ended within the time limit of 1.5 s" : left;
    if (scenario == "other_shapes")
        return fails
                   ? "ranks 0, 1, 3: broadcast of parameter 'first.weight' (float64 [8, 4], from "
                     "rank 0)"
                   : "rank 2: broadcast of parameter 'first.weight' (float64 [9, 4], from rank 0)";
    if (scenario == "other_order") return "rank 2: allreduce of the best loss (float64 [3], max)";
    if (scenario == "hook_throws")
        return fails ? "the hook is broken" : "rank 2 stopped: the hook is broken";
    if (scenario == "tensor_hook_throws")
        return fails ? "the hook is broken" : "rank 2 stopped: the hook is broken";
    if (scenario == "throws_in_forward")
        return fails ? "no such file" : "rank 2 stopped: no such file";
    if (scenario.starts_with("killed") || scenario == "exits")
        return "; rank 2: its process has ended";
    if (fails && scenario == "leaves_main") return left;
    if (fails) return "no operation ended within the time limit of 1.5 s"; // it came too late
    return "rank 2: no answer (killed, busy, or gone)";
}

} // namespace

int main(int argc, char** argv) {
    std::string_view const scenario = argv[1];
    bool const has_thread = argc > 2 && std::string_view(argv[2]) == "thread";
    auto begin = std::chrono::steady_clock::now();
    int rank = 0;
    std::string text(left);
    std::string_view expected;
    {
        dist::Environment const mpi(has_thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
        dist::GroupOptions const options{.timeout = limit_of(scenario),
            .progress_interval = std::chrono::microseconds(has_thread ? 100 : 0)};
        dist::ProcessGroup const group(MPI_COMM_WORLD, options);
        begin = std::chrono::steady_clock::now();
        rank = group.rank();
        expected = expected_text(scenario, rank);
        try {
            try {
                if (scenario == "another_group_fails") let_another_group_fail(group, options);
                else train(scenario, group);
            } catch (xg::DistributedError const&) { throw; } catch (std::exception const& error) {
                group.stop(error.what()); // as a program does whose rank cannot go on
                throw;
            }
        } catch (std::exception const& error) { text = error.what(); }
    }
    double const seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    bool const is_right = text.find(expected) != std::string::npos;
    std::printf("rank %d, %s after %.1f s: %s\n", rank, is_right ? "as expected" : "WRONG", seconds,
        text.c_str());
    std::fflush(stdout);
    return is_right ? 0 : 1;
}
