// Members of modules under their names; copies and moves; modes; printing.
#include <xgrad/nn/activation_modules.hpp>
#include <xgrad/nn/linear.hpp>
#include <xgrad/nn/module_list.hpp>
#include <xgrad/nn/sequential.hpp>

#include <atomic>
#include <optional>
#include <sstream>
#include <thread>

#include "two_layers.hpp"

namespace {

struct Inner : nn::Module<Inner> {
    nn::Parameter<double> w{*this, "w", {1., 2.}};
    nn::Parameter<double> none{*this, "none", D()};
    nn::Buffer<std::int64_t> count{*this, "count", {3}};
    D forward(D const& x) const { return x * w; }
    std::string extra_repr() const override { return "n=2"; }
};
struct Outer : nn::Module<Outer> {
    nn::Child<Inner> first{*this, "first"};
    nn::Parameter<float> own{*this, "own", {{5.f}}};
    nn::Child<nn::ModuleList<Inner>> list{*this, "list"};
    nn::Buffer<double> scratch{*this, "scratch", {0.}, false};
    Outer() {
        list.push_back(Inner());
        list.emplace_back();
    }
    D forward(D const& x) {
        D y = first(x);
        for (auto& m : list) y = m(y);
        return y;
    }
};

std::vector<std::string> names(auto const& all) {
    std::vector<std::string> names;
    for (auto const& each : all) names.push_back(each.name);
    return names;
}
using Names = std::vector<std::string>;

} // namespace

TEST_CASE("parameters, buffers and modules under their names, own ones first") {
    Outer net;
    CHECK(names(net.named_parameters()) == Names{"own", "first.w", "list.0.w", "list.1.w"});
    CHECK(names(net.named_buffers()) ==
          Names{"scratch", "first.count", "list.0.count", "list.1.count"});
    CHECK(names(net.named_children()) == Names{"first", "list"});
    CHECK(names(net.named_modules()) == Names{"", "first", "list", "list.0", "list.1"});
    CHECK(net.parameters().size() == 4);
    CHECK(net.parameters()[0].is_same(net.own));
    CHECK(net.modules()[3] == &net.list[0]);
    CHECK(net.parameter_count() == 7);
    CHECK(net.own.requires_grad());
    CHECK_FALSE(net.scratch.requires_grad());
    CHECK(difference(net(D({1., 1.})), {1., 8.}) == "");
}

TEST_CASE("a copy has parameters of its own; a move takes them along") {
    Outer a;
    Outer b = a;
    xg::NoGradGuard const off;
    a.first.w *= 10.;
    a.list[1].w *= 10.;
    CHECK(difference(b.first.w, {1., 2.}) == "");
    CHECK(b.parameters()[1].is_same(b.first.w));
    CHECK(b.parameters()[3].is_same(b.list[1].w));
    CHECK(difference(b.parameters()[3].as<double>(), {1., 2.}) == "");
    CHECK(b.first.w.requires_grad());

    Outer const c = a.clone();
    CHECK(difference(c.first.w, {10., 20.}) == "");
    auto const weight = a.first.w.handle_of();
    Outer d = std::move(a);
    CHECK(d.parameters()[1].is_same(weight));
    CHECK(d.modules()[1] == &d.first);
    CHECK(names(d.named_parameters()) == Names{"own", "first.w", "list.0.w", "list.1.w"});

    b = d;
    CHECK(difference(b.first.w, {10., 20.}) == "");
    CHECK_FALSE(b.first.w.is_same(d.first.w));
    b = std::move(d);
    CHECK(b.first.w.is_same(weight));
}

TEST_CASE("names that cannot be, and members of something else") {
    struct Named : nn::Module<Named> {
        nn::Parameter<double> a;
        nn::Buffer<double> b;
        Named(char const* first, char const* second)
            : a(*this, first, {1.}), b(*this, second, {1.}) {}
        D forward(D const& x) const { return x; }
    };
    CHECK_THROWS_WITH_AS(
        Named("a.b", "c"), "Named: parameter name can't contain \".\", got: a.b", xg::Error);
    CHECK_THROWS_WITH_AS(
        Named("", "c"), "Named: parameter name can't be empty string \"\"", xg::Error);
    CHECK_THROWS_WITH_AS(Named("a", "a"), "Named: buffer 'a' already exists", xg::Error);
    Inner owner;
    CHECK_THROWS_WITH_AS(nn::Parameter<double>(owner, "astray", {1.}),
        doctest::Contains("'astray' is no member of the module that it is registered with"),
        xg::Error);
}

TEST_CASE("a parameter is a leaf of its own, and an operand like any tensor") {
    struct One : nn::Module<One> {
        nn::Parameter<double> w;
        explicit One(D const& value) : w(*this, "w", value) {}
    };
    D const source({1., 2.}, xg::requires_grad);
    D const computed = source * 2.;
    One m(computed);
    CHECK(m.w.is_leaf());
    CHECK_FALSE(m.w.is_same(computed));
    D const y = sum(m.w * m.w + exp(m.w) * 0.) + sum(m.w);
    y.backward();
    CHECK(difference(m.w.grad(), {5., 9.}) == "");
    CHECK_FALSE(source.grad().defined());
    D const handle = m.w;
    CHECK(handle.is_same(m.w));
    CHECK(difference(matmul(m.w, m.w), D(20.)) == "");
}

TEST_CASE("modes and gradients of all parameters; apply") {
    Outer net;
    net.eval();
    for (auto* const m : net.modules()) CHECK_FALSE(m->is_training());
    net.train();
    CHECK(net.list[1].is_training());
    sum(net(D({1., 1.}))).backward();
    CHECK(net.first.w.grad().defined());
    net.zero_grad();
    CHECK_FALSE(net.first.w.grad().defined());
    net.requires_grad_(false);
    CHECK_FALSE(D(net(D({1., 1.}))).requires_grad());
    std::string order;
    net.apply([&](nn::AnyModule& m) { order += std::string(m.kind()) + " "; });
    CHECK(order == "Inner Inner Inner ModuleList Outer ");
}

TEST_CASE("printed as a tree") {
    std::ostringstream out;
    out << Outer();
    CHECK(out.str() == "Outer(\n"
                       "  (first): Inner(n=2), 2 parameters\n"
                       "  (list): ModuleList(\n"
                       "    (0): Inner(n=2), 2 parameters\n"
                       "    (1): Inner(n=2), 2 parameters\n"
                       "  ), 4 parameters\n"
                       "), 7 parameters");
}

TEST_CASE("parameters and buffers are printed as tensors, and so is what parameters() gives") {
    Outer net;
    std::ostringstream out;
    out << net.first.w << '\n'
        << net.first.count << '\n'
        << net.parameters()[0] << '\n'
        << net.named_buffers()[0].tensor;
    CHECK(out.str() == "Tensor([1, 2], shape=[2], dtype=float64, requires_grad=true)\n"
                       "Tensor([3], shape=[1], dtype=int64)\n"
                       "Tensor([[5]], shape=[1, 1], dtype=float32, requires_grad=true)\n"
                       "Tensor([0], shape=[1], dtype=float64)");
}

TEST_CASE("a ModuleList is a list of values") {
    nn::ModuleList<Inner> list;
    CHECK(list.empty());
    for (int i = 0; i < 3; ++i) list.emplace_back();
    CHECK(list.size() == 3);
    auto copy = list;
    CHECK_FALSE(copy[2].w.is_same(list[2].w));
    auto const* const told = "ModuleList: index 3 is out of range of 3 members";
    CHECK_THROWS_WITH_AS(list.at(3), told, xg::IndexError);
    CHECK_THROWS_WITH_AS(list[3], told, xg::IndexError);
    CHECK_THROWS_WITH_AS(std::as_const(list)[3], told, xg::IndexError);
    CHECK_THROWS_WITH_AS(nn::Sequential<double>(nn::Tanh{})[1],
        "Sequential: index 1 is out of range of 1 members", xg::IndexError);
    CHECK_THROWS_WITH_AS(nn::ParameterList<double>({D({1.})})[1],
        "ParameterList: index 1 is out of range of 1 members", xg::IndexError);
    CHECK_THROWS_WITH_AS(nn::ModuleDict<nn::Tanh>{}["relu"],
        "ModuleDict: there is no module 'relu'", xg::IndexError);
}

namespace {
template <class T> struct Net {
    struct Layer : nn::Module<Layer> {
        D forward(D const& x) const { return x; }
    };
};
} // namespace

TEST_CASE("a module's kind is the last part of its name, wherever its class stands") {
    auto const local = [] {
        struct Twice : nn::Module<Twice> {
            D forward(D const& x) const { return 2. * x; }
        };
        return std::string(Twice().kind());
    };
    CHECK(local() == "Twice");
    CHECK(Net<std::vector<int>>::Layer().kind() == "Layer");
    CHECK(nn::Linear<float>(2, 3).kind() == "Linear");
}

namespace {

/// A layer that is a plain member: forward calls it, but parameters() would not have it.
struct Plain : nn::Module<Plain> {
    nn::Child<Inner> child{*this, "child"};
    Inner plain;
    D forward(D const& x) { return plain(child(x)); }
};
/// The same further inside: in a struct that is no module.
struct Block {
    double factor = 2.;
    Inner layers[2];
};
struct PlainInside : nn::Module<PlainInside> {
    Block block;
    D forward(D const& x) { return block.layers[0](x); }
};
struct Deep : nn::Module<Deep> {
    nn::Child<Plain> net{*this, "net"};
    D forward(D const& x) { return net(x); }
};
/// A Child that is made later, or not at all; and a layer on the heap, which is no member.
struct Later : nn::Module<Later> {
    std::optional<nn::Child<Inner>> layer;
    std::vector<Inner> heap_layers;
    D forward(D const& x) { return layer ? (*layer)(x) : x; }
};

template <class F> std::string complaint(F f) {
    try {
        f();
    } catch (xg::Error const& e) { return e.what(); }
    return "none";
}

} // namespace

TEST_CASE("a module that is a plain member of another one is an error where that is first used, "
          "and named") {
    std::string const text =
        "Plain: a module of type Inner is a plain member, so that Plain has neither its parameters "
        "nor its state: make it a "
        "Child, as in nn::Child<Inner> layer{*this, \"layer\", ...}; several are a ModuleList";
    D const x({1., 1.});
    CHECK(complaint([] { Plain().parameters(); }) == text);
    CHECK(complaint([] { Plain().named_buffers(); }) == text);
    CHECK(complaint([] { Plain().state_dict(); }) == text);
    CHECK(complaint([] { Plain().load_state_dict({}, false); }) == text);
    CHECK(complaint([] { Plain().modules(); }) == text);
    CHECK(complaint([] { Plain().train(); }) == text);
    CHECK(complaint([] { to_string(Plain()); }) == text);
    CHECK(complaint([&] { Plain()(x); }) == text);
    Plain const first;
    Plain copy = first;
    CHECK(complaint([&] { copy(x); }) == text);
    CHECK(complaint([&] { Deep()(x); }) == text);
    CHECK(complaint([] { Deep().parameters(); }) == text);
    CHECK(complaint([] {
        PlainInside().parameters();
    }).starts_with("PlainInside: a module of type Inner is a plain member"));
    CHECK(complaint([] { std::make_unique<Plain>()->parameters(); }) == text);
}

TEST_CASE(
    "modules that are copied, moved, local, or in a vector or an optional, are no plain members") {
    D const x({1., 1.});
    auto const use = [&](Outer& net) {
        Inner const local;
        CHECK(net.parameters().size() == 4);
        CHECK(difference(D(net(x)), {1., 8.}) == "");
        CHECK(local.parameters().size() == 1);
    };
    Outer net;
    Outer copy = net, moved = std::move(copy);
    copy = net;
    for (auto* const each : {&net, &moved, &copy}) use(*each);
    std::vector<Outer> several;
    for (int i = 0; i < 5; ++i) several.push_back(i % 2 ? net : Outer());
    several.erase(several.begin());
    for (auto& each : several) use(each);
    std::optional<Outer> perhaps(net);
    use(*perhaps);
    perhaps.reset();
    perhaps.emplace();
    use(*perhaps);
    Outer pair[2];
    std::swap(pair[0], pair[1]);
    for (auto& each : pair) use(each);

    Later later;
    later.heap_layers.resize(3);
    CHECK(later.parameters().empty());
    CHECK(difference(D(later(x)), {1., 1.}) == "");
    later.layer.emplace(later, "layer");
    CHECK(later.parameters().size() == 1);
    CHECK(difference(D(later(x)), {1., 2.}) == "");
}

TEST_CASE("modules are made and destroyed in several threads at a time") {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 50; ++k) {
                Outer const net;
                Outer const copy = net;
                right += copy.parameters().size() == 4;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(right == 200);
}
