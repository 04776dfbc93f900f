// No memory while hooks are registered, or while anomaly mode writes down where Nodes come from.
#include "allocations.hpp"

using allocations::each_fault;
using allocations::fails;

namespace {

/// Registers a hook, which counts its calls, with each allocation failing in turn: it is there, or
/// it is not.
template <class Register> allocations::Outcome registered_with_each_fault(Register add) {
    return each_fault([&](long k) -> char const* {
        D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
        D y = x * w;
        int calls = 0;
        xg::HookHandle handle;
        bool const threw = fails(k, [&] { handle = add(x, w, y, calls); });
        if (threw != allocations::injected && k >= 0) return "a failure was swallowed";
        sum(y * 2.).backward({.retain_graph = true});
        if (calls != (threw ? 0 : 1)) return "the hook is neither there nor not";
        handle.remove();
        sum(y * 2.).backward();
        if (calls != (threw ? 0 : 1)) return "the hook stayed";
        return difference(x.grad(), {12., 16.}).empty() ? nullptr : "a wrong gradient";
    });
}

} // namespace

TEST_CASE("a hook that cannot be registered is not there") {
    allocations::Outcome outcome;
    SUBCASE("on a leaf") {
        outcome = registered_with_each_fault([](D& x, D&, D&, int& calls) {
            return x.register_hook([&calls](D const&) { ++calls; });
        });
    }
    SUBCASE("on a tensor") {
        outcome = registered_with_each_fault([](D&, D&, D& y, int& calls) {
            return y.register_hook([&calls](D const&) { ++calls; });
        });
    }
    SUBCASE("before a Node") {
        outcome = registered_with_each_fault([](D&, D&, D& y, int& calls) {
            return y.grad_fn()->register_prehook([&calls](auto const&) { ++calls; });
        });
    }
    SUBCASE("after a Node") {
        outcome = registered_with_each_fault([](D&, D&, D& y, int& calls) {
            return y.grad_fn()->register_hook([&calls](auto const&, auto const&) { ++calls; });
        });
    }
    SUBCASE("after accumulation") {
        outcome = registered_with_each_fault([](D& x, D&, D&, int& calls) {
            return x.register_post_accumulate_grad_hook([&calls](D const&) { ++calls; });
        });
    }
    SUBCASE("on several tensors") {
        outcome = registered_with_each_fault([](D& x, D& w, D& y, int& calls) {
            return xg::register_multi_grad_hook({x, w, y}, [&calls](auto const&) { ++calls; });
        });
    }
    SUBCASE("on the first of several") {
        outcome = registered_with_each_fault([](D& x, D& w, D& y, int& calls) {
            return xg::register_multi_grad_hook(
                {x, w, y}, [&calls](xg::AnyTensor const&) { ++calls; }, xg::any);
        });
    }
    CHECK(outcome.faults > 2);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("a saved tensor that cannot be packed stays as it is") {
    auto const outcome = each_fault([](long k) -> char const* {
        D const x({1., 2.}, xg::requires_grad);
        D const y = x * x;
        int packed = 0;
        bool const threw = fails(k, [&] {
            y.grad_fn()->saved("a").register_hooks(
                [&](xg::AnyTensor const& t) { return ++packed, t.as<double>().clone(); },
                [](D const& t) { return t; });
        });
        if (!threw && packed != 1) return "it was not packed";
        return difference(grad(sum(y), x), {2., 4.}).empty() ? nullptr : "a wrong gradient";
    });
    CHECK(outcome.faults > 2);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("a tensor whose gradient cannot be retained is as before, and may be asked again") {
    auto const outcome = each_fault([](long k) -> char const* {
        D const x({1., 2.}, xg::requires_grad);
        D y = x * 2.;
        if (fails(k, [&] { y.retain_grad(); }) == y.retains_grad())
            return "retains_grad() does not tell what happened";
        y.retain_grad();
        sum(y * y).backward();
        return difference(y.grad(), {4., 8.}).empty() ? nullptr : "a wrong gradient";
    });
    CHECK(outcome.faults > 1);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("anomaly mode does no harm where memory is short") {
    auto const before = xg::set_warning_handler([](std::string const&) {});
    auto const outcome = each_fault([](long k) -> char const* {
        xg::AnomalyMode const anomaly_mode;
        D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
        bool const threw = fails(k, [&] {
            D const y = matmul(outer(x * w, w), w);
            D(sum(exp(y * 0.125)) + sum(x)).backward();
        });
        if (threw != allocations::injected && k >= 0) return "a failure was swallowed";
        return difference(grad(sum(x * w), x), {3., 4.}).empty() ? nullptr
                                                                 : "a wrong gradient afterwards";
    });
    xg::set_warning_handler(before);
    CHECK(outcome.faults > 50);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}
