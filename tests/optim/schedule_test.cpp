// Schedules against their definitions and against numbers computed by hand.
#include <support/values.hpp>
#include <xgrad/optim.hpp>

#include "tensor/compare.hpp"

namespace optim = xg::optim;

namespace {
struct Trained {
    D p = D({1.}, xg::requires_grad), q = D({1.}, xg::requires_grad);
    optim::SGD o{std::vector<optim::SGD::Group>{
        {{p}, {.lr = 1., .momentum = 0.5}}, {{q}, {.lr = 0.1, .momentum = 0.5}}}};

    void check(auto& schedule, std::vector<double> const& rates) {
        for (double const r : rates) {
            CHECK(o.lr(0) == doctest::Approx(r).epsilon(1e-12));
            schedule.step();
        }
    }
};
} // namespace

TEST_CASE("StepLR") {
    Trained t;
    optim::StepLR s(t.o, 2, 0.5);
    t.check(s, {1, 1, 0.5, 0.5, 0.25, 0.25});
    CHECK(t.o.lr(1) == doctest::Approx(0.0125));
}

TEST_CASE("CosineAnnealingLR goes down and up again") {
    Trained t;
    optim::CosineAnnealingLR s(t.o, 4, 0.2);
    double const c = std::sqrt(0.5) * 0.4;
    t.check(s, {1, 0.6 + c, 0.6, 0.6 - c, 0.2, 0.6 - c, 0.6, 0.6 + c, 1});
}

TEST_CASE("LambdaLR") {
    Trained t;
    optim::LambdaLR s(t.o, [](std::int64_t n) { return 1. / static_cast<double>(1 + n); });
    t.check(s, {1, 0.5, 1. / 3});
    CHECK(t.o.lr(1) == doctest::Approx(0.025));
}

TEST_CASE("LinearLR warms up") {
    Trained t;
    optim::LinearLR s(t.o, 0.2, 1, 4);
    t.check(s, {0.2, 0.4, 0.6, 0.8, 1, 1, 1});
}

TEST_CASE("OneCycleLR: rate up and down, momentum down and up") {
    Trained t;
    optim::OneCycleLR s(t.o, {.max_lr = 2,
                                 .total_steps = 11,
                                 .pct_start = 5. / 11,
                                 .anneal_strategy = "linear",
                                 .div_factor = 10,
                                 .final_div_factor = 100});
    std::vector<double> const rates{0.2, 0.65, 1.1, 1.55, 2};
    std::vector<double> const momenta{0.95, 0.925, 0.9, 0.875, 0.85};
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(t.o.lr(1) == doctest::Approx(rates[i]));
        CHECK(*t.o.momentum(1) == doctest::Approx(momenta[i]));
        s.step();
    }
    CHECK(t.o.lr(0) == doctest::Approx(2 - (2 - 0.002) / 6));
    for (int i = 5; i < 10; ++i) s.step();
    CHECK(t.o.lr(0) == doctest::Approx(0.002));
    CHECK(*t.o.momentum(0) == doctest::Approx(0.95));
    s.step();
    CHECK_THROWS_WITH_AS(
        s.step(), "Tried to step 12 times. The specified number of total steps is 11", xg::Error);

    optim::Adagrad adagrad({t.p});
    CHECK_THROWS_WITH_AS(
        optim::OneCycleLR(adagrad, {}), doctest::Contains("must support momentum"), xg::Error);
    Trained cosine;
    optim::OneCycleLR half(
        cosine.o, {.max_lr = 2, .total_steps = 11, .pct_start = 5. / 11, .div_factor = 10});
    half.step(), half.step();
    CHECK(cosine.o.lr(0) == doctest::Approx(1.1));
}

TEST_CASE("ReduceLROnPlateau: patience, cooldown, threshold, a lowest rate") {
    Trained t;
    optim::ReduceLROnPlateau s(
        t.o, {.factor = 0.5, .patience = 1, .threshold = 0.1, .cooldown = 2, .min_lr = 0.3});
    std::vector<std::pair<double, double>> const number_and_rate{
        {10, 1}, {9.5, 1}, {9.5, 0.5}, {9.5, 0.5}, {9.5, 0.5}, {9.5, 0.5}, {9.5, 0.3}, {5, 0.3}};
    for (auto const& [number, rate] : number_and_rate) {
        s.step(number);
        CHECK(t.o.lr(0) == doctest::Approx(rate));
    }
    CHECK(s.best() == 5);
    Trained up;
    optim::ReduceLROnPlateau m(up.o, {.mode = "max", .patience = 0, .threshold_mode = "abs"});
    m.step(1), m.step(2);
    CHECK(up.o.lr(0) == 1);
    m.step(2);
    CHECK(up.o.lr(0) == doctest::Approx(0.1));
}

TEST_CASE("a schedule resumes") {
    Trained a, b;
    optim::CosineAnnealingLR s(a.o, 7), r(b.o, 7);
    for (int i = 0; i < 3; ++i) s.step();
    b.o.load_state_dict(a.o.state_dict());
    r.load_state_dict(s.state_dict());
    s.step(), r.step();
    CHECK(a.o.lr(0) == b.o.lr(0));
    CHECK(r.count() == 4);

    Trained c, d;
    optim::ReduceLROnPlateau p(c.o, {.patience = 1}), q(d.o, {.patience = 1});
    p.step(1), p.step(1);
    q.load_state_dict(p.state_dict());
    q.step(1);
    CHECK(d.o.lr(0) == doctest::Approx(0.1));
}

TEST_CASE("OneCycleLR lets a loop of total_steps end, and gives any momentum its cycle") {
    D const w({1.}, xg::requires_grad);
    optim::SGD o({w}, {.lr = 0.1});
    optim::OneCycleLR s(o, {.max_lr = 0.1, .total_steps = 5});
    std::vector<std::pair<double, double>> const recorded{{0.09504846320134738, 0.854951556604879},
        {0.06112620219362893, 0.8888739533021842}, {0.0188258346050237, 0.9311744900929366},
        {4e-07, 0.95}, {0.01882583460502369, 0.9311744900929366}}; // PyTorch 1.13
    for (auto const& [rate, momentum] : recorded) {
        s.step();
        CHECK(o.lr(0) == doctest::Approx(rate).epsilon(1e-12));
        CHECK(*o.momentum(0) == doctest::Approx(momentum).epsilon(1e-12));
    }
    CHECK_THROWS_WITH_AS(
        s.step(), "Tried to step 6 times. The specified number of total steps is 5", xg::Error);
}

TEST_CASE("factors of several schedules for one optimiser are multiplied") {
    Trained t;
    optim::LinearLR warm_up(t.o, 0.5, 1, 2);
    optim::StepLR decay(t.o, 1, 0.1);
    std::vector<double> const rates{0.5, 0.075, 0.01, 0.001, 0.0001}; // of PyTorch, for a rate of 1
    for (double const r : rates) {
        CHECK(t.o.lr(0) == doctest::Approx(r).epsilon(1e-12));
        CHECK(t.o.lr(1) == doctest::Approx(r / 10).epsilon(1e-12));
        warm_up.step(), decay.step();
    }

    Trained c;
    optim::StepLR halved(c.o, 1, 0.5);
    optim::CosineAnnealingLR cosine(c.o, 2, 0.2);
    double now = 1;
    for (int n = 1; n <= 6; ++n) { // PyTorch's recursion
        halved.step(), cosine.step();
        now /= 2;
        double const before = 1 + std::cos(std::acos(-1.) * (n - 1) / 2),
                     after = 1 + std::cos(std::acos(-1.) * n / 2);
        now = (n - 1 - 2) % 4 == 0 ? now + 0.8 * (1 - std::cos(std::acos(-1.) / 2)) / 2
                                   : 0.2 + (now - 0.2) * after / before;
        CHECK(c.o.lr(0) == doctest::Approx(now).epsilon(1e-12));
    }
}

TEST_CASE("a schedule goes on from a rate that was set by hand") {
    Trained t;
    optim::StepLR s(t.o, 2, 0.1);
    s.step();
    t.o.lr(0) = 0.5;
    s.step(), s.step();
    CHECK(t.o.lr(0) == doctest::Approx(0.05));
    CHECK(t.o.lr(1) == doctest::Approx(0.01));

    optim::LambdaLR over(t.o,
        [](std::int64_t n) { return static_cast<double>(n + 2); }); // knows the initial rate alone
    CHECK(t.o.lr(0) == 2);
}

TEST_CASE("several schedules resume, in any order") {
    Trained a, b;
    optim::LinearLR w(a.o, 0.5, 1, 4), w2(b.o, 0.5, 1, 4);
    optim::StepLR s(a.o, 2, 0.1), s2(b.o, 2, 0.1);
    for (int i = 0; i < 3; ++i) w.step(), s.step();
    s2.load_state_dict(s.state_dict());
    w2.load_state_dict(w.state_dict());
    for (int i = 0; i < 3; ++i) {
        CHECK(a.o.lr(0) == b.o.lr(0));
        w.step(), s.step(), w2.step(), s2.step();
    }
}

TEST_CASE("a schedule without a function is refused") {
    Trained t;
    CHECK_THROWS_WITH_AS(optim::LambdaLR(t.o, {}), "LambdaLR: there is no function", xg::Error);
}

TEST_CASE("an option of a schedule that is out of range is named, with its value") {
    Trained t;
    CHECK(support::message_of([&] { optim::StepLR(t.o, 0); }) ==
          "StepLR: step_size must be at least 1, and is 0");
    CHECK(support::message_of([&] { optim::CosineAnnealingLR(t.o, -2); }) ==
          "CosineAnnealingLR: t_max must be at least 1, and is -2");
    CHECK(support::message_of([&] { optim::LinearLR(t.o, {.start_factor = 1.5}); }) ==
          "LinearLR: start_factor must be above 0 and at most 1, and is 1.5");
    CHECK(support::message_of([&] { optim::LinearLR(t.o, {.end_factor = -1}); }) ==
          "LinearLR: end_factor must be at least 0, and is -1");
    CHECK(support::message_of([&] { optim::LinearLR(t.o, {.total_iters = 0}); }) ==
          "LinearLR: total_iters must be at least 1, and is 0");
    CHECK(support::message_of([&] { optim::OneCycleLR(t.o, {.max_lr = 1, .total_steps = 0}); }) ==
          "OneCycleLR: total_steps must be at least 1, and is 0");
    CHECK(support::message_of([&] {
        optim::OneCycleLR(t.o, {.max_lr = 1, .total_steps = 9, .pct_start = 2});
    }) == "OneCycleLR: pct_start must be at most 1, and is 2");
    CHECK(support::message_of([&] { optim::ReduceLROnPlateau(t.o, {.factor = 1}); }) ==
          "ReduceLROnPlateau: factor must be at least 0 and below 1, and is 1");
}
