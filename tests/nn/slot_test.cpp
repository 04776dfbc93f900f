// Slot: a module whose type is known only at run time.
#include <doctest/doctest.h>
#include <xgrad/nn/activation_modules.hpp>
#include <xgrad/nn/linear.hpp>
#include <xgrad/nn/module_list.hpp>
#include <xgrad/nn/sequential.hpp>
#include <xgrad/nn/slot.hpp>
#include <xgrad/tensor/backward.hpp>

#include <string>
#include <vector>

namespace xg = xgrad;
namespace nn = xg::nn;
using D = xg::Tensor<double>;

namespace {

struct Log : nn::Module<Log> {
    std::vector<std::string>* lines = nullptr;
    explicit Log(std::vector<std::string>& to) : lines(&to) {}
    void forward(std::string const& line) const { lines->push_back(line); }
};
struct Net : nn::Module<Net> {
    nn::Child<nn::Slot<D(D const&)>> body{*this, "body", nn::Linear<double>(2, 1, false)};
    nn::Child<nn::Slot<void(std::string const&)>> log{*this, "log"};
    D forward(D const& x) {
        if (!log.empty()) log("called");
        return body(x);
    }
};

} // namespace

TEST_CASE("a slot calls the module inside, and its parameters belong to the module around it") {
    Net net;
    auto& linear = dynamic_cast<nn::Linear<double>&>(net.body.module());
    linear.weight.mutable_data()[0] = 2, linear.weight.mutable_data()[1] = 3;
    D const x({{1., 10.}}, xg::requires_grad);
    D const y = net(x);
    CHECK(y.item() == 32);
    y.backward();
    CHECK(x.grad()(0, 1).item() == 3);
    REQUIRE(net.named_parameters().size() == 1);
    CHECK(net.named_parameters()[0].name == "body.module.weight");
    CHECK(linear.weight.grad()(0, 1).item() == 10);
}

TEST_CASE("a slot takes modules of other types later, with hooks around their calls") {
    Net net;
    std::vector<std::string> lines;
    net.log.set(Log(lines));
    auto& flatten = net.body.set(nn::Tanh());
    int calls = 0;
    flatten.register_forward_hook([&](nn::Tanh&, std::vector<xg::AnyTensor> const&,
                                      std::vector<xg::AnyTensor> const&) { ++calls; });
    CHECK(net(D({0.})).item() == 0);
    CHECK(calls == 1);
    CHECK(lines == std::vector<std::string>{"called"});
    CHECK(net.parameters().empty());
}

TEST_CASE("a copy of a slot has a module of its own") {
    Net net;
    Net copy = net.clone();
    dynamic_cast<nn::Linear<double>&>(copy.body.module()).weight.mutable_data()[0] += 1;
    D const x({{1., 0.}});
    CHECK(copy(x).item() == doctest::Approx(net(x).item() + 1));
}

TEST_CASE("an empty slot says so when it is called") {
    nn::Slot<D(D const&)> slot;
    CHECK(slot.empty());
    CHECK_THROWS_WITH_AS(slot(D({1.})), "Slot: there is no module inside", xg::Error);
    CHECK_THROWS_WITH_AS(slot.module(), "Slot: there is no module inside", xg::Error);
}

TEST_CASE("containers accept other modules in the stead of theirs, or stay as they are") {
    auto const find = [](nn::AnyModule&,
                          std::type_info const& signature) -> nn::ModuleContainer::AnyFunction {
        if (signature != typeid(D(D))) return nullptr;
        return reinterpret_cast<nn::ModuleContainer::AnyFunction>(
            nn::detail::CallSignature<D(D)>::of<nn::ReLU>());
    };
    auto const relus = [](std::size_t n) {
        std::vector<std::unique_ptr<nn::AnyModule>> all;
        for (std::size_t i = 0; i < n; ++i) all.push_back(std::make_unique<nn::ReLU>());
        return all;
    };
    nn::Sequential<double> s(nn::Linear<double>(2, 1));
    s.replace_modules(relus(2), find);
    CHECK(s.size() == 2);
    CHECK(s(D({-3.})).item() == 0);
    nn::Sequential<float> f(nn::ReLU{});
    f.replace_modules(relus(2), find);
    using F = xg::Tensor<float>;
    CHECK_THROWS_WITH_AS(f(F({-1.f})),
        "ReLU: nothing in this program calls it with these arguments", nn::UncallableError);
    nn::Sequential<float> g(nn::ReLU{});
    g.replace_modules(relus(1), find); // called as the one before
    CHECK(g(F({-1.f})).item() == 0);
    nn::Slot<D(D const&)> slot(nn::Tanh{});
    CHECK_THROWS_WITH_AS(slot.replace_modules(relus(2), find),
        "Slot: 2 modules do not fit into one slot", xg::Error);
    slot.replace_modules(relus(1), find);
    CHECK(slot(D({2.})).item() == 2);
    slot.replace_modules({}, find);
    CHECK(slot.empty());
    nn::ModuleList<nn::Tanh> list;
    list.emplace_back();
    CHECK_THROWS_WITH_AS(list.replace_modules(relus(1), find),
        "ModuleList: a module ReLU is none of the type that this list holds", xg::Error);
    CHECK(list.size() == 1);
}
