// What belongs to each thread: modes, saved tensor hooks, exceptions.
#include "threads.hpp"

TEST_CASE(
    "a new thread records, and is in no inference mode, whatever the one that starts it does") {
    bool grad = false, inference = true, anomaly = true;
    auto const look = [&] {
        grad = xg::is_grad_enabled();
        inference = xg::is_inference_mode_enabled();
        D const x(-1., xg::requires_grad);
        try {
            D(sqrt(x) * 2.).backward();
            anomaly = false;
        } catch (xg::GraphError const&) {}
    };
    {
        xg::NoGradGuard const off;
        std::thread(look).join();
        CHECK(grad);
        CHECK_FALSE(xg::is_grad_enabled());
    }
    {
        xg::InferenceMode const on;
        xg::AnomalyMode const anomaly_mode;
        std::thread(look).join();
        CHECK(grad);
        CHECK_FALSE(inference);
        CHECK_FALSE(anomaly);
        CHECK(xg::is_inference_mode_enabled());
    }
}

TEST_CASE("a guard in one thread leaves the modes of another alone") {
    D const x({1., 2.}, xg::requires_grad);
    std::atomic<int> right = 0;
    at_once(4, [&](int k) {
        for (int i = 0; i < 50; ++i) {
            if (k % 2) {
                xg::NoGradGuard const off;
                right += !D(x * 2.).requires_grad();
            } else right += D(x * 2.).requires_grad();
        }
    });
    CHECK(right == 200);
}

TEST_CASE("saved tensor hooks see what their own thread saves, and nothing of another") {
    D const x({1., 2.}, xg::requires_grad);
    std::array<std::atomic<int>, 4> packed{}, unpacked{};
    at_once(4, [&](int k) {
        auto const me = static_cast<std::size_t>(k);
        auto const work = [&] {
            for (int i = 0; i < 20; ++i) grad(sum(x * x), x);
        };
        if (k == 3) return work();
        xg::SavedTensorsHooks const hooks(
            [&, me](xg::AnyTensor const& t) { return ++packed[me], t; },
            [&, me](xg::AnyTensor const& t) { return ++unpacked[me], t; });
        work();
    });
    for (std::size_t k = 0; k < 3; ++k) {
        CHECK(packed[k] == 20);
        CHECK(unpacked[k] == 20);
    }
    CHECK(packed[3] == 0);
    CHECK(unpacked[3] == 0);
}

TEST_CASE("saved tensor hooks that are forbidden in one thread are allowed in another") {
    xg::DisableSavedTensorsHooks const never("not here");
    bool allowed = false;
    std::thread([&] {
        xg::SavedTensorsHooks const hooks(
            [](xg::AnyTensor const& t) { return t; }, [](xg::AnyTensor const& t) { return t; });
        allowed = true;
    }).join();
    CHECK(allowed);
}

TEST_CASE("each thread catches the exception of its own pass, also over a graph that they share") {
    D const x({1., 2.}, xg::requires_grad);
    D shared = x * 2.;
    shared.register_hook([](D const& g) {
        if (int const k = static_cast<int>(g.data()[0]); k % 2) throw k;
    });
    std::array<int, 6> caught{};
    at_once(6, [&](int k) {
        for (int i = 0; i < 20; ++i) try {
                grad(sum(shared * static_cast<double>(k)), x, {.retain_graph = true});
            } catch (int thrown) { caught[static_cast<std::size_t>(k)] += thrown == k ? 1 : 1000; }
    });
    CHECK(caught == std::array{0, 20, 0, 20, 0, 20});
    CHECK(difference(grad(sum(shared * 2.), x), {4., 4.}) == "");
}

TEST_CASE("an exception in a thread leaves the others' gradients exact") {
    D x({1., 2.}, xg::requires_grad);
    std::atomic<int> thrown = 0;
    at_once(4, [&](int k) {
        for (int i = 0; i < 25; ++i) {
            D y = x * 3.;
            if (k == 0) y.register_hook([](D const&) { throw std::runtime_error("not me"); });
            try {
                sum(y).backward();
            } catch (std::runtime_error const&) { ++thrown; }
        }
    });
    CHECK(thrown == 25);
    CHECK(difference(x.grad(), {225., 225.}) == "");
}

TEST_CASE("a pass inside a pass runs in its thread, as deep as one likes, beside others") {
    std::atomic<int> right = 0;
    at_once(3, [&](int) {
        D const x(1., xg::requires_grad);
        std::function<double(int)> nested = [&](int depth) {
            xg::EnableGradGuard const on;
            D y = x * 2.;
            double below = 0;
            y.register_hook([&](D const&) {
                if (depth > 0) below = nested(depth - 1);
            });
            return grad(y, x).item() + below;
        };
        right += nested(200) == 402;
    });
    CHECK(right == 3);
}

TEST_CASE("a WeakTensor that is locked while the owners of its tensor go, in other threads, gives "
          "the whole tensor or none") {
    std::atomic<int> gone = 0, whole = 0, torn = 0;
    constexpr int rounds = 2000, owners = 2, watchers = 2;
    std::vector<D> held[owners];
    std::vector<xg::WeakTensor> weak;
    for (int i = 0; i < rounds; ++i) {
        D const t({1., 2., static_cast<double>(i)});
        if (i % 2) weak.emplace_back(t);
        for (auto& h : held) h.push_back(t);
        if (i % 2 == 0) weak.emplace_back(t);
    }
    at_once(owners + watchers, [&](int k) {
        for (int i = 0; i < rounds; ++i) {
            auto const at = static_cast<std::size_t>(i);
            if (k < owners) held[k][at] = {};
            else if (auto const t = weak[at].lock(); !t.defined()) ++gone;
            else ++(t.as<double>().data()[2] == i ? whole : torn);
        }
    });
    CHECK(torn == 0);
    CHECK(gone + whole == rounds * watchers);
    for (auto const& w : weak) CHECK_FALSE(w.lock().defined());
}
