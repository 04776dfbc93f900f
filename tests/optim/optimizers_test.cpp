// Optimisers against their recurrences in plain doubles.
#include <xgrad/optim.hpp>

#include "tensor/compare.hpp"

namespace optim = xg::optim;

namespace {

/// Steps of an optimiser on (p - 3)^2 / 2, whose gradient is p - 3.
template <class O> std::vector<double> path(typename O::Options const& options, int steps) {
    D p({1.}, xg::requires_grad);
    O optimizer({p}, options);
    std::vector<double> all;
    for (int i = 0; i < steps; ++i) {
        optimizer.zero_grad();
        D const loss = sum(0.5 * square(p - 3.));
        loss.backward();
        optimizer.step();
        all.push_back(p.item());
    }
    return all;
}

/// The same with `next(p, gradient, t)` in plain doubles.
template <class F> std::vector<double> recurrence(int steps, F next) {
    double p = 1;
    std::vector<double> all;
    for (int t = 1; t <= steps; ++t) all.push_back(p = next(p, p - 3, t));
    return all;
}

void check(std::vector<double> const& got, std::vector<double> const& wanted) {
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-13));
}

} // namespace

TEST_CASE("SGD") {
    check(path<optim::SGD>({.lr = 0.1}, 5),
        recurrence(5, [](double p, double g, int) { return p - 0.1 * g; }));
    check(path<optim::SGD>({.lr = 0.1, .weight_decay = 0.2}, 5),
        recurrence(5, [](double p, double g, int) { return p - 0.1 * (g + 0.2 * p); }));
    check(path<optim::SGD>({.lr = 0.1, .maximize = true}, 3),
        recurrence(3, [](double p, double g, int) { return p + 0.1 * g; }));
    for (bool const nesterov : {false, true})
        check(path<optim::SGD>({.lr = 0.1,
                                   .momentum = 0.9,
                                   .dampening = nesterov ? 0 : 0.3,
                                   .weight_decay = 0.1,
                                   .nesterov = nesterov},
                  6),
            recurrence(6, [b = 0., nesterov](double p, double g, int t) mutable {
                g += 0.1 * p;
                b = t == 1 ? g : 0.9 * b + (nesterov ? 1 : 0.7) * g;
                return p - 0.1 * (nesterov ? g + 0.9 * b : b);
            }));
}

TEST_CASE("Adam and AdamW") {
    for (bool const amsgrad : {false, true}) {
        auto const adam = [amsgrad](double decay, double shrink) {
            return [=, m = 0., v = 0., largest = 0.](double p, double g, int t) mutable {
                p *= 1 - 0.1 * shrink;
                g = g + decay * p;
                m = 0.8 * m + 0.2 * g;
                v = 0.9 * v + 0.1 * g * g;
                largest = std::max(largest, v);
                return p - 0.1 * (m / (1 - std::pow(0.8, t))) /
                               (std::sqrt((amsgrad ? largest : v) / (1 - std::pow(0.9, t))) + 1e-3);
            };
        };
        check(path<optim::Adam>({.lr = 0.1,
                                    .betas = {0.8, 0.9},
                                    .eps = 1e-3,
                                    .weight_decay = 0.05,
                                    .amsgrad = amsgrad},
                  30),
            recurrence(30, adam(0.05, 0)));
        auto const got = path<optim::AdamW>(
            {.lr = 0.1, .betas = {0.8, 0.9}, .eps = 1e-3, .weight_decay = 0.05, .amsgrad = amsgrad},
            30);
        check(got, recurrence(30, adam(0, 0.05)));
    }
}

TEST_CASE("Adagrad and RMSprop") {
    check(path<optim::Adagrad>(
              {.lr = 0.5, .lr_decay = 0.1, .weight_decay = 0.2, .initial_accumulator_value = 0.3},
              10),
        recurrence(10, [s = 0.3](double p, double g, int t) mutable {
            g += 0.2 * p;
            s += g * g;
            return p - 0.5 / (1 + (t - 1) * 0.1) * g / (std::sqrt(s) + 1e-10);
        }));
    for (bool const centered : {false, true})
        for (double const momentum : {0., 0.9})
            check(path<optim::RMSprop>({.lr = 0.05,
                                           .alpha = 0.9,
                                           .weight_decay = 0.1,
                                           .momentum = momentum,
                                           .centered = centered},
                      10),
                recurrence(10, [=, s = 0., a = 0., b = 0.](double p, double g, int) mutable {
                    g += 0.1 * p;
                    s = 0.9 * s + 0.1 * g * g;
                    a = 0.9 * a + 0.1 * g;
                    double const d = g / (std::sqrt(centered ? s - a * a : s) + 1e-8);
                    b = momentum * b + d;
                    return p - 0.05 * b;
                }));
}

TEST_CASE_TEMPLATE("a complex parameter is a pair of real ones", O, optim::SGD, optim::Adam,
    optim::AdamW, optim::Adagrad, optim::RMSprop) {
    using Complex = std::complex<double>;
    Z z({Complex(1, -2)}, xg::requires_grad);
    D x({1.}, xg::requires_grad), y({-2.}, xg::requires_grad);
    O on_complex({z}, {.lr = 0.1, .weight_decay = 0.01}),
        on_real({x, y}, {.lr = 0.1, .weight_decay = 0.01});
    for (int i = 0; i < 5; ++i) {
        on_complex.zero_grad(), on_real.zero_grad();
        D(sum(square(abs2(z - Complex(0.5, 1))))).backward();
        D(sum(square(square(x - 0.5) + square(y - 1.)))).backward();
        on_complex.step(), on_real.step();
    }
    CHECK(z.item().real() == doctest::Approx(x.item()).epsilon(1e-12));
    CHECK(z.item().imag() == doctest::Approx(y.item()).epsilon(1e-12));
    CHECK(x.item() != 1);
}

TEST_CASE("a real loss of a complex parameter is minimised") {
    Z z({std::complex<double>(3, 4)}, xg::requires_grad);
    optim::Adam optimizer({z}, {.lr = 0.1});
    for (int i = 0; i < 500; ++i)
        optimizer.step([&] {
            optimizer.zero_grad();
            D const loss = sum(abs2(z - std::complex<double>(1, -1)));
            loss.backward();
            return loss.item();
        });
    CHECK(std::abs(z.item() - std::complex<double>(1, -1)) < 1e-3);
}

TEST_CASE("groups and parameters that are not there") {
    D const p({1.}, xg::requires_grad);
    optim::SGD o({p}, {.lr = 0.1});
    CHECK_THROWS_WITH_AS(o.lr(3), "optimizer: there is no group 3 of 1", xg::IndexError);
    CHECK_THROWS_WITH_AS(o.options(1), "optimizer: there is no group 1 of 1", xg::IndexError);
    CHECK_THROWS_WITH_AS(o.parameters(1), "optimizer: there is no group 1 of 1", xg::IndexError);
    CHECK_THROWS_WITH_AS(o.state(3), "optimizer: there is no parameter 3 of 1", xg::IndexError);
}
