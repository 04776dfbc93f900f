// Several threads, each with graphs of its own, or with a leaf or a graph in common.
#include <atomic>
#include <thread>

#include "walk.hpp"

namespace {
template <class Body> void in_threads(int count, Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
    for (auto& t : threads) t.join();
}
} // namespace

TEST_CASE("threads differentiate graphs of their own at once") {
    std::atomic<int> right = 0;
    in_threads(4, [&](int k) {
        for (int round = 0; round < 50; ++round) {
            D const x({1. + k, 2. + round}, xg::requires_grad);
            D y = x;
            for (int i = 0; i < 20; ++i) y = y * 0.5 + x;
            sum(y * x).backward();
            // y = c x with c = 2 - 2^-20
            double const c = 2 - std::ldexp(1, -20);
            right += difference(x.grad(), {2 * c * (1. + k), 2 * c * (2. + round)}) == "";
        }
    });
    CHECK(right == 200);
}

TEST_CASE("threads add into one leaf, and nothing is lost") {
    D const x({1., 2.}, xg::requires_grad);
    in_threads(4, [&](int) {
        for (int i = 0; i < 50; ++i) sum(x * 2.).backward();
    });
    CHECK(difference(x.grad(), {400., 400.}) == "");
    D const y({1., 2.}, xg::requires_grad);
    in_threads(4, [&](int) {
        for (int i = 0; i < 50; ++i) {
            D const a = y * y;
            D const b = a + y;
            sum(b).backward();
        }
    });
    CHECK(difference(y.grad(), {600., 1000.}) == "");
}

TEST_CASE("threads ask for gradients of one leaf without touching it") {
    D const x({1., 2.}, xg::requires_grad);
    std::atomic<int> right = 0;
    in_threads(4, [&](int k) {
        for (int i = 0; i < 50; ++i)
            right += difference(grad(sum(x * x * (1. + k)), x), {2. * (1 + k), 4. * (1 + k)}) == "";
    });
    CHECK(right == 200);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("threads differentiate one kept graph at once, each pass exact") {
    D const x({1., 2.}, xg::requires_grad);
    D shared = x;
    for (int i = 0; i < 30; ++i) shared = shared * 1. + 0.;
    D const z = sum(shared * shared);
    std::atomic<int> right = 0;
    in_threads(4, [&](int) {
        for (int i = 0; i < 50; ++i) {
            z.backward({.retain_graph = true});
            right += difference(grad(z, x, {.retain_graph = true}), {2., 4.}) == "";
        }
    });
    CHECK(right == 200);
    CHECK(difference(x.grad(), {400., 800.}) == "");
}

TEST_CASE("threads build on one recorded part, and each differentiates through it") {
    D const x({1., 2.}, xg::requires_grad);
    D const shared = exp(x);
    std::atomic<int> right = 0;
    in_threads(4, [&](int k) {
        for (int i = 0; i < 50; ++i) {
            D const g = grad(sum(shared * static_cast<double>(k)), x, {.retain_graph = true});
            right += difference(g, {k * std::exp(1.), k * std::exp(2.)}) == "";
        }
    });
    CHECK(right == 200);
}

TEST_CASE("a graph made in one thread is differentiated and freed in another") {
    D const x({1., 2.}, xg::requires_grad);
    D y;
    std::thread([&] { y = sum(x * x * x); }).join();
    D const z = y * 2.;
    std::thread([&, mine = std::move(y)]() mutable {
        z.backward();
        mine = D();
    }).join();
    CHECK(difference(x.grad(), {6., 24.}) == "");
}

TEST_CASE(
    "an older thread's Nodes may come after a younger one's: each still waits for its gradients") {
    // sequence numbers count per thread, so here inputs have larger ones than what was made of them
    D const x(1., xg::requires_grad);
    D a = x;
    for (int i = 0; i < 100; ++i) a = a * 1.;
    D b;
    std::thread([&] { b = a * 2. + a; }).join();
    D(a + b).backward();
    CHECK(x.grad().item() == 4);
}

TEST_CASE("hooks run in the thread that calls backward, and its exceptions come out there") {
    D const x(1., xg::requires_grad);
    std::thread::id ran;
    D y = x * 2.;
    y.register_hook([&](D const&) {
        ran = std::this_thread::get_id();
        throw std::runtime_error("in a thread");
    });
    std::string caught;
    std::thread other([&] {
        try {
            y.backward();
        } catch (std::runtime_error const& e) { caught = e.what(); }
    });
    auto const id = other.get_id();
    other.join();
    CHECK(ran == id);
    CHECK(caught == "in a thread");
}

TEST_CASE("threads may share tensors that only hold values") {
    D const c = xg::full({100}, 2.);
    std::atomic<int> right = 0;
    in_threads(4, [&](int k) {
        for (int i = 0; i < 50; ++i) {
            D const copy = c, view = c(xg::slice(0, 10));
            right +=
                sum(copy * static_cast<double>(k)).item() == 200. * k && sum(view).item() == 20;
        }
    });
    CHECK(right == 200);
}
