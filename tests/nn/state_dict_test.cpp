// state_dict() and load_state_dict(): copies, conversion, what does not fit, nothing half loaded.
#include "two_layers.hpp"

namespace {

template <class T> struct Pair : nn::Module<Pair<T>> {
    nn::Parameter<T> a{*this, "a", {T(1), T(2)}};
    nn::Buffer<T> b{*this, "b", {T(3)}};
    nn::Buffer<T> cache{*this, "cache", {T(4)}, false};
};
template <class T> struct Holder : nn::Module<Holder<T>> {
    nn::Child<Pair<T>> pair{*this, "pair"};
    nn::Parameter<T> c{*this, "c", {T(5)}};
};

std::vector<std::string> names(xg::StateDict const& state) {
    std::vector<std::string> names;
    for (auto const& e : state) names.push_back(e.name);
    return names;
}

} // namespace

TEST_CASE("a state is a copy, and is loaded in place") {
    Holder<double> m, other;
    auto const state = m.state_dict();
    CHECK(names(state) == std::vector<std::string>{"c", "pair.a", "pair.b"});
    {
        xg::NoGradGuard const off;
        m.pair.a *= 7.;
        m.pair.b += 1.;
    }
    CHECK(difference(state.at("pair.a").as<double>(), {1., 2.}) == "");
    CHECK_FALSE(state.at("pair.a").requires_grad());
    auto const before = m.pair.a.version();
    D const handle = m.pair.a;
    CHECK(m.load_state_dict(state).complete());
    CHECK(difference(handle, {1., 2.}) == "");
    CHECK(difference(m.pair.b, {3.}) == "");
    CHECK(handle.is_same(m.pair.a));
    CHECK(m.pair.a.version() > before);
    CHECK(m.pair.a.requires_grad());
    CHECK_THROWS_WITH_AS(state.at("d"), "StateDict: there is no entry 'd'", xg::IndexError);
}

TEST_CASE("precision is converted, and real numbers become complex") {
    Holder<float> f;
    f.load_state_dict(Holder<double>().state_dict());
    CHECK(difference(f.pair.a, {1.f, 2.f}) == "");
    Holder<std::complex<double>> z;
    z.load_state_dict(f.state_dict());
    CHECK(difference(z.pair.a, {complex<double>(1, 0), complex<double>(2, 0)}) == "");
    CHECK_THROWS_WITH_AS(f.load_state_dict(z.state_dict()),
        doctest::Contains(
            "type mismatch for pair.a: complex128 in the state, float32 in the module"),
        xg::Error);
}

TEST_CASE("what does not fit is an error that names it all, and nothing has been loaded") {
    Holder<double> m;
    xg::StateDict const state{{"c", D({50.})}, {"pair.a", D({1., 2., 3.})}, {"more", D({1.})}};
    CHECK_THROWS_WITH_AS(m.load_state_dict(state),
        "Error(s) in loading state_dict for Holder:\n\tMissing key(s) in state_dict: "
        "\"pair.b\"\n\tUnexpected key(s) in state_dict: \"more\"\n\t"
        "size mismatch for pair.a: a tensor of shape [3] in the state, of shape [2] in the module",
        xg::Error);
    CHECK(difference(m.c, {5.}) == "");
}

TEST_CASE("not strict: what fits is loaded, the rest is reported") {
    Holder<double> m;
    auto const report =
        m.load_state_dict({{"c", D({50.})}, {"pair.a", D({1., 2., 3.})}, {"more", D({1.})}}, false);
    CHECK(difference(m.c, {50.}) == "");
    CHECK(difference(m.pair.a, {1., 2.}) == "");
    CHECK(report.missing == std::vector<std::string>{"pair.b"});
    CHECK(report.unexpected == std::vector<std::string>{"more"});
    CHECK(report.mismatched.size() == 1);
    CHECK_FALSE(report.complete());
}

TEST_CASE("a change of parameters between forward and backward is noticed") {
    struct Squared : nn::Module<Squared> {
        nn::Parameter<double> a{*this, "a", {3.}};
        D forward() const { return a * a; }
    } m;
    D const y = m();
    m.load_state_dict(m.state_dict());
    CHECK_THROWS_AS(sum(y).backward(), xg::VersionError);
}

TEST_CASE("a state may share the module's own memory") {
    struct Two : nn::Module<Two> {
        nn::Parameter<double> a{*this, "a", {1.}}, b{*this, "b", {2.}};
    } m;
    m.load_state_dict({{"a", m.b}, {"b", m.a}});
    CHECK(difference(m.a, {2.}) == "");
    CHECK(difference(m.b, {1.}) == "");
}
