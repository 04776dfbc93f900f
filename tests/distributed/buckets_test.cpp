// Which gradients travel together, in what order, and when.
#include <doctest/doctest.h>

#include "models.hpp"

using namespace models;
using dist::DistributedDataParallel;

namespace {

constexpr double tiny = 1e-6; // each parameter has a bucket of its own
using Names = std::vector<std::string>;

/// Three parameters that forward uses in any order.
struct Three : nn::Module<Three> {
    nn::Parameter<double> a{*this, "a", xg::full<double>({2}, 2.)},
        b{*this, "b", xg::full<double>({3}, 3.)}, c{*this, "c", xg::full<double>({4}, 5.)};

    /// The gradients come in the reverse of this order.
    D forward(std::string const& order) {
        D x(1.);
        for (char const name : order) {
            D const factor = name == 'a' ? sum(a) : name == 'b' ? sum(b) : sum(c);
            x = sin(x * factor);
        }
        return x;
    }
    std::string name_of_size(std::size_t n) const {
        return n == 2 ? "a" : n == 3 ? "b" : n == 4 ? "c" : "?";
    }
};

} // namespace

TEST_CASE(
    "buckets leave in the reverse order of registration, after the first pass in the order in "
    "which gradients came on rank 0, each as soon as it is full") {
    auto const group = group_of_test();
    DistributedDataParallel net(Three(), group, {.bucket_cap_mb = tiny, .first_bucket_mb = tiny});
    Names events;
    for (auto const& p : {&net.module.a, &net.module.b, &net.module.c})
        p->register_hook([&, n = p->numel()](D const&) {
            events.push_back("gradient " + net.module.name_of_size(n));
        });
    net.register_comm_hook(group, [&](dist::ProcessGroup& g, dist::GradBucket& bucket) {
        events.push_back("bucket " + net.module.name_of_size(bucket.buffer().numel()));
        return dist::allreduce_hook(g, bucket);
    });
    // rank 0 uses c first, so that its gradient comes last; the others use a first
    bool const is_first = group.rank() == 0;
    auto const pass = [&] {
        events.clear();
        net(is_first ? "cab" : "abc").backward();
        return events;
    };
    Names const first = pass();
    if (is_first) // the gradient of c, whose bucket is the first, comes last
        CHECK(first ==
              Names{"gradient b", "gradient a", "gradient c", "bucket c", "bucket b", "bucket a"});
    else
        CHECK(first ==
              Names{"gradient c", "bucket c", "gradient b", "bucket b", "gradient a", "bucket a"});
    for (int again = 0; again < 2; ++again) {
        net.zero_grad();
        Names const later = pass();
        if (is_first)
            CHECK(later == Names{"gradient b", "bucket b", "gradient a", "bucket a", "gradient c",
                               "bucket c"});
        else
            CHECK(later == Names{"gradient c", "gradient b", "bucket b", "gradient a", "bucket a",
                               "bucket c"});
    }

    // and the gradients are the means of both orders
    Three alone;
    double const n = group.size();
    D(alone.forward("cab") / n).backward();
    if (group.size() > 1) D(alone.forward("abc") * (n - 1) / n).backward();
    check_gradients(net.module, alone, 1e-12);
}

TEST_CASE("the first bucket has a capacity of its own") {
    auto const group = group_of_test();
    CHECK(DistributedDataParallel(Three(), group, {.first_bucket_mb = tiny}).bucket_count() == 2);
    CHECK(DistributedDataParallel(Three(), group, {.bucket_cap_mb = tiny, .first_bucket_mb = 1.})
              .bucket_count() == 1);
    CHECK(DistributedDataParallel(Three(), group, {.bucket_cap_mb = tiny}).bucket_count() == 3);
}

TEST_CASE("a hook may hand a bucket on with another buffer, which is as long") {
    auto const group = group_of_test();
    DistributedDataParallel net(Three(), group);
    net.register_comm_hook(group, [](dist::ProcessGroup& g, dist::GradBucket& bucket) {
        CHECK_THROWS_WITH_AS(bucket.set_buffer(xg::ones({2})),
            "set_buffer: the buffer of a bucket has shape [9] and no gaps, not shape [2]",
            xg::ShapeError);
        bucket.set_buffer(D(2. * bucket.buffer().as<double>()));
        return dist::allreduce_hook(g, bucket);
    });
    Three alone = net.module.clone();
    for (int pass = 0; pass < 2; ++pass) {
        net("abc").backward();
        D(2. * alone.forward("abc")).backward();
    }
    // the second pass finds the sum of the first in .grad, and doubles it, too
    D const once = xg::grad(alone.forward("abc"), D(alone.a));
    CHECK(largest_difference(net.module.a.grad(), D(6. * once)) < 1e-13);
}

TEST_CASE("buffers in join() are those of the first rank that still has input, and of one that "
          "ended last") {
    auto const group = group_of_test();
    nn::BatchNorm1d<double> made(1);
    DistributedDataParallel net(made, group);
    auto const batch = [](int rank, int step) {
        return D({{rank + 1. * step}, {3. * rank + 2. * step * step}});
    };
    net.join([&] { // rank r has r + 1 batches
        for (int step = 0; step <= group.rank(); ++step)
            sum(square(net(batch(group.rank(), step)))).backward();
    });
    // forward of a step begins with the moments of the first rank that has a batch for it
    std::vector<double> means(static_cast<std::size_t>(group.size()), 0.);
    for (int step = 0; step < group.size(); ++step) {
        double const before = means[static_cast<std::size_t>(step)];
        for (int r = step; r < group.size(); ++r) {
            auto const x = batch(r, step);
            means[static_cast<std::size_t>(r)] =
                0.9 * before + 0.1 * (x.data()[0] + x.data()[1]) / 2;
        }
    }
    CHECK(net.module.running_mean(0).item() == doctest::Approx(means.back()).epsilon(1e-14));
}
