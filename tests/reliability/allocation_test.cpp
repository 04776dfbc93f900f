// No memory: every allocation of a graph's life fails in turn. Nothing leaks, nothing is half done,
// and all goes on.
#include "allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>

namespace {
std::atomic<long> blocks = 0, bytes_taken = 0, calls = 0;
thread_local long left = -1;

void* counted(std::size_t bytes, std::size_t alignment) {
    if (left >= 0 && left-- == 0) {
        allocations::injected = true;
        return nullptr;
    }
    void* const p =
        alignment ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                  : std::malloc(bytes ? bytes : 1);
    ++calls;
    blocks += p != nullptr;
    bytes_taken += static_cast<long>(malloc_usable_size(p));
    return p;
}
void* or_throw(void* p) {
    if (!p) throw std::bad_alloc();
    return p;
}
void uncounted(void* p) noexcept {
    blocks -= p != nullptr;
    bytes_taken -= static_cast<long>(malloc_usable_size(p));
    std::free(p);
}
} // namespace

void* operator new(std::size_t n) { return or_throw(counted(n, 0)); }
void* operator new(std::size_t n, std::align_val_t a) {
    return or_throw(counted(n, static_cast<std::size_t>(a)));
}
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return counted(n, 0); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete(void* p, std::align_val_t) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { uncounted(p); }
void operator delete(void* p, std::nothrow_t const&) noexcept { uncounted(p); }

long allocations::live() { return blocks; }
long allocations::live_bytes() { return bytes_taken; }
long allocations::count() { return calls; }
void allocations::fail_at(long k) { left = k; }
void allocations::stop() { left = -1; }

using allocations::each_fault;
using allocations::fails;

TEST_CASE("a graph that cannot be recorded for want of memory leaves its operands as they were") {
    auto const outcome = each_fault([](long k) -> char const* {
        LeafTensors const leaf;
        Steps s;
        bool const threw = fails(k, [&] { s = record(leaf); });
        if (threw != allocations::injected && k >= 0) return "a failure was swallowed";
        if (!leaf.untouched() || leaf.x.grad().defined()) return "an operand changed";
        return nullptr;
    });
    CHECK(outcome.faults > 50);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("after a pass that met a want of memory each leaf has the whole gradient or none, and "
          "the pass can be repeated") {
    Gradients4 const right = gradients(LeafTensors());
    auto const outcome = each_fault([&](long k) -> char const* {
        LeafTensors leaf;
        auto const s = record(leaf);
        if (fails(k, [&] { s.loss.backward({.retain_graph = true}); }) != allocations::injected &&
            k >= 0)
            return "a failure was swallowed";
        if (!whole_or_none(leaf, right)) return "a leaf has part of its gradient";
        leaf.zero_grad();
        s.loss.backward();
        if (!complete(leaf, right)) return "the repeated pass is wrong";
        return nullptr;
    });
    CHECK(outcome.faults > 50);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("a gradient is added to the one that was there before wholly or not at all") {
    Gradients4 const right = gradients(LeafTensors());
    auto const outcome = each_fault([&](long k) -> char const* {
        LeafTensors leaf;
        record(leaf).loss.backward();
        auto const s = record(leaf);
        fails(k, [&] { s.loss.backward(); });
        auto const once_or_twice = [](auto const& t, auto const& g) {
            decltype(g.clone()) const twice = g * 2.;
            return same(t.grad(), g) || same(t.grad(), twice);
        };
        return once_or_twice(leaf.x, right.x) && once_or_twice(leaf.w, right.w) &&
                       once_or_twice(leaf.b, right.b) && once_or_twice(leaf.z, right.z)
                   ? nullptr
                   : "half added";
    });
    CHECK(outcome.faults > 50);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE(
    "where grad() cannot finish, no .grad has changed, and a second call gives the gradients") {
    Gradients4 const right = gradients(LeafTensors());
    auto const outcome = each_fault([&](long k) -> char const* {
        LeafTensors const leaf;
        auto const s = record(leaf);
        auto const ask = [&] {
            auto [x, w, b, z] =
                grad(s.loss, xg::inputs(leaf.x, leaf.w, leaf.b, leaf.z), {.retain_graph = true});
            return Gradients4{x, w, b, z};
        };
        fails(k, ask);
        if (leaf.x.grad().defined() || leaf.w.grad().defined() || leaf.b.grad().defined() ||
            leaf.z.grad().defined())
            return "a .grad appeared";
        return same(ask(), right) ? nullptr : "the second call is wrong";
    });
    CHECK(outcome.faults > 50);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("a recorded pass that meets a want of memory leaves the graph whole") {
    LeafTensors const reference;
    auto const penalty = [](LeafTensors const& leaf, Steps const& s) {
        auto [x, w, b, z] =
            grad(s.loss, xg::inputs(leaf.x, leaf.w, leaf.b, leaf.z), {.create_graph = true});
        return D(sum(x * x) + sum(w * w) + sum(b * b) + sum(abs2(z)));
    };
    D const right = grad(penalty(reference, record(reference)), reference.x);
    auto const outcome = each_fault([&](long k) -> char const* {
        LeafTensors const leaf;
        auto const s = record(leaf);
        fails(k, [&] { grad(penalty(leaf, s), leaf.x, {.retain_graph = true}); });
        if (!leaf.untouched()) return "an operand changed";
        return same(grad(penalty(leaf, s), leaf.x), right) ? nullptr : "the second call is wrong";
    });
    CHECK(outcome.faults > 100);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("a value that a Node keeps does not keep its tensor's place") {
    allocations::NoCache const off;
    xg::Tensor<double> const start(0.7, xg::requires_grad);
    auto x = start;
    constexpr long steps = 1000;
    long const before = allocations::live_bytes();
    for (long i = 0; i < steps; ++i) x = sin(x);
    CHECK((allocations::live_bytes() - before) / steps <= 300);
    x.backward();
    CHECK(start.grad().item() > 0);
}

TEST_CASE("a pass that reaches no input frees what it started from") {
    using D = xg::Tensor<double>;
    allocations::NoCache const off;
    D const w({1., 2., 3.}, xg::requires_grad), unused({4., 5.}, xg::requires_grad);
    auto const pass = [&](D const& y) {
        CHECK_FALSE(xg::grad(sum(y), unused, {.allow_unused = true}).defined());
        auto const [none, all] =
            xg::grad(sum(y), std::tuple(unused, w), {.retain_graph = true, .allow_unused = true});
        CHECK_FALSE(none.defined());
        CHECK(all.defined());
        D const j = xg::jacobian([&](D const&) { return y; }, unused, {.strategy = "reverse"});
        CHECK(sum(j).item() == 0);
    };
    pass(w * w);
    long const before = allocations::live();
    for (int i = 0; i < 10; ++i) pass(w * w);
    CHECK(allocations::live() == before);
}
