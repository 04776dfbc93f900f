// Hooks around state_dict() and load_state_dict(), and on what modules register: order, arguments,
// what they may change, and what an error leaves.
#include <xgrad/nn/activation_modules.hpp>
#include <xgrad/nn/linear.hpp>
#include <xgrad/nn/sequential.hpp>

#include "two_layers.hpp"

namespace {

struct Scale : nn::Module<Scale> {
    nn::Parameter<double> factor{*this, "factor", {2.}};
    nn::Buffer<double> count{*this, "count", {0.}};
    D forward(D const& x) const { return factor * x; }
};
struct Model : nn::Module<Model> {
    nn::Child<Scale> first{*this, "first"}, second{*this, "second"};
    nn::Parameter<double> shift{*this, "shift", {1.}};
    D forward(D const& x) { return second(first(x)) + shift; }
};

std::vector<std::string> names_of(xg::StateDict const& state) {
    std::vector<std::string> names;
    for (auto const& e : state) names.push_back(e.name);
    return names;
}
using Names = std::vector<std::string>;

/// Removes hooks that concern all modules at the end of a test.
struct Removed {
    xg::HookHandle handle;
    ~Removed() { handle.remove(); }
};

} // namespace

TEST_CASE("hooks around state_dict() get the prefix, those of modules inside between") {
    Model m;
    std::string log;
    m.register_state_dict_pre_hook([&](Model& self, std::string const& prefix) {
        log += "before '" + prefix + "' ";
        xg::NoGradGuard const off;
        self.shift += 1.; // what the hook changes is saved
    });
    m.second.register_state_dict_pre_hook(
        [&](auto&, std::string const& prefix) { log += "before '" + prefix + "' "; });
    m.second.register_state_dict_post_hook([&](Scale&, xg::StateDict& state, auto const& prefix) {
        log += "after '" + prefix + "' of " + std::to_string(state.size()) + " ";
        state.erase(prefix + "count");
    });
    auto const handle = m.register_state_dict_post_hook(
        [&](Model&, xg::StateDict& state, std::string const& prefix) {
            log += "after '" + prefix + "'";
            state.set("version", D(2.));
        });
    auto const state = m.state_dict();
    CHECK(log == "before '' before 'second.' after 'second.' of 5 after ''");
    CHECK(names_of(state) ==
          Names{"shift", "first.factor", "first.count", "second.factor", "version"});
    CHECK(difference(state.at("shift").as<double>(), {2.}) == "");
    auto copy = handle;
    copy.remove();
    CHECK_FALSE(m.state_dict().contains("version"));
    CHECK(names_of(m.clone().state_dict()).size() == 5); // a copy has no hooks
}

TEST_CASE("a hook before load_state_dict() renames the entries of an old file") {
    Model m;
    xg::StateDict const old{{"shift", D({5.})}, {"first.weight", D({6.})}, {"first.count", D({1.})},
        {"second.weight", D({7.})}, {"second.count", D({2.})}};
    auto const rename = [](Scale&, xg::StateDict& state, std::string const& prefix) {
        auto const weight = state.at(prefix + "weight");
        state.erase(prefix + "weight");
        state.set(prefix + "factor", weight);
    };
    CHECK_THROWS_AS(m.load_state_dict(old), xg::Error);
    m.first.register_load_state_dict_pre_hook(rename);
    auto handle = m.second.register_load_state_dict_pre_hook(rename);
    CHECK(m.load_state_dict(old).complete());
    CHECK(difference(m.first.factor, {6.}) == "");
    CHECK(difference(m.second.factor, {7.}) == "");
    CHECK(old.contains("first.weight")); // hooks change a copy
    handle.remove();
    auto const report = m.load_state_dict(old, false);
    CHECK(report.missing == Names{"second.factor"});
    CHECK(report.unexpected == Names{"second.weight"});
}

TEST_CASE("hooks before load_state_dict() run from the outside inwards, each with its own part") {
    Model m;
    std::string log;
    m.register_load_state_dict_pre_hook(
        [&](Model&, xg::StateDict& state, std::string const& prefix) {
            log += "'" + prefix + "' " + std::to_string(state.size());
            state.set("first.count", D({9.}));
            state.set("elsewhere", D({1.}));
        });
    m.first.register_load_state_dict_pre_hook(
        [&](auto&, xg::StateDict& state, auto const& prefix, nn::LoadReport& report) {
            log += ", '" + prefix + "' " + std::to_string(state.size());
            report.mismatched.push_back("first does not like this");
        },
        {.prepend = true});
    auto state = m.state_dict();
    state.erase("first.count");
    auto const report = m.load_state_dict(state, false);
    CHECK(log == "'' 4, 'first.' 2");
    CHECK(difference(m.first.count, {9.}) == "");
    CHECK(report.unexpected == Names{"elsewhere"});
    CHECK(report.mismatched == Names{"first does not like this"});
    CHECK_THROWS_WITH_AS(
        m.load_state_dict(state), doctest::Contains("first does not like this"), xg::Error);
}

TEST_CASE("a hook after load_state_dict() sees what was loaded, and forgives what is missing") {
    Model m;
    std::string log;
    auto const forgive = [&](char const* name) {
        return [&log, name](auto&, nn::LoadReport& report) {
            log += name;
            std::erase(report.missing, "second.count");
        };
    };
    m.register_load_state_dict_post_hook([&](Model& self, nn::LoadReport& report) {
        log += "model " + std::to_string(self.shift.item()).substr(0, 1) + " ";
        CHECK(report.missing.empty());
    });
    auto handle = m.second.register_load_state_dict_post_hook(forgive("second "));
    auto state = m.state_dict();
    state.erase("second.count");
    state.set("shift", D({8.}));
    CHECK(m.load_state_dict(state).complete());
    CHECK(log == "second model 8 ");
    CHECK(difference(m.shift, {8.}) == "");
}

TEST_CASE("where a hook after load_state_dict() throws or an error is left, nothing is loaded") {
    Model m;
    auto state = m.state_dict();
    state.set("shift", D({8.})), state.set("second.factor", D({8.}));
    double seen = 0;
    auto handle = m.register_load_state_dict_post_hook([&](Model& self, nn::LoadReport&) {
        seen = self.shift.item();
        throw std::runtime_error("no");
    });
    CHECK_THROWS_WITH_AS(m.load_state_dict(state), "no", std::runtime_error);
    CHECK(seen == 8);
    CHECK(difference(m.shift, {1.}) == "");
    CHECK(difference(m.second.factor, {2.}) == "");
    handle.remove();
    m.register_load_state_dict_post_hook([](Model&, nn::LoadReport& report) {
        report.unexpected.push_back("what the hook does not want");
    });
    CHECK_THROWS_WITH_AS(
        m.load_state_dict(state), doctest::Contains("what the hook does not want"), xg::Error);
    CHECK(difference(m.shift, {1.}) == "");
    CHECK(m.load_state_dict(state, false).unexpected.size() == 1);
    CHECK(difference(m.shift, {8.}) == "");
}

TEST_CASE("hooks see all parameters, buffers and modules that modules register") {
    std::string log;
    auto const with = [&](std::string const& what) {
        return [&log, what](nn::AnyModule& m, std::string const& name, auto const&) {
            log += what + " " + name + " of " + std::string(m.kind()) + ", ";
        };
    };
    {
        Removed const parameter{nn::register_module_parameter_registration_hook(with("parameter"))},
            buffer{nn::register_module_buffer_registration_hook(with("buffer"))},
            module{nn::register_module_module_registration_hook(with("module"))};
        Model const m;
        CHECK(log == "parameter factor of Scale, buffer count of Scale, module first of Model, "
                     "parameter factor of Scale, buffer count of Scale, module second of Model, "
                     "parameter shift of Model, ");
        log.clear();
        nn::Sequential<double> const row(nn::Linear<double>(1, 1, {.bias = false}), nn::Tanh());
        CHECK(
            log == "parameter weight of Linear, module 0 of Sequential, module 1 of Sequential, ");
        log.clear();
        Model const copy(m); // registers nothing
    }
    Model const later;
    CHECK(log == "");
}

TEST_CASE("a registration hook may replace a tensor, and change a module") {
    {
        Removed const hook{nn::register_module_parameter_registration_hook(
            [](nn::AnyModule&, std::string const& name, xg::AnyTensor const& p) {
                CHECK(p.requires_grad());
                return name == "shift" ? D({30., 40.}) : D();
            })};
        Removed const freeze{nn::register_module_module_registration_hook(
            [](nn::AnyModule&, std::string const& name, nn::AnyModule& inside) {
                if (name == "first") inside.requires_grad_(false);
            })};
        Model m;
        CHECK(difference(m.shift, {30., 40.}) == "");
        CHECK(m.shift.requires_grad());
        CHECK_FALSE(m.first.factor.requires_grad());
        CHECK(m.second.factor.requires_grad());
        sum(m(D({1., 1.}))).backward();
        CHECK(difference(m.shift.grad(), {1., 1.}) == "");
        CHECK(difference(m.state_dict().at("shift").as<double>(), {30., 40.}) == "");
    }
    {
        Removed const hook{nn::register_module_buffer_registration_hook(
            [](auto&, auto const&, auto const&) { return xg::Tensor<float>({1.f}); })};
        CHECK_THROWS_WITH_AS(Scale(),
            "Scale: a registration hook returned a tensor of float32 for 'count', which is of "
            "float64",
            xg::TypeError);
    }
    {
        Removed const hook{nn::register_module_parameter_registration_hook(
            [](auto&, auto const&, xg::AnyTensor const& p) { return D(2. * p.as<double>()); })};
        CHECK_THROWS_WITH_AS(Scale(),
            "Scale: a registration hook returned a tensor for 'factor' that is no leaf: return "
            "t.detach()",
            xg::GraphError);
    }
}
