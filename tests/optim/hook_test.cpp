// Hooks of optimisers, and the warning where no parameter has a gradient.
#include <xgrad/nn/linear.hpp>
#include <xgrad/optim.hpp>

#include "tensor/compare.hpp"

namespace optim = xg::optim;
namespace nn = xg::nn;

namespace {

/// The warnings of its scope.
struct Warnings {
    std::vector<std::string> texts;
    xg::WarningHandler before =
        xg::set_warning_handler([this](std::string const& w) { texts.push_back(w); });
    ~Warnings() { xg::set_warning_handler(before); }
};
/// The parameters of an optimiser.
std::vector<xg::AnyTensor> all(auto const&... parameters) { return {parameters...}; }
struct Removed {
    xg::HookHandle handle;
    ~Removed() { handle.remove(); }
};

} // namespace

TEST_CASE("hooks around step(): global ones outside, a closure inside") {
    D w({1.}, xg::requires_grad);
    optim::SGD sgd(all(w), {.lr = 1.});
    std::string log;
    auto const say = [&](std::string what) {
        return [&log, what, &w](
                   optim::Optimizer&) { log += what + std::to_string(int(w.item())) + " "; };
    };
    auto handle = sgd.register_step_pre_hook(say("pre"));
    sgd.register_step_pre_hook([&](optim::Optimizer& o) {
        CHECK(&o == &sgd);
        log += "second ";
    });
    sgd.register_step_post_hook(say("post"));
    auto const closure = [&] {
        log += "closure ";
        sgd.zero_grad();
        D const loss = sum(3. * w);
        loss.backward();
        return loss.item();
    };
    {
        Removed const pre{optim::register_optimizer_step_pre_hook(say("all-pre"))},
            post{optim::register_optimizer_step_post_hook(say("all-post"))};
        CHECK(sgd.step(closure) == 3);
        CHECK(log == "all-pre1 pre1 second closure post-2 all-post-2 ");
    }
    log.clear();
    handle.remove();
    sgd.step();
    CHECK(log == "second post-5 ");
    log.clear();
    sgd.register_step_pre_hook([](auto&) { throw std::runtime_error("no"); });
    CHECK_THROWS_WITH_AS(sgd.step(), "no", std::runtime_error);
    CHECK(log == "second ");
    CHECK(w.item() == -5);
}

TEST_CASE("hooks around step() of LBFGS") {
    D w({1.}, xg::requires_grad);
    optim::LBFGS lbfgs(all(w));
    std::string log;
    lbfgs.register_step_pre_hook([&](auto&) { log += "pre "; });
    lbfgs.register_step_post_hook([&](auto&) { log += "post"; });
    lbfgs.step([&] {
        if (!log.ends_with("closure ")) log += "closure ";
        lbfgs.zero_grad();
        D const loss = sum(square(w));
        loss.backward();
        return loss;
    });
    CHECK(log == "pre closure post");
    log.clear();
    Removed const global{optim::register_optimizer_step_pre_hook([&](auto&) { log += "global"; })};
    optim::Optimizer& base = lbfgs;
    CHECK_THROWS_AS(lbfgs.step(), xg::Error);
    CHECK_THROWS_AS(base.step(), xg::Error);
    CHECK(log.empty());
}

TEST_CASE_TEMPLATE("hooks around the state of an optimiser", O, optim::SGD, optim::LBFGS) {
    D w({1.}, xg::requires_grad);
    O o(all(w));
    std::string log;
    o.register_state_dict_pre_hook([&](optim::Optimizer& self) {
        log += "pre ";
        self.lr() = 0.25; // what the hook changes is saved
    });
    o.register_state_dict_post_hook([&](auto&, xg::StateDict& state) {
        log += "post ";
        state.set("note", D({1.}));
    });
    auto handle = o.register_state_dict_post_hook([&](auto&, xg::StateDict const& state) {
        log += "another ";
        xg::StateDict other;
        for (auto const& [name, tensor] : state) other.set("old." + name, tensor);
        return other;
    });
    auto const state = o.state_dict();
    CHECK(log == "pre post another ");
    CHECK(state.contains("old.note"));
    CHECK_FALSE(state.contains("note"));

    O fresh(all(w));
    CHECK_THROWS_AS(fresh.load_state_dict(state), xg::Error);
    log.clear();
    fresh.register_load_state_dict_pre_hook([&](auto&, xg::StateDict const& in) {
        log += "renames ";
        xg::StateDict renamed;
        for (auto const& [name, tensor] : in) renamed.set(name.substr(4), tensor);
        return renamed;
    });
    fresh.register_load_state_dict_pre_hook([&](auto&, xg::StateDict& in) {
        log += "erases ";
        in.erase("note");
    });
    fresh.register_load_state_dict_pre_hook(
        [&](auto&, xg::StateDict& in) {
            log += "first " + std::to_string(in.contains("old.note"));
        },
        {.prepend = true});
    fresh.register_load_state_dict_post_hook(
        [&](optim::Optimizer& self) { log += "lr " + std::to_string(self.lr()).substr(0, 4); });
    fresh.load_state_dict(state);
    CHECK(log == "first 1renames erases lr 0.25");
    CHECK(state.contains("old.note")); // hooks change a copy
}

TEST_CASE("a hook that throws after load_state_dict() leaves the state as it was") {
    D w({1.}, xg::requires_grad);
    auto const step = [&](auto& o) {
        o.step([&] {
            o.zero_grad();
            D const loss = sum(square(w));
            loss.backward();
            return loss;
        });
    };
    auto const check = [&](auto&& from, auto&& o) {
        step(from), step(o), step(o);
        auto const before = o.state_dict();
        auto handle = o.register_load_state_dict_post_hook(
            [](optim::Optimizer& self) { throw std::runtime_error(std::to_string(self.lr())); });
        CHECK_THROWS_WITH_AS(o.load_state_dict(from.state_dict()), "0.500000", std::runtime_error);
        auto const after = o.state_dict();
        REQUIRE(after.size() == before.size());
        for (auto const& [name, tensor] : before) {
            CAPTURE(name);
            CHECK(values(after.at(name).template as<double>()) ==
                  values(tensor.template as<double>()));
        }
        handle.remove();
        o.load_state_dict(from.state_dict());
        CHECK(o.lr() == 0.5);
    };
    check(optim::Adam(all(w), {.lr = 0.5}), optim::Adam(all(w), {.lr = 0.1}));
    check(optim::LBFGS(all(w), {.lr = 0.5}), optim::LBFGS(all(w), {.lr = 0.1}));
}

TEST_CASE("step() warns once where no parameter has a gradient, as after a copy of a module") {
    nn::Linear<double> net(2, 1);
    optim::Adam adam(net.parameters(), {.lr = 0.1});
    auto const before = values(net.weight);
    auto const loss_of = [net](D const& x) mutable { return D(sum(net(x))); }; // a copy
    Warnings warnings;
    for (int i = 0; i < 3; ++i) {
        adam.zero_grad();
        auto loss = loss_of;
        loss(D({{1., 2.}})).backward();
        adam.step();
    }
    CHECK(values(net.weight) == before);
    REQUIRE(warnings.texts.size() == 1);
    CHECK(warnings.texts[0].find("none of its 2 parameters has a gradient") != std::string::npos);
    CHECK(warnings.texts[0].find("[&net]") != std::string::npos);
    sum(net(D({{1., 2.}}))).backward();
    adam.step();
    CHECK(values(net.weight) != before);
    CHECK(warnings.texts.size() == 1);
}

TEST_CASE("step() says nothing where one parameter has a gradient") {
    D a({1.}, xg::requires_grad), b({1.}, xg::requires_grad);
    Warnings warnings;
    optim::SGD sgd(all(a, b));
    sum(b).backward();
    sgd.step();
    CHECK(warnings.texts.empty());
}
