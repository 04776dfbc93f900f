// A sum over everything computes its gradients together with its value; nobody may notice but by
// the time it takes.
#include <xgrad/testing/gradcheck.hpp>

#include "walk.hpp"

namespace {

D ramp(std::size_t n, double first) {
    D x = xg::zeros({n});
    for (std::size_t i = 0; i < n; ++i)
        x.mutable_data()[i] = first + 0.001 * static_cast<double>(i);
    return x.requires_grad_();
}

} // namespace

TEST_CASE("value and gradients of a full sum are right for every number of elements") {
    for (std::size_t n : {1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 23u, 24u, 31u, 40u, 256u, 257u,
             263u, 264u, 265u, 520u, 1000u}) {
        D const a = ramp(n, 1), b = ramp(n, -2);
        D const loss = sum(a * b + 0.5 * a - b / (a + 2.));
        loss.backward();
        double value = 0;
        for (std::size_t i = 0; i < n; ++i) {
            double const x = a.data()[i], y = b.data()[i];
            value += x * y + 0.5 * x - y / (x + 2);
            CHECK(a.grad().data()[i] ==
                  doctest::Approx(y + 0.5 + y / ((x + 2) * (x + 2))).epsilon(1e-12));
            CHECK(b.grad().data()[i] == doctest::Approx(x - 1 / (x + 2)).epsilon(1e-12));
        }
        CHECK(loss.item() == doctest::Approx(value).epsilon(1e-12));
    }
}

TEST_CASE("a tensor that stands in masks only, or beside itself, is no trouble for a full sum") {
    for (std::size_t n : {3u, 8u, 20u}) {
        D const x = ramp(n, -0.005), y = ramp(n, 2);
        sum(x * x * where(x > 0, 1., 3.) + where(y > 0, x, 5.)).backward();
        for (std::size_t i = 0; i < n; ++i)
            CHECK(x.grad().data()[i] ==
                  doctest::Approx(2 * x.data()[i] * (x.data()[i] > 0 ? 1 : 3) + 1));
        CHECK((!y.grad().defined() || norm(y.grad()).item() == 0));
    }
}

TEST_CASE("a gradient other than 1, a mean, a second pass and no pass at all give what they must") {
    D const x = ramp(300, 1);
    auto const slope = [&] {
        auto const g = x.grad().data()[7] / x.data()[7];
        auto leaf = x;
        leaf.zero_grad();
        return g;
    };
    sum(x * x).backward(D(3.));
    CHECK(slope() == doctest::Approx(6));
    (mean(x * x) * 2.).backward();
    CHECK(slope() == doctest::Approx(4. / 300));
    D const kept = sum(x * x);
    kept.backward({.retain_graph = true});
    kept.backward();
    CHECK(slope() == doctest::Approx(4));
    CHECK_THROWS_WITH_AS(
        kept.backward(), doctest::Contains(".retain_graph = true"), xg::GraphError);
    for (int unused = 0; unused < 5; ++unused) CHECK(sum(x * x).requires_grad());
    sum(x * x).backward();
    CHECK(slope() == doctest::Approx(2));
    D total(0.);
    for (int term = 0; term < 4; ++term) total = total + sum(x * x * static_cast<double>(term));
    total.backward();
    CHECK(slope() == doctest::Approx(12));
}

TEST_CASE("infinite, huge and tiny gradients of a full sum come out as if they had been there from "
          "the start") {
    D const x({1., 2.}, xg::requires_grad);
    sqrt(sum(where(x > 5., x * x, 0.))).backward(); // infinity times nothing chosen
    CHECK(difference(x.grad(), {0., 0.}) == "");
    xg::Tensor<float> const f({1.f, 2.f}, xg::requires_grad);
    sum(f * f * 3e38f).backward(xg::Tensor<float>(1e-30f));
    CHECK(static_cast<double>(f.grad()(0).item()) == doctest::Approx(6e8));
    CHECK(static_cast<double>(f.grad()(1).item()) == doctest::Approx(1.2e9));
}

TEST_CASE("a full sum notices that its operands were changed before backward") {
    D x = ramp(5, 1);
    D const loss = sum(x * x);
    {
        xg::NoGradGuard const off;
        x += 1.;
    }
    CHECK_THROWS_AS(loss.backward(), xg::VersionError);
}

TEST_CASE("a full sum is differentiated twice, and its float sum does not drift") {
    D const x = ramp(6, 1);
    auto const g = xg::grad(sum(x * x * x), x, {.create_graph = true});
    sum(g).backward();
    for (std::size_t i = 0; i < 6; ++i)
        CHECK(x.grad().data()[i] == doctest::Approx(6 * x.data()[i]));

    xg::Tensor<float> const ones = xg::full<float>({1 << 22}, 0.1f, xg::requires_grad);
    CHECK(static_cast<double>(sum(ones * 1.f).item()) ==
          doctest::Approx(0.1 * (1 << 22)).epsilon(1e-6));
}

TEST_CASE("hooks on what a full sum saved decide its gradient") {
    D const x({1., 2.}, xg::requires_grad);
    D const loss = sum(x * x);
    loss.grad_fn()->saved("a").register_hooks(
        [](xg::AnyTensor const& t) { return D(t.as<double>() * 10.); },
        [](D const& t) { return t; });
    SUBCASE("from 1") { loss.backward(); }
    SUBCASE("from another gradient") { loss.backward(D(1.)); }
    CHECK(x.grad()(0).item() == 20);
    CHECK(x.grad()(1).item() == 40);
}

TEST_CASE("a graph that is kept gives the same gradients, to the last bit, in every pass") {
    auto const wave = [](xg::Shape const& shape, double first) {
        return D(reshape(sin(ramp(numel(shape), first).detach() * 300.), xg::Axes(shape)));
    };
    D const w = wave({3, 7}, 2), v = wave({3, 1}, 3);
    auto const same = [&](auto const& f) {
        D x = wave({3, 7}, 1);
        x.requires_grad_();
        D const y = f(x);
        D const first = xg::grad(y, x, {.retain_graph = true}),
                second = xg::grad(y, x, {.retain_graph = true}), third = xg::grad(y, x);
        CHECK(std::equal(first.data(), first.data() + first.numel(), second.data()));
        CHECK(std::equal(first.data(), first.data() + first.numel(), third.data()));
        CHECK(xg::gradcheck(f, x));
    };
    same([&](D const& x) { return D(sum(sin(x) * w * x) * 0.37); });
    same([&](D const& x) { return D(mean(tanh(x * w) + log(1. + x * x)) / 3.); });
    same([&](D const& x) { return D(sum(x * v * x + v / (x * x + 1.)) / 7.); });
    same([&](D const& x) {
        return D(sum(log(sum(exp(x) * w * w, {1}, xg::keepdims)) * v * x) / 3.);
    });
    auto const layers = wave({5, 3, 7}, 4);
    same([&](D const& x) { return mean(x * layers + layers / (x * x + 1.) - x); });
    same([&](D const& x) { return mean(w / 3. + exp(x) - x + v); });
}

TEST_CASE("a sum whose gradients are streamed past the caches has the same gradients as its half") {
    std::size_t const count = (std::size_t{16} << 20) / sizeof(double) + 2;
    D const x = D(xg::linspace(0., 1., count)).requires_grad_();
    auto const half = static_cast<std::ptrdiff_t>(count / 2);
    auto const gradient = [&](D const& part) {
        D const leaf = part.detach().clone().requires_grad_();
        sum(sin(leaf) * leaf).backward();
        return leaf.grad();
    };
    sum(sin(x) * x).backward();
    CHECK(allclose(x.grad().narrow(0, 0, count / 2), gradient(x.narrow(0, 0, count / 2)), 0, 0));
    CHECK(allclose(x.grad().narrow(0, half, count - count / 2),
        gradient(x.narrow(0, half, count - count / 2)), 0, 0));
}

TEST_CASE("the sum of a plain tensor repeats its gradient, along axes of any extent") {
    for (xg::Shape const& shape :
        {xg::Shape{5, 1}, xg::Shape{1, 5}, xg::Shape{2, 3}, xg::Shape{0, 3}, xg::Shape{}}) {
        D x = xg::ones(shape).requires_grad_();
        sum(x).backward(D(3.));
        CHECK(allclose(x.grad(), D(3. * xg::ones(shape))));
        if (shape.size() != 2) continue;
        for (int const axis : {0, 1}) {
            D const y = sum(x, axis), weights = D(xg::arange(double(y.numel())));
            x.zero_grad();
            y.backward(weights);
            CHECK(allclose(x.grad(), D(xg::ones(shape) * unsqueeze(weights, axis))));
        }
    }
}
