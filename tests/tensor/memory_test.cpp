// The cache of free buffers. The address sanitizer turns it off, to see each use after free.
#include <thread>

#include "compare.hpp"

namespace {
constexpr std::size_t large =
    1 << 20; // bytes of the arrays below, much more than anything else here takes

D array() { return xg::zeros({large / sizeof(double)}); }

/// Every test begins and ends with an empty cache and the limit as it was.
struct CleanCache {
    CleanCache() { xg::empty_cache(); }
    ~CleanCache() {
        xg::set_cache_limit(std::size_t{512} << 20);
        xg::empty_cache();
    }
};
} // namespace

TEST_CASE("a freed buffer waits in the cache, and the next of its size is the same memory" *
          doctest::skip(!xg::detail::cache_blocks)) {
    CleanCache const clean;
    double const* where = nullptr;
    {
        D const x = array();
        where = x.data();
        CHECK(xg::cached_bytes() < large);
    }
    CHECK(xg::cached_bytes() >= large);
    D const y = array();
    CHECK(y.data() == where);
    CHECK(xg::cached_bytes() < large);
}

TEST_CASE("a loop takes memory from the system in its first round only" *
          doctest::skip(!xg::detail::cache_blocks)) {
    CleanCache const clean;
    D const x({1., 2., 3.}, xg::requires_grad);
    auto const round = [&] { grad(sum(x * x), x); };
    round();
    round();
    auto const held = xg::cached_bytes();
    CHECK(held > 0);
    for (int i = 0; i < 100; ++i) round();
    CHECK(xg::cached_bytes() == held);
}

TEST_CASE("a chain is differentiated in the memory of one gradient" *
          doctest::skip(!xg::detail::cache_blocks)) {
    CleanCache const clean;
    D x = array();
    x.requires_grad_();
    D y = x;
    for (int i = 0; i < 10; ++i) y = y * 2.;
    D const seed = array() + 1.;
    xg::empty_cache();
    y.backward(seed);
    CHECK(xg::cached_bytes() < large);
    CHECK(x.grad().data()[7] == 1024.);
    CHECK(seed.data()[7] == 1.);
}

TEST_CASE("gradients that hooks, retain_grad and grad() keep are not the memory of others") {
    D const x({1., 2.}, xg::requires_grad);
    D const a = x * 2.;
    D b = a * 3., c = b * 5., d = c * 7.;
    D kept;
    c.register_hook([&](D const& g) { kept = g; });
    b.retain_grad();
    d.backward(D({1., 10.}), {.retain_graph = true});
    CHECK(values(kept) == std::vector<double>{7., 70.});
    CHECK(values(b.grad()) == std::vector<double>{35., 350.});
    CHECK(values(x.grad()) == std::vector<double>{210., 2100.});
    auto const [of_x, of_a, of_b] = grad(sum(d), xg::inputs(x, a, b));
    CHECK(values(of_b) == std::vector<double>{35., 35.});
    CHECK(values(of_a) == std::vector<double>{105., 105.});
    CHECK(values(of_x) == std::vector<double>{210., 210.});
}

TEST_CASE("empty_cache gives everything back") {
    CleanCache const clean;
    array();
    xg::empty_cache();
    CHECK(xg::cached_bytes() == 0);
    CHECK(values(array()).size() == large / sizeof(double));
}

TEST_CASE("the cache keeps no more than its limit" * doctest::skip(!xg::detail::cache_blocks)) {
    CleanCache const clean;
    xg::set_cache_limit(3 * large);
    {
        std::vector<D> many;
        for (int i = 0; i < 6; ++i) many.push_back(array());
    }
    CHECK(xg::cached_bytes() <= 3 * large);
    CHECK(xg::cached_bytes() >= large);
    xg::set_cache_limit(large / 2);
    CHECK(xg::cached_bytes() <= large / 2);
    array();
    CHECK(xg::cached_bytes() <= large / 2);
    xg::set_cache_limit(0);
    CHECK(xg::cached_bytes() == 0);
    array();
    CHECK(xg::cached_bytes() == 0);
}

TEST_CASE("reused memory is never seen by another tensor that is alive") {
    CleanCache const clean;
    D const kept = xg::full({1000}, 3.);
    for (int i = 0; i < 10; ++i) xg::full({1000}, static_cast<double>(i));
    D const other = xg::full({1000}, 7.);
    CHECK(values(kept) == std::vector<double>(1000, 3.));
    CHECK(values(other) == std::vector<double>(1000, 7.));
}

TEST_CASE("each thread has a cache and a limit of its own, and may free what another made" *
          doctest::skip(!xg::detail::cache_blocks)) {
    CleanCache const clean;
    D mine = array();
    std::size_t at_start = 1, after_free = 0, limited = 1;
    std::thread([&, theirs = std::move(mine)]() mutable {
        at_start = xg::cached_bytes();
        theirs = D();
        after_free = xg::cached_bytes();
        xg::set_cache_limit(0);
        limited = xg::cached_bytes();
    }).join();
    CHECK(at_start == 0);
    CHECK(after_free >= large);
    CHECK(limited == 0);
    CHECK(xg::cached_bytes() < large);
    array();
    CHECK(xg::cached_bytes() >= large);
}

TEST_CASE("a tensor outlives the thread that made it") {
    D x;
    std::thread([&] { x = xg::full({1000}, 2.5); }).join();
    CHECK(values(x) == std::vector<double>(1000, 2.5));
    x += 1.;
    CHECK(x.data()[999] == 3.5);
}

TEST_CASE("buffers begin on a cache line where they are large") {
    for (std::size_t n : {1000u, 1001u, 100000u})
        CHECK(reinterpret_cast<std::uintptr_t>(xg::zeros({n}).data()) % 64 == 0);
}
