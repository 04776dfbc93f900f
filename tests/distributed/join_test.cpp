#include <doctest/doctest.h>

#include "models.hpp"

using namespace models;
using dist::DistributedDataParallel;

namespace {

/// The sum over all ranks and iterations of what each rank adds: one collective operation an
/// iteration. It notes what its hooks are told.
class Counter : public dist::Joinable {
public:
    explicit Counter(dist::ProcessGroup group) : group_(std::move(group)) {}

    void add(double what) {
        notify_join_context();
        active.push_back(active_ranks());
        D const sum({what});
        group_.allreduce(sum);
        total += sum(0).item();
    }
    std::unique_ptr<dist::JoinHook> join_hook(dist::JoinOptions const&) override {
        return std::make_unique<Hook>(*this);
    }
    dist::ProcessGroup const& join_process_group() const override { return group_; }

    double total = 0;
    std::vector<int> active;
    std::vector<bool> last; // by call of post_hook

private:
    struct Hook : dist::JoinHook {
        explicit Hook(Counter& counter) : of(counter) {}
        void main_hook() override {
            D const zero({0.});
            of.group_.allreduce(zero);
            of.total += zero(0).item();
        }
        void post_hook(bool is_last_joiner) override { of.last.push_back(is_last_joiner); }
        Counter& of;
    };

    dist::ProcessGroup group_;
};

/// Rank r has r + 1 iterations; over all ranks this adds up to sum of (r + 1)^2.
double expected_total(int ranks) {
    double all = 0;
    for (int r = 0; r < ranks; ++r) all += (r + 1.) * (r + 1.);
    return all;
}

} // namespace

TEST_CASE("an object of one's own shadows its collective operations until all loops have ended") {
    auto const group = group_of_test();
    Counter counter(group);
    CHECK_FALSE(counter.is_joining());
    dist::join({counter}, [&] {
        CHECK(counter.is_joining());
        for (int i = 0; i <= group.rank(); ++i) counter.add(group.rank() + 1.);
    });
    CHECK_FALSE(counter.is_joining());
    CHECK(counter.total == expected_total(group.size()));
    CHECK(counter.last == std::vector<bool>{group.rank() + 1 == group.size()});
    // in iteration i the ranks from i on have input
    std::vector<int> expected;
    for (int i = 0; i <= group.rank(); ++i) expected.push_back(group.size() - i);
    CHECK(counter.active == expected);
    counter.add(1); // outside of join() all ranks call it
    CHECK(counter.active.back() == group.size());
}

TEST_CASE("several objects are joined in one context: a module, a counter and another module") {
    auto const group = group_of_test();
    xg::manual_seed(5);
    DistributedDataParallel net(ConvNet(), group);
    DistributedDataParallel other(nn::Linear<double>(3, 2), group);
    Counter counter(group.duplicate());
    ConvNet alone = net.module.clone();
    nn::Linear<double> other_alone = other.module.clone();
    xg::optim::SGD ours(net.parameters(), {.lr = 0.1}), ours_too(other.parameters(), {.lr = 0.1}),
        theirs(alone.parameters(), {.lr = 0.1}), theirs_too(other_alone.parameters(), {.lr = 0.1});
    D const x = ConvNet::input(), small = xg::randn<double>({group.size(), 3});
    // rank r has r + 1 batches
    auto const pass = [&](auto& a, auto& b, int r, int step, double by) {
        D(ConvNet::loss(a, x(xg::slice(2 * r + step, 2 * r + step + 2))) / by).backward();
        if (by == 1) counter.add(1);
        D(sum(square(b(small(xg::slice(r, r + 1))))) / by).backward();
    };
    dist::join({net, counter, other}, [&] {
        for (int step = 0; step <= group.rank(); ++step) {
            ours.zero_grad(), ours_too.zero_grad();
            pass(net, other, group.rank(), step, 1);
            ours.step(), ours_too.step();
        }
    });
    CHECK(counter.total == group.size() * (group.size() + 1) / 2.);
    if (group.size() == 1) return; // by == 1 would count
    for (int step = 0; step < group.size(); ++step) {
        theirs.zero_grad(), theirs_too.zero_grad();
        for (int r = step; r < group.size(); ++r) pass(alone, other_alone, r, step, group.size());
        theirs.step(), theirs_too.step();
    }
    auto const check_equal = [](auto const& a, auto const& b) {
        auto const p = a.parameters(), q = b.parameters();
        for (std::size_t i = 0; i < p.size(); ++i) CHECK(largest_difference(p[i], q[i]) < 1e-12);
    };
    check_equal(net.module, alone);
    check_equal(other.module, other_alone);
}

TEST_CASE("with throw_on_early_termination all ranks throw when the first has no more input, and "
          "the group goes on") {
    auto const group = group_of_test();
    Counter counter(group);
    int steps = 0;
    auto const message = message_of([&] {
        dist::join({counter},
            [&] {
                for (int i = 0; i < 2 + group.rank(); ++i, ++steps) counter.add(1);
            },
            {.throw_on_early_termination = true});
    });
    if (group.size() == 1) CHECK(message == "no error");
    else
        CHECK(message == "join: Detected at least one rank that exhausted inputs. Throwing across "
                         "all ranks.");
    CHECK(steps == 2);
    CHECK_FALSE(counter.is_joining());
    group.barrier();

    int const before = steps;
    dist::join({counter}, [&] { ++steps; }, {.enable = false}); // no rank is asked
    CHECK(steps == before + 1);
}

TEST_CASE("join() refuses an empty list, groups of other ranks, and an object that is in another") {
    auto const group = group_of_test();
    Counter counter(group);
    CHECK(
        message_of([&] { dist::join({}, [] {}); }) == "join: at least one object is to be joined");
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -group.rank(), &reversed);
    {
        dist::ProcessGroup const other_group(reversed);
        Counter other(other_group);
        auto const message = message_of([&] { dist::join({counter, other}, [] {}); });
        CHECK(message == (group.size() == 1
                                 ? "no error"
                                 : "join: the groups of all objects must have the same ranks"));
    }
    MPI_Comm_free(&reversed);
    CHECK_FALSE(counter.is_joining());
    auto const nested =
        message_of([&] { dist::join({counter}, [&] { dist::join({counter}, [] {}); }); });
    CHECK(nested == "join: one of the objects is in a join() already");
}

TEST_CASE("an exception in a training loop or a hook reaches the other ranks") {
    auto const group = group_of_test();
    if (group.size() == 1) return;
    Counter counter(group);
    auto const message = message_of([&] {
        dist::join({counter}, [&] {
            counter.add(1);
            if (group.rank() == 1) throw xg::Error("the disk is full");
            counter.add(1);
            counter.add(1);
        });
    });
    CHECK(message == (group.rank() == 1 ? "the disk is full" : "rank 1 stopped: the disk is full"));
}
