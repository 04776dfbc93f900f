// LBFGS against numbers of PyTorch 1.13, where the complex parameter was a pair of real ones.
// States, errors in a closure, and steps inside backward().
#include <xgrad/optim.hpp>

#include "tensor/compare.hpp"

namespace optim = xg::optim;

namespace {

struct Problem {
    D w = D({-1.2, 1.}, xg::requires_grad);
    Z z = Z({complex<double>(0.5, 0.1)}, xg::requires_grad);
    int calls = 0;

    double closure(optim::Optimizer& o) {
        ++calls;
        o.zero_grad();
        D const valley = 100. * square(w[1] - square(w[0])) + square(1. - w[0]);
        D const loss = sum(valley + abs2(z * z - complex<double>(1, 2)) + w[0] * real(z));
        loss.backward();
        return loss.item();
    }
    double step(optim::LBFGS& o) {
        return o.step([&] { return closure(o); });
    }
};

struct Recorded {
    optim::LBFGSOptions options;
    std::vector<double> losses;
    int calls;
    std::int64_t iterations;
    std::vector<double> w;
    complex<double> z;
};

} // namespace

TEST_CASE("LBFGS makes the steps of PyTorch") {
    auto const wolfe = optim::LineSearch::strong_wolfe;
    Recorded const all[] = {
        {{.max_iter = 4, .line_search_fn = wolfe}, {27.7876, 7.70663710731544, 5.33932767152464},
            15, 11, {-0.857819244382763, 0.738411670264035}, {1.30466712804846, 0.8232200381253}},
        {{.max_iter = 30, .history_size = 3, .line_search_fn = wolfe}, {27.7876, 0.880550129267885},
            53, 43, {0.374652908092804, 0.140364899175584}, {1.25069061849432, 0.786074545048552}},
        {{.lr = 0.05, .max_iter = 3, .history_size = 2},
            {27.7876, 19.0424682383087, 17.1130871287949}, 9, 6,
            {-1.1393135119195, 1.02750288914206}, {0.502734531062556, 0.102805139821137}},
        {{.lr = 0.1, .max_iter = 10, .max_eval = 4}, {27.7876}, 4, 3,
            {-1.11430268306334, 1.03589995463043}, {0.502123852683827, 0.102162898818873}},
    };
    for (auto const& r : all) {
        Problem p;
        optim::LBFGS o({p.w, p.z}, r.options);
        for (double const loss : r.losses) CHECK(p.step(o) == doctest::Approx(loss).epsilon(1e-6));
        CHECK(p.calls == r.calls);
        CHECK(o.evaluations() == r.calls);
        CHECK(o.iterations() == r.iterations);
        CHECK(difference(p.w.detach(), D({r.w[0], r.w[1]}), 1e-6) == "");
        CHECK(difference(p.z.detach(), Z({r.z}), 1e-6) == "");
    }
}

TEST_CASE("LBFGS resumed is uninterrupted, bit for bit") {
    Problem p, q;
    optim::LBFGS whole({p.w, p.z},
        {.max_iter = 3, .history_size = 4, .line_search_fn = optim::LineSearch::strong_wolfe}),
        resumed({q.w, q.z});
    p.step(whole), p.step(whole);
    auto const state = whole.state_dict();
    {
        xg::NoGradGuard const off;
        q.w.copy_(p.w), q.z.copy_(p.z);
    }
    resumed.load_state_dict(state);
    for (int i = 0; i < 2; ++i) CHECK(p.step(whole) == q.step(resumed));
    CHECK(values(p.w) == values(q.w));
    CHECK(values(p.z) == values(q.z));

    optim::LBFGS other({p.w}, {.lr = 0.5});
    CHECK_THROWS_WITH_AS(other.load_state_dict(state),
        "load_state_dict: 'step' is no vector of 2 numbers", xg::Error);
    CHECK(other.lr() == 0.5);
}

TEST_CASE("LBFGS with parameters of low precision, and where the function is not a number") {
    F a({5.f, -3.f}, xg::requires_grad);
    D b({9.}, xg::requires_grad);
    optim::LBFGS o(
        {a, b}, {.lr = 100, .max_iter = 60, .line_search_fn = optim::LineSearch::strong_wolfe});
    auto const loss = o.step([&] {
        o.zero_grad();
        // the logarithms of the first points are not numbers
        D value = sum(b - log(b)) + cast<double>(sum(square(a - 1.f)));
        value.backward();
        return value;
    });
    CHECK(loss.item() == doctest::Approx(32 + 9 - std::log(9.)));
    CHECK(difference(a.detach(), {1.f, 1.f}, 1e-4) == "");
    CHECK(b.item() == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE("a closure that throws leaves the parameters of the last iteration") {
    Problem p;
    optim::LBFGS o({p.w, p.z}, {.max_iter = 1, .line_search_fn = optim::LineSearch::strong_wolfe});
    p.step(o);
    auto const before = values(p.w);
    int calls = 0;
    auto const bad = [&] {
        if (++calls == 2) throw std::runtime_error("no more");
        return p.closure(o);
    };
    CHECK_THROWS_WITH_AS(o.step(bad), "no more", std::runtime_error);
    CHECK(values(p.w) == before);
    double const loss = p.step(o);
    CHECK(p.closure(o) < loss);
    CHECK_THROWS_WITH_AS(o.step(), doctest::Contains("LBFGS: step() needs a closure"), xg::Error);
    CHECK_THROWS_AS(optim::LBFGS({p.w}, {.max_iter = 0}), xg::Error);
}

TEST_CASE("steps inside backward: the same steps, and no gradient stays") {
    auto const train = [](bool inside) {
        D a({1., 2.}, xg::requires_grad), b({3.}, xg::requires_grad);
        F c({0.5f}, xg::requires_grad);
        optim::SGD o(std::vector<optim::SGD::Group>{
            {{a}, {.lr = 0.1, .momentum = 0.9}}, {{b, c}, {.lr = 0.05, .momentum = 0.5}}});
        int most = 0;
        auto handle = inside ? optim::step_in_backward(o) : xg::HookHandle();
        auto const count = [&](auto const&) {
            most = std::max(
                most, int(a.grad().defined()) + int(b.grad().defined()) + int(c.grad().defined()));
        };
        if (inside)
            a.register_post_accumulate_grad_hook(count),
                b.register_post_accumulate_grad_hook(count),
                c.register_post_accumulate_grad_hook(count);
        for (int i = 0; i < 4; ++i) {
            D const loss = sum(square(a) * b) + sum(square(cast<double>(c)));
            loss.backward();
            if (inside) continue;
            o.step();
            o.zero_grad();
        }
        CHECK(most == 0);
        CHECK_FALSE(b.grad().defined());
        CHECK(o.state(2).steps == 4);
        handle.remove();
        sum(square(b)).backward();
        CHECK(b.grad().defined());
        return std::tuple(values(a), values(b), values(c));
    };
    CHECK(train(true) == train(false));
}
