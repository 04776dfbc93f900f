// What the ranks that are left are told when one of them fails. faults.py runs this with four ranks
// and a scenario, and once more with a thread in each group; each rank that hears of it as it
// should prints "as expected", and how long that took.
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
            if (scenario == "killed") std::raise(SIGKILL);
            if (scenario == "exits") std::_Exit(0);
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

/// What stands in the error of a rank, of which the culprit is told something else.
std::string_view expected_text(std::string_view scenario, bool fails) {
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
    if (fails) return "no operation ended within the time limit of 1.5 s"; // it came too late
    return "rank 2: no answer (killed, busy, or gone)";
}

} // namespace

int main(int argc, char** argv) {
    std::string_view const scenario = argv[1];
    bool const has_thread = argc > 2 && std::string_view(argv[2]) == "thread";
    dist::Environment const mpi(has_thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
    dist::ProcessGroup const group(MPI_COMM_WORLD,
        {.timeout = limit, .progress_interval = std::chrono::microseconds(has_thread ? 100 : 0)});
    auto const begin = std::chrono::steady_clock::now();
    try {
        try {
            train(scenario, group);
        } catch (xg::DistributedError const&) { throw; } catch (std::exception const& error) {
            group.stop(error.what()); // as a program does whose rank cannot go on
            throw;
        }
    } catch (std::exception const& error) {
        double const seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        bool const is_right =
            std::string_view(error.what()).find(expected_text(scenario, group.rank() == culprit)) !=
            std::string_view::npos;
        std::printf("rank %d, %s after %.1f s: %s\n", group.rank(),
            is_right ? "as expected" : "WRONG", seconds, error.what());
        std::fflush(stdout);
        return is_right ? 0 : 1;
    }
    return 1;
}
