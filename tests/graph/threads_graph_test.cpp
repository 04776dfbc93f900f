// Threads that share leaves or part of a graph: gradients are exact, and what one frees the others
// miss by a clear error.
#include "threads.hpp"

namespace {
/// How a pass over a graph that several threads share may end.
struct Ends {
    std::atomic<int> right = 0, freed = 0, other = 0;

    template <class F> void count(F pass) {
        try {
            if (pass()) ++right;
            else ++other;
        } catch (xg::GraphError const& e) {
            if (std::string(e.what()).find("Specify .retain_graph = true") != std::string::npos)
                ++freed;
            else ++other;
        }
    }
};
} // namespace

TEST_CASE("ten threads use one leaf: .grad has ten times the gradient") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    at_once(10, [&](int) {
        D const y = (x + 3.) * (x + 4.) * 0.5;
        sum(y).backward();
    });
    CHECK(difference(x.grad(), D((x.detach() + 3.5) * 10.)) == "");
}

TEST_CASE("ten threads ask grad() for the gradient of one leaf: each gets the whole, and .grad "
          "stays empty") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const wanted = x.detach() + 3.5;
    std::vector<std::string> wrong(10);
    at_once(10, [&](int k) {
        D const y = (x + 3.) * (x + 4.) * 0.5;
        wrong[static_cast<std::size_t>(k)] = difference(grad(sum(y), x), wanted);
    });
    for (auto const& text : wrong) CHECK(text == "");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("leaves of every kind collect from several threads at once, real and complex, through "
          "products, cat and views") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    Z const z({{1., 1.}, {0.5, -2.}}, xg::requires_grad);
    auto const loss = [&] {
        D const m = matmul(x, x);
        D joined = xg::cat<double>({m, x(xt::all(), xg::slice(0, 1))}, 1) * 1.;
        joined(0) *= 2.;
        return D(sum(joined * joined) + sum(abs2(z * x(0)(0))));
    };
    loss().backward();
    D const gx = x.grad() * 24.;
    Z const gz = z.grad() * 24.;
    D(x).zero_grad();
    Z(z).zero_grad();
    at_once(4, [&](int) {
        for (int i = 0; i < 6; ++i) loss().backward();
    });
    CHECK(difference(x.grad(), gx) == "");
    CHECK(difference(z.grad(), gz) == "");
}

TEST_CASE("a graph that all threads share is freed by one of them: at least one gets its gradient, "
          "and the others are told") {
    for (int round = 0; round < 20; ++round) {
        D const x({1., 2.}, xg::requires_grad);
        D const half = exp(x);
        Ends ends;
        at_once(4, [&](int k) {
            ends.count([&] {
                D const loss = sum(half * (1. + k));
                return difference(grad(loss, x), D(half.detach() * (1. + k))).empty();
            });
        });
        CHECK(ends.right >= 1);
        CHECK(ends.other == 0);
        CHECK(ends.right + ends.freed == 4);
    }
}

TEST_CASE("a whole shared graph runs backward in all threads: who comes too late adds nothing") {
    for (int round = 0; round < 20; ++round) {
        D const x({1., 2.}, xg::requires_grad);
        D const loss = sum(square(exp(x)));
        Ends ends;
        at_once(4, [&](int) {
            ends.count([&] {
                loss.backward();
                return true;
            });
        });
        CHECK(ends.right >= 1);
        CHECK(ends.other == 0);
        CHECK(ends.right + ends.freed == 4);
        CHECK(difference(x.grad(), D(exp(x.detach() * 2.) * (2. * ends.right.load()))) == "");
    }
}

TEST_CASE(
    "a shared part that is kept serves all threads exactly, also where each adds to the leaf") {
    D const x({1., 2., 3.}, xg::requires_grad);
    D const half = tanh(x) * exp(x);
    D const slope = grad(sum(half), x, {.retain_graph = true});
    at_once(5, [&](int k) {
        for (int i = 0; i < 10; ++i) sum(half * (1. + k)).backward({.retain_graph = true});
    });
    CHECK(difference(x.grad(), D(slope * 150.)) == "");
}

TEST_CASE("threads may fork in the middle of a graph, and the tail joins what they made") {
    D const x({1., 2.}, xg::requires_grad);
    D const trunk = x * x;
    std::vector<D> branches(4);
    at_once(4, [&](int k) { branches[static_cast<std::size_t>(k)] = sin(trunk) * (1. + k); });
    D const loss = sum(branches[0] + branches[1] + branches[2] + branches[3]);
    loss.backward();
    CHECK(difference(x.grad(), D(cos(square(x.detach())) * x.detach() * 20.)) == "");
}

TEST_CASE("threads look through old views of a changed tensor at once, and each sees its history") {
    for (int round = 0; round < 20; ++round) {
        D const x({1., 2., 3.}, xg::requires_grad);
        D t = x * 2.;
        D const view = t(xg::slice(0, 2));
        t *= 3.;
        std::atomic<int> right = 0;
        at_once(4, [&](int) {
            right += view.requires_grad() &&
                     difference(
                         grad(sum(view * view), x, {.retain_graph = true}), {72., 144., 0.}) == "";
        });
        CHECK(right == 4);
    }
}

TEST_CASE("threads record passes over one graph, and differentiate those") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x * x;
    std::atomic<int> right = 0;
    at_once(4, [&](int) {
        for (int i = 0; i < 10; ++i) {
            D const g = grad(sum(y), x, {.create_graph = true});
            right += difference(grad(sum(g), x, {.retain_graph = true}), {6., 12.}) == "";
        }
    });
    CHECK(right == 40);
}
