#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numeric>
#include <string>
#include <vector>

#include "group.hpp"

namespace xg = xgrad;
namespace dist = xg::distributed;
using D = xg::Tensor<double>;
using C = xg::Tensor<std::complex<double>>;

namespace {

using models::group_of_test, models::has_thread_level;

template <class F> std::string message_of(F f) {
    try {
        f();
    } catch (xg::DistributedError const& e) { return e.what(); }
    return "no error";
}

bool contains(std::string const& text, std::string_view part) {
    return text.find(part) != text.npos;
}

} // namespace

TEST_CASE("broadcast gives every rank the elements of one, for all scalar types") {
    auto const group = group_of_test();
    int const root = group.size() - 1;
    double const mine = group.rank() + 1, of_root = group.size();
    D real({mine, 2 * mine});
    C complex({std::complex(mine, -mine)});
    xg::Tensor<float> single({static_cast<float>(mine)});
    xg::Tensor<std::complex<float>> single_complex({std::complex(static_cast<float>(mine), 1.f)});
    xg::Tensor<std::int64_t> integers({group.rank(), 7});
    xg::Tensor<bool> booleans({group.rank() == root, false});
    group.broadcast(real, root);
    group.broadcast(complex, root);
    group.broadcast(single, root);
    group.broadcast(single_complex, root);
    group.broadcast(integers, root);
    group.broadcast(booleans, root);
    CHECK(real(0).item() == of_root);
    CHECK(real(1).item() == 2 * of_root);
    CHECK(complex(0).item() == std::complex(of_root, -of_root));
    CHECK(single.item() == static_cast<float>(of_root));
    CHECK(single_complex.item() == std::complex(static_cast<float>(of_root), 1.f));
    CHECK(integers(0).item() == root);
    CHECK(booleans(0).item());
    CHECK_FALSE(booleans(1).item());
}

TEST_CASE("allreduce adds, multiplies and finds extrema over the ranks") {
    auto const group = group_of_test();
    double const n = group.size(), mine = group.rank() + 1;
    auto const reduced = [&](dist::Reduction by) {
        D t({mine, -mine});
        group.allreduce(t, by);
        return std::pair(t(0).item(), t(1).item());
    };
    CHECK(reduced(dist::Reduction::sum) == std::pair(n * (n + 1) / 2, -n * (n + 1) / 2));
    CHECK(reduced(dist::Reduction::product).first == std::tgamma(n + 1));
    CHECK(reduced(dist::Reduction::min) == std::pair(1., -n));
    CHECK(reduced(dist::Reduction::max) == std::pair(n, -1.));
    C z({std::complex(mine, 2 * mine)});
    group.allreduce(z);
    CHECK(z.item() == std::complex(n * (n + 1) / 2, n * (n + 1)));
    CHECK_THROWS_AS(group.allreduce(z, dist::Reduction::max), xg::TypeError);
    CHECK_THROWS_AS(group.broadcast(z, group.size()), xg::IndexError);
}

TEST_CASE(
    "a strided tensor is reduced through a copy, and a saved one notices that it has changed") {
    auto const group = group_of_test();
    D base({{1., 2.}, {3., 4.}});
    group.allreduce(base.transpose()(0));
    CHECK(base(1, 0).item() == 3. * group.size());
    CHECK(base(0, 1).item() == 2.);

    D const x({1., 2.}, xg::requires_grad);
    D const y = exp(x);
    group.allreduce(y);
    CHECK_THROWS_AS(sum(y).backward(), xg::VersionError);
}

TEST_CASE(
    "allgather gives the tensors of all ranks, and reduce_scatter its rows of the sum to each") {
    auto const group = group_of_test();
    auto const n = static_cast<std::size_t>(group.size());
    double const mine = group.rank();
    auto const all = group.allgather(D({{mine, mine + 0.5}}));
    REQUIRE(all.size() == n);
    for (std::size_t r = 0; r < n; ++r) {
        CHECK(all[r].shape() == xg::Shape{1, 2});
        CHECK(all[r](0, 1).item() == static_cast<double>(r) + 0.5);
    }
    D const rows = xg::arange(0., 2. * static_cast<double>(n));
    D const summed = group.reduce_scatter(rows);
    CHECK(summed.shape() == xg::Shape{2});
    CHECK(summed(1).item() == (2 * mine + 1) * static_cast<double>(n));
    if (n > 1) CHECK_THROWS_AS(group.reduce_scatter(xg::ones({2 * n + 1})), xg::ShapeError);
}

TEST_CASE("memory that is no tensor is sent in its own type: integers of 8 bits and bytes") {
    auto const group = group_of_test();
    int const n = group.size(), me = group.rank();
    auto const ranks = static_cast<std::size_t>(n);

    std::vector<std::uint8_t> counts{1, static_cast<std::uint8_t>(10 * me), 200};
    group.allreduce(counts);
    CHECK(counts == std::vector{static_cast<std::uint8_t>(n),
                        static_cast<std::uint8_t>(5 * n * (n - 1)),
                        static_cast<std::uint8_t>(200 * n)}); // modulo 256
    std::int8_t least[] = {static_cast<std::int8_t>(-me)};
    group.allreduce(least, dist::Reduction::min);
    CHECK(int(least[0]) == 1 - n);

    xt::xtensor<std::int8_t, 2> image{{0, 0}, {0, 0}};
    if (me == n - 1) image = {{1, -2}, {3, -128}};
    group.broadcast(image, n - 1, "the image");
    CHECK(image == xt::xtensor<std::int8_t, 2>{{1, -2}, {3, -128}});

    auto const all = group.allgather(std::vector<std::int16_t>{static_cast<std::int16_t>(me), -7});
    REQUIRE(all.size() == ranks);
    for (std::size_t r = 0; r < ranks; ++r)
        CHECK(all[r] == std::vector<std::int16_t>{static_cast<std::int16_t>(r), -7});
    std::vector<std::uint8_t> rows(2 * ranks);
    std::iota(rows.begin(), rows.end(), std::uint8_t(1));
    std::vector<std::uint8_t> const mine = group.reduce_scatter(rows);
    CHECK(mine == std::vector{static_cast<std::uint8_t>(n * (2 * me + 1)),
                      static_cast<std::uint8_t>(n * (2 * me + 2))});

    std::vector<std::byte> bytes(3, static_cast<std::byte>(me));
    auto const later = group.allgather_async(bytes);
    CHECK(later.get().back() == std::vector(3, static_cast<std::byte>(n - 1)));
    CHECK_THROWS_AS(group.allreduce(bytes), xg::TypeError);
    CHECK_THROWS_AS(group.broadcast(bytes, n), xg::IndexError);
    if (n > 1) CHECK_THROWS_AS(group.reduce_scatter(std::vector(ranks + 1, 1)), xg::ShapeError);

    if (n == 1) return;
    auto const message = message_of([&] {
        std::vector<std::uint8_t> a(2);
        std::vector<std::int8_t> b(2);
        if (me == 1) group.broadcast(b);
        else group.broadcast(a);
    });
    CHECK(contains(message, "rank 1: broadcast (int8 [2], from rank 0)"));
    CHECK(contains(message, ": broadcast (uint8 [2], from rank 0)"));
}

TEST_CASE(
    "futures of several operations end in any order of waiting, and then() goes on from them") {
    auto const group = group_of_test();
    double const n = group.size();
    D a({1.}), b({2.}), c = xg::ones({50000});
    auto const first = group.allreduce_async(a), second = group.allreduce_async(b),
               third = group.allreduce_async(c);
    auto const chained = first.then([&group](xg::AnyTensor const& t) {
        return group.allreduce_async(D(t.as<double>() * 10.));
    });
    auto const number = chained.then([](xg::AnyTensor const& t) { return t.as<double>().item(); });
    bool ended = false;
    auto const last = third.then([&ended](xg::AnyTensor const&) { ended = true; });
    third.wait();
    CHECK_FALSE(ended); // functions run where their result is asked for, in one order on all ranks
    last.wait();
    CHECK(ended);
    CHECK(number.get() == 10 * n * n);
    CHECK(second.get().as<double>().item() == 2 * n);
    CHECK(c(49999).item() == n);
    CHECK(dist::Future<int>::of(3).then([](int i) { return dist::Future<int>::of(i + 1); }).get() ==
          4);
    auto const failed =
        first.then([](xg::AnyTensor const&) -> int { throw std::string("in a continuation"); });
    CHECK_THROWS_AS(failed.then([](int) { FAIL("called after an error"); }).wait(), std::string);
    group.barrier();
}

TEST_CASE("a future ends although the program has no handle of its group any more") {
    int const ranks = group_of_test().size();
    D const t({1., 2.}), u({3.});
    auto const first = group_of_test().allreduce_async(t);
    auto const second = group_of_test().allreduce_async(u).then(
        [&](xg::AnyTensor const& sum) { return sum.as<double>().item() + 1; });
    CHECK(second.get() == 3 * ranks + 1);
    CHECK(first.get().as<double>()(1).item() == 2 * ranks);
}

TEST_CASE("two groups of one communicator do not disturb each other") {
    auto const one = group_of_test(), other = group_of_test();
    D a({1.}), b({1.});
    bool const even = one.rank() % 2 == 0;
    auto const begin = [](auto const& group, D const& t) { return group.allreduce_async(t); };
    auto const first = even ? begin(one, a) : begin(other, b),
               second = even ? begin(other, b) : begin(one, a);
    first.wait();
    second.wait();
    CHECK(a.item() == one.size());
    CHECK(b.item() == one.size());
}

TEST_CASE("run_on lets one rank write, and all ranks throw what it throws") {
    auto const group = group_of_test();
    int calls = 0;
    group.run_on(0, [&] { ++calls; });
    CHECK(calls == (group.rank() == 0));
    auto const fails = [&] { group.run_on(0, [] { throw xg::ShapeError("the disk is full"); }); };
    if (group.rank() == 0) CHECK_THROWS_AS(fails(), xg::ShapeError);
    else CHECK(message_of(fails) == "rank 0: the disk is full");
    D a({1.});
    group.allreduce(a);
    CHECK(a.item() == group.size());
}

TEST_CASE("random numbers differ from rank to rank, and repeat with the seed") {
    auto const group = group_of_test();
    dist::manual_seed(group, 5);
    D const once = xg::rand<double>({3});
    dist::manual_seed(group, 5);
    D const again = xg::rand<double>({3});
    CHECK(once(2).item() == again(2).item());
    auto const all = group.allgather(once);
    for (int r = 0; r < group.size(); ++r)
        if (r != group.rank()) CHECK(all[static_cast<std::size_t>(r)](0).item() != once(0).item());
}

TEST_CASE(
    "ranks with other shapes, other types or another order get an error that tells of each rank") {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) return;
    for (int kind = 0; kind < 3; ++kind) {
        auto const group = group_of_test();
        bool const other = group.rank() == 1;
        D const a = xg::ones({other && kind == 0 ? 3u : 2u});
        xg::Tensor<float> const single = xg::ones<float>({2});
        auto const message = message_of([&] {
            if (other && kind == 1) group.allreduce(single, dist::Reduction::sum, "parameter 'w'");
            else if (other && kind == 2) group.broadcast(a, 0, "parameter 'w'");
            else group.allreduce(a, dist::Reduction::sum, "parameter 'w'");
        });
        CAPTURE(message);
        CHECK(contains(message, "the ranks do not call the same operation"));
        CHECK(contains(message, std::string(ranks == 2 ? "rank 0" : "ranks 0, 2") +
                                    (ranks == 4 ? ", 3" : "") +
                                    ": allreduce of parameter 'w' (float64 [2])"));
        CHECK(contains(message,
            kind == 0   ? "rank 1: allreduce of parameter 'w' (float64 [3])"
            : kind == 1 ? "rank 1: allreduce of parameter 'w' (float32 [2])"
                        : "rank 1: broadcast of parameter 'w' (float64 [2], from rank 0)"));
        CHECK(message_of([&] { group.barrier(); }) == message);
        CHECK(message_of([&] { group.check_health(); }) == message);
    }
}

TEST_CASE("a rank that stops reaches those that wait for it") {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) return;
    auto const group = group_of_test();
    if (group.rank() == 1) group.stop("no more data");
    CHECK(message_of([&] { group.barrier(); }) == "rank 1 stopped: no more data");
}

TEST_CASE("a NUL in a name or a text does not cut a message, and a long text ends in dots") {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) return;
    auto const named = group_of_test(), stopped = group_of_test(), talkative = group_of_test();
    auto const message = message_of([&] {
        named.allreduce(xg::ones({2}), dist::Reduction::sum,
            std::string(named.rank() == 1 ? "layer\0b" : "layer\0a", 7));
    });
    CAPTURE(message);
    CHECK(contains(message, "allreduce of layer\\0a (float64 [2])"));
    CHECK(contains(message, "rank 1: allreduce of layer\\0b (float64 [2])"));
    if (stopped.rank() == 1) stopped.stop(std::string("no\0more", 7));
    CHECK(message_of([&] { stopped.barrier(); }) == "rank 1 stopped: no\\0more");
    if (talkative.rank() == 1) talkative.stop(std::string(1000, 'x'));
    auto const cut = message_of([&] { talkative.barrier(); });
    CHECK(cut.starts_with("rank 1 stopped: " + std::string(400, 'x')));
    CHECK(cut.ends_with("x ..."));
}

TEST_CASE("a rank that does not come within the time limit is named") {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) return;
    dist::ProcessGroup const group(MPI_COMM_WORLD, {.timeout = std::chrono::milliseconds(400)}),
        other = group_of_test();
    if (group.rank() != 1) {
        auto const message =
            message_of([&] { group.allreduce(xg::ones({2}), dist::Reduction::sum, "gradients"); });
        CAPTURE(message);
        CHECK(contains(message, "no operation ended within the time limit of 0.4 s. rank"));
        CHECK(contains(message, "rank 1: did not come"));
        CHECK(contains(message, ": allreduce of gradients (float64 [2])"));
    }
    other.barrier();
    if (group.rank() == 1)
        CHECK(contains(message_of([&] { group.barrier(); }), "the time limit of 0.4 s"));
}

TEST_CASE("elements move while the program computes where the group has a thread") {
    dist::GroupOptions const options{.progress_interval = std::chrono::microseconds(100)};
    if (!has_thread_level()) {
        CHECK(contains(message_of([&] { dist::ProcessGroup const group(MPI_COMM_WORLD, options); }),
            "progress_interval needs MPI_THREAD_MULTIPLE"));
        return;
    }
    dist::ProcessGroup const group(MPI_COMM_WORLD, options);
    using std::chrono::steady_clock;
    for (std::size_t const elements : {std::size_t(1), std::size_t(1) << 19}) {
        D const t = xg::full<double>({elements}, group.rank() + 1.);
        // no rank can begin to move elements before the last one has come
        if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        auto const sum = group.allreduce_async(t);
        auto const end = steady_clock::now() + std::chrono::seconds(20);
        double const expected = group.size() * (group.size() + 1) / 2.;
        double const volatile& last = t.data()[elements - 1]; // nothing here calls MPI
        while (last != expected && steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(last == expected);
        sum.wait();
    }
}
