// Groups, states, closures, clipping, misuse.
#include <xgrad/optim.hpp>

#include "tensor/compare.hpp"

namespace optim = xg::optim;

namespace {

struct Problem {
    D a = D({1., -2.}, xg::requires_grad);
    F b = F({0.5f}, xg::requires_grad);
    Z c = Z({complex<double>(1, 1)}, xg::requires_grad);

    std::vector<xg::AnyTensor> parameters() const { return {a, b, c}; }
    void backward() const {
        D const loss =
            sum(square(a) * square(a)) + sum(exp(cast<double>(b))) + sum(abs2(c * c - 1.));
        loss.backward();
    }
    bool same(Problem const& o) const {
        return values(a) == values(o.a) && values(b) == values(o.b) && values(c) == values(o.c);
    }
    Problem copy() const {
        Problem p;
        xg::NoGradGuard const off;
        p.a.copy_(a), p.b.copy_(b), p.c.copy_(c);
        return p;
    }
};

void run(Problem const& p, optim::Optimizer& o, int steps) {
    for (int i = 0; i < steps; ++i) {
        o.zero_grad();
        p.backward();
        o.step();
    }
}

template <class O> typename O::Options options() {
    typename O::Options o;
    o.lr = 0.013;
    o.weight_decay = 0.1;
    if constexpr (requires { o.momentum; }) o.momentum = 0.9;
    if constexpr (requires { o.amsgrad; }) o.amsgrad = true;
    if constexpr (requires { o.centered; }) o.centered = true;
    return o;
}

} // namespace

TEST_CASE_TEMPLATE("resumed is uninterrupted, bit for bit", O, optim::SGD, optim::Adam,
    optim::AdamW, optim::Adagrad, optim::RMSprop) {
    Problem const p;
    O whole(p.parameters(), options<O>());
    run(p, whole, 4);
    Problem const q = p.copy();
    auto const state = whole.state_dict();
    run(p, whole, 5);
    O resumed(q.parameters());
    resumed.load_state_dict(state);
    run(q, resumed, 5);
    CHECK(p.same(q));
    CHECK(resumed.lr() == 0.013);
    CHECK(resumed.state(0).steps == 9);
}

TEST_CASE("groups have options of their own, and parameters without a gradient stay") {
    D a({1.}, xg::requires_grad), b({1.}, xg::requires_grad), c({1.}, xg::requires_grad);
    optim::SGD o(std::vector<optim::SGD::Group>{{{a}, {.lr = 0.1}}, {{b}, {.lr = 0.5}}});
    o.add_param_group({{c}, {.lr = 1.}});
    CHECK(o.group_count() == 3);
    sum(2. * a + 2. * b).backward();
    o.step();
    CHECK(difference(a.detach(), {0.8}) == "");
    CHECK(difference(b.detach(), {0.}) == "");
    CHECK(difference(c.detach(), {1.}) == "");
    CHECK(o.state(2).steps == 0);
    o.lr(0) = 1;
    o.step();
    CHECK(difference(a.detach(), {-1.2}) == "");
    CHECK(a.version() == 2);
    CHECK(a.requires_grad());
}

TEST_CASE("step(closure) computes gradients also in a NoGradGuard, and returns the loss") {
    D a({3.}, xg::requires_grad);
    optim::SGD o({a}, {.lr = 0.5});
    xg::NoGradGuard const off;
    D const loss = o.step([&] {
        D l = sum(square(a));
        l.backward();
        return l;
    });
    CHECK(loss.item() == 9);
    CHECK(a.item() == 0);
}

TEST_CASE("a state of something else is an error, and changes nothing") {
    Problem const p;
    optim::SGD sgd(p.parameters(), {.lr = 0.01, .momentum = 0.9});
    optim::Adam adam(p.parameters(), {.lr = 0.02});
    run(p, adam, 2);
    run(p, sgd, 1);
    CHECK_THROWS_AS(sgd.load_state_dict(adam.state_dict()), xg::Error);
    CHECK(sgd.lr() == 0.01);
    CHECK(sgd.state(0).steps == 1);
    D other({1., 2., 3.}, xg::requires_grad);
    optim::SGD smaller({other}, {.momentum = 0.5});
    CHECK_THROWS_WITH_AS(smaller.load_state_dict(sgd.state_dict()),
        "load_state_dict: 'state.0.momentum_buffer' does not fit its parameter of shape [3]",
        xg::Error);
    optim::SGD fewer({p.a}, {.momentum = 0.5});
    CHECK_THROWS_WITH_AS(fewer.load_state_dict(sgd.state_dict()),
        doctest::Contains("entries that this optimizer does not know"), xg::Error);
}

TEST_CASE("what cannot be trained, and options that cannot be") {
    D a({1.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(optim::SGD(std::vector<xg::AnyTensor>{}),
        "optimizer got an empty parameter list", xg::Error);
    CHECK_THROWS_WITH_AS(
        optim::SGD({D(a * 2.)}), "can't optimize a non-leaf Tensor", xg::GraphError);
    CHECK_THROWS_AS(optim::SGD({xg::Tensor<bool>({true})}), xg::TypeError);
    CHECK_THROWS_WITH_AS(optim::SGD({a, a}), doctest::Contains("appear more than once"), xg::Error);
    CHECK_THROWS_WITH_AS(optim::SGD({a}, {.lr = -1}),
        "Invalid learning rate: it must not be negative, and is -1", xg::Error);
    CHECK_THROWS_WITH_AS(optim::SGD({a}, {.nesterov = true}),
        "Nesterov momentum requires a momentum and zero dampening, not 0 and 0", xg::Error);
    CHECK_THROWS_WITH_AS(optim::Adam({a}, {.betas = {0.9, 1}}),
        doctest::Contains("Invalid beta parameter at index 1"), xg::Error);
}

TEST_CASE("parameters are a list, a range of tensors, or one tensor") {
    D a({1., 2.}, xg::requires_grad), b({3.}, xg::requires_grad);
    auto const step = [&](auto&& parameters) {
        a.detach().copy_(D({1., 2.}));
        a.set_grad(D({2., 4.}));
        optim::SGD(parameters, {.lr = 0.25}).step();
        return values(a);
    };
    std::vector<double> const expected{0.5, 1};
    CHECK(step(a) == expected);
    CHECK(step(std::vector<D>{a, b}) == expected);
    CHECK(step(std::array<D, 1>{a}) == expected);
    CHECK(step(std::span<D const>(&a, 1)) == expected);
    CHECK(optim::Adam(std::vector<D>{a, b}, 0.1).parameters(0).size() == 2);
    CHECK(optim::LBFGS(std::vector<D>{a, b}).parameters(0).size() == 2);
    a.set_grad(D({3., 4.}));
    CHECK(optim::clip_grad_norm_(a, 100.) == doctest::Approx(5.));
    CHECK_THROWS_WITH_AS(optim::clip_grad_norm_(a, -1.),
        "clip_grad_norm_: max_norm must be at least 0, and is -1", xg::Error);
    CHECK_THROWS_WITH_AS(optim::clip_grad_value_(a, -2.),
        "clip_grad_value_: the bound must be at least 0, and is -2", xg::Error);
    CHECK(values(a.grad()) == std::vector<double>{3, 4});
    CHECK(optim::clip_grad_norm_(std::vector<D>{a}, 100.) == doctest::Approx(5.));
}

TEST_CASE("clip_grad_norm_") {
    D a({1.}, xg::requires_grad);
    Z c({complex<double>(0, 0)}, xg::requires_grad);
    F unused({1.f}, xg::requires_grad);
    auto const reset = [&] {
        a.set_grad(D({2.}));
        c.set_grad(Z({complex<double>(2, 1)}));
    };
    reset();
    CHECK(optim::clip_grad_norm_({a, c, unused}, 1.5) == doctest::Approx(3.));
    CHECK(difference(a.grad(), {1.}, 1e-6) == "");
    CHECK(difference(c.grad(), {complex<double>(1, 0.5)}, 1e-6) == "");
    reset();
    CHECK(optim::clip_grad_norm_({a, c}, 100) == doctest::Approx(3.));
    CHECK(difference(a.grad(), {2.}) == "");
    CHECK(optim::clip_grad_norm_({a, c}, 100, std::numeric_limits<double>::infinity()) ==
          doctest::Approx(std::sqrt(5.)));
    CHECK(optim::clip_grad_norm_({a, c}, 100, 1) == doctest::Approx(2 + std::sqrt(5.)));
    a.set_grad(D({HUGE_VAL}));
    CHECK_THROWS_WITH_AS(
        optim::clip_grad_norm_({a, c}, 1, 2, true), doctest::Contains("non-finite"), xg::Error);
    CHECK(difference(c.grad(), {complex<double>(2, 1)}) == "");
}

TEST_CASE("clip_grad_norm_ of gradients that are views") {
    D a({1., 1.}, xg::requires_grad), b({1., 1.}, xg::requires_grad), all({{3., 7.}, {4., 8.}});
    a.set_grad(all(xg::slice(), 0));
    CHECK(optim::clip_grad_norm_({a}, 2.5) == doctest::Approx(5.));
    CHECK(difference(all, {{1.5, 7.}, {2., 8.}}, 1e-5) == "");
    b.set_grad(broadcast_to(D(5.), {2})); // whose two numbers are one in memory
    CHECK_THROWS_WITH_AS(optim::clip_grad_norm_({a, b}, 1),
        doctest::Contains("more than one element of the written-to tensor"), xg::ShapeError);
    CHECK(difference(a.grad(), {1.5, 2.}, 1e-5) == "");
    CHECK(optim::clip_grad_norm_({a, b}, 100) == doctest::Approx(7.5));
}

TEST_CASE("clip_grad_value_") {
    D a({1., 1.}, xg::requires_grad);
    Z c({complex<double>(0, 0)}, xg::requires_grad);
    a.set_grad(D({-5., 0.25}));
    c.set_grad(Z({complex<double>(2, -0.1)}));
    optim::clip_grad_value_({a, c}, 0.5);
    CHECK(difference(a.grad(), {-0.5, 0.25}) == "");
    CHECK(difference(c.grad(), {complex<double>(0.5, -0.1)}) == "");
}

TEST_CASE("a state that cannot be is not loaded") {
    D const w({1., 2.}, xg::requires_grad);
    auto const loss = [&] {
        D const l = sum(square(w) * square(w));
        l.backward();
        return l.item();
    };
    optim::Adam adam({w});
    auto const refuses = [](auto& o, std::string const& entry, D const& value,
                             std::string const& message) {
        auto state = o.state_dict();
        state.set(entry, value);
        CHECK_THROWS_WITH_AS(
            o.load_state_dict(state), doctest::Contains(message.c_str()), xg::Error);
    };
    refuses(adam, "groups.0.lr", D(-5.), "learning rate");
    refuses(adam, "state.0.steps", D(std::numeric_limits<double>::quiet_NaN()), "no count");
    CHECK(adam.lr(0) == 1e-3);

    optim::LBFGS lbfgs({w}, {.lr = 0.1, .max_iter = 5});
    lbfgs.step([&] {
        lbfgs.zero_grad();
        return loss();
    });
    refuses(lbfgs, "gradient", xg::zeros({0}), "no 'gradient'");
    refuses(lbfgs, "history.0.step", xg::zeros({0}), "is empty");
    refuses(lbfgs, "options.max_iter", D(HUGE_VAL), "no count");
}
