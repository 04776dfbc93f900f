// PackageImporter: modules come back as they were, external and mocked names, and types that this
// program does not have.
#include <doctest/doctest.h>

#include "acme.hpp"

namespace {

/// Writes a package of one module and hands it to an importer.
template <class Rules>
std::filesystem::path packed(Folder const& d, nn::AnyModule const& m, Rules rules) {
    package::PackageExporter e(d / "p");
    rules(e);
    e.intern("**");
    e.register_intern_hook([](package::PackageExporter& exporter, std::string const& name) {
        if (name == "acme.labels") exporter.save_text("acme", "labels", "");
    });
    e.save_module("acme", "net", m);
    e.close();
    return d / "p";
}
auto const no_rules = [](package::PackageExporter&) {};
auto const normalize_outside = [](package::PackageExporter& e) { e.extern_("acme.Normalize"); };

} // namespace

TEST_CASE("tensors, texts and bytes come back as they were") {
    Folder const d("xgrad_package_resources");
    D const t({{1., 2.}, {3., 4.}});
    xg::Tensor<std::complex<float>> const z({std::complex<float>(1, -2)});
    std::vector<std::byte> const bytes{std::byte(0), std::byte(255), std::byte(10)};
    {
        package::PackageExporter e(d / "p");
        D early = t.clone();
        e.save_tensor("a.b", "t", transpose(early));
        early.fill_(0.); // what was saved are the values of then
        e.save_tensors("a.b", "all",
            {{"z", z}, {"flags", xg::Tensor<bool>({true, false})},
                {"n", xg::Tensor<std::int64_t>(7)}});
        e.save_text("a", "text.txt", "h\u00e9\0llo");
        e.save_binary("a", "bytes", bytes);
        e.close();
    }
    package::PackageImporter const i(d / "p");
    CHECK(same(D(i.load_tensor<double>("a.b", "t")), D(transpose(t))));
    auto const all_of = i.load_tensors("a.b", "all");
    CHECK(all_of.size() == 3);
    CHECK(all_of.at("z").as<std::complex<float>>()(0).item() == std::complex<float>(1, -2));
    CHECK(all_of.at("n").as<std::int64_t>().item() == 7);
    CHECK(i.load_text("a", "text.txt") == "h\u00e9\0llo");
    CHECK(i.load_binary("a", "bytes") == bytes);
    std::string names;
    for (auto const& r : i.resources()) names += r.package + ' ' + r.resource + ' ' + r.kind + '\n';
    CHECK(names == "a.b all tensors\na.b t tensor\na bytes binary\na text.txt text\n");
    CHECK(i.format() == 1);
    CHECK(i.xgrad_version() == XGRAD_VERSION_STRING);
    CHECK(complaint(d, [&] { i.load_text("a", "no"); }) == "load_text: p has no resource 'a.no'");
    CHECK(complaint(d, [&] { i.load_text("a.b", "t"); }) ==
          "load_text: 'a.b.t' in p is of kind tensor, not text");
    CHECK(complaint<xg::TypeError>(d, [&] {
        static_cast<void>(i.load_tensor<float>("a.b", "t")),
            static_cast<void>(i.load_tensor<bool>("a.b", "t"));
    }).starts_with("p: has elements of type float64, which do not become bool"));
}

TEST_CASE(
    "a module comes back with its state, its arguments, what is frozen and what is training") {
    Folder const d("xgrad_package_module");
    xg::manual_seed(3);
    acme::Net net;
    net.body.eval();
    dynamic_cast<acme::Block&>(net.body[1]).slope = 0.75; // not what the constructor of Net says
    dynamic_cast<acme::Block&>(net.body[1]).linear.requires_grad_(false);
    D const x({{1., 2.}, {-3., 0.5}});
    D const y = net(x);
    packed(d, net, no_rules);
    xg::manual_seed(7);
    auto const expected_number = xg::rand<double>({1}).item();
    xg::manual_seed(7);
    package::PackageImporter i(d / "p");
    auto loaded = i.load_module<acme::Net>("acme", "net");
    CHECK(xg::rand<double>({1}).item() == expected_number);
    CHECK(same_state(loaded, net));
    CHECK(to_string(loaded) == to_string(net));
    auto& block = package::module_at<acme::Block>(loaded, "body.1");
    CHECK(block.slope == 0.75);
    CHECK_FALSE(block.linear.weight.requires_grad());
    CHECK(block.shift.requires_grad());
    CHECK(loaded.is_training());
    CHECK_FALSE(loaded.body.is_training());
    CHECK_FALSE(package::module_at(loaded, "body.2").is_training());
    CHECK(same(D(loaded(x)), D(y)));
    CHECK(block.calls.item() == 2);
}

TEST_CASE("an external module is the program's own, or an error that names it and who needs it") {
    Folder const d("xgrad_package_extern");
    acme::Net net;
    packed(d, net, [](package::PackageExporter& e) {
        e.extern_({"acme.Normalize", "acme.Log", "acme.labels"});
    });
    Strings lines;
    net.log.set(acme::Log(lines));
    packed(d, net, [](package::PackageExporter& e) {
        e.extern_({"acme.Normalize", "acme.Log", "acme.labels"});
    });
    package::PackageImporter i(d / "p");
    CHECK(complaint(d, [&] { i.load_module("acme", "net"); }) ==
          "p: needs what this program does not "
          "provide; call provide() for it first:\n"
          "    acme.labels (acme.net -> "
          "acme.vision.Net -> acme.labels)\n"
          "    acme.Log (acme.net -> "
          "acme.vision.Net -> xgrad.nn.Slot -> "
          "acme.Log)"); // acme.Normalize is constructed from nothing
    Strings const labels{"zero", "one"};
    i.provide("acme.labels", labels);
    CHECK(i.object<Strings>("acme.labels") == labels);
    CHECK(complaint(d, [&] { i.object<int>("acme.labels"); }) ==
          "PackageImporter: what is provided as 'acme.labels' is of another type");
    int made = 0;
    i.provide_factory("acme.Log", [&] { return ++made, std::make_unique<acme::Log>(lines); });
    acme::Normalize other;
    other.scale = 10;
    i.provide("acme.Normalize", other);
    auto loaded = i.load_module<acme::Net>("acme", "net");
    CHECK(made == 1);
    loaded.eval();
    D const x({{1., 2.}});
    D const y = loaded(x);
    CHECK(lines == Strings{"called"});
    net.eval();
    CHECK(same(D(y), D(net.body(D(x * 10.)))));
    i.provide("acme.Log", 3);
    CHECK(complaint<xg::Error>(d, [&] { i.load_module("acme", "net"); }) ==
          "p: acme/net.json, module 'log.module': what is provided as 'acme.Log' is no module");
}

TEST_CASE("an importer may forbid external names") {
    Folder const d("xgrad_package_allowed");
    packed(d, acme::Net(), normalize_outside);
    package::PackageImporter i(
        d / "p", {.allowed = [](std::string const& name) { return !name.starts_with("acme.N"); }});
    i.provide("acme.Normalize", acme::Normalize());
    CHECK(complaint(d, [&] { i.load_module("acme", "net"); }) ==
          "p: needs the external 'acme.Normalize' (acme.net -> acme.vision.Net -> xgrad.nn.Slot -> "
          "acme.Normalize), which this importer does not allow");
}

TEST_CASE("a mock can be held, copied, printed and listed, and says why it cannot be called") {
    Folder const d("xgrad_package_mock");
    Strings lines;
    acme::Net net;
    net.log.set(acme::Log(lines));
    packed(d, net, [](package::PackageExporter& e) { e.mock({"acme.Log", "acme.labels"}); });
    package::PackageImporter i(d / "p");
    auto loaded = i.load_module<acme::Net>("acme", "net");
    auto copy = loaded.clone();
    auto const& mock = package::module_at<package::Mock>(copy, "log.module");
    CHECK(mock.name() == "acme.Log");
    CHECK(to_string(mock) == "Mock(acme.Log)");
    CHECK(i.mocked() == Strings{"acme.labels", "acme.Log"});
    auto const why = "'acme.Log' was mocked when p was written, but it is called. Intern it or "
                     "make it external instead";
    CHECK(complaint<nn::UncallableError>(d, [&] { copy(D({{1., 2.}})); }) == why);
    CHECK(complaint<nn::UncallableError>(d, [&] {
        i.object<int>("acme.labels");
    }).starts_with("'acme.labels' was mocked"));

    // and can be packed again, but not interned
    package::PackageExporter e(d / "q");
    e.mock({"acme.Log", "acme.labels"});
    e.intern("**");
    e.save_module("acme", "net", loaded);
    e.close();
    package::PackageExporter f(d / "q");
    f.intern("**");
    f.save_module("acme", "net", loaded);
    CHECK(complaint(d, [&] {
        f.close();
    }).find("* interned, but the type has only a name:\n    acme.Log (") != std::string::npos);
}

namespace acme {
struct Holder : nn::Module<Holder> {
    nn::Child<Normalize> normalize{*this, "normalize"};
    D forward(D const& x) const { return normalize(x); }
};
struct Double : nn::Module<Double> {
    D forward(D const& x) const { return 2. * x; }
};
} // namespace acme
inline package::Type<acme::Holder, "acme.Holder"> const holder_type;

TEST_CASE("what a module holds by value can be external with the same type, and cannot be mocked") {
    Folder const d("xgrad_package_by_value");
    packed(d, acme::Holder(), normalize_outside);
    package::PackageImporter i(d / "p");
    acme::Normalize other;
    other.scale = 5;
    i.provide("acme.Normalize", other);
    auto const loaded = i.load_module<acme::Holder>("acme", "net");
    CHECK(loaded(D({1.})).item() == 5);
    i.provide("acme.Normalize", acme::Double());
    CHECK(complaint(d, [&] { i.load_module("acme", "net"); }) ==
          "p: acme/net.json, module 'normalize': the module around holds a Normalize by value, "
          "which a Double cannot replace; hold it in an nn::Slot");
    packed(d, acme::Holder(), [](package::PackageExporter& e) { e.mock("acme.Normalize"); });
    CHECK(complaint(d, [&] { package::PackageImporter(d / "p").load_module("acme", "net"); }) ==
          "p: acme/net.json, module 'normalize': 'acme.Normalize' was mocked, but the module "
          "around holds a Normalize by value; hold it in an nn::Slot");
}

TEST_CASE("a type that this program does not have becomes a tree of those that it has") {
    Folder const d("xgrad_package_generic");
    // a module of another program, as a package with its name would give it
    package::GenericModule net(
        "beta.Net", {}, package::Json(package::Json::Object{{"depth", std::int64_t(3)}}));
    net.add_module(
        "body", std::make_unique<nn::Sequential<float>>(nn::Linear<float>(2, 2), nn::ReLU()));
    net.add_parameter("scale", xg::Tensor<float>({2.f}));
    net.add_buffer("count", xg::Tensor<std::int64_t>({5}));
    packed(d, net, no_rules);

    package::register_layer_calls<float>();
    package::PackageImporter i(d / "p");
    auto const any = i.load_module("acme", "net");
    CHECK(any->kind() == "beta.Net");
    CHECK(same_state(*any, net));
    CHECK(any->named_parameters().size() == 3);
    CHECK(any->named_buffers().size() == 1);
    CHECK(*dynamic_cast<package::GenericModule&>(*any)
               .arguments()
               .find("depth")
               ->get_if<std::int64_t>() == 3);
    auto& body = package::module_at<nn::Sequential<float>>(*any, "body");
    xg::Tensor<float> const x({{1.f, -2.f}});
    auto& original = package::module_at<nn::Sequential<float>>(net, "body");
    CHECK(same(body(x), original(x)));
    CHECK(dynamic_cast<package::GenericModule&>(*any).why_uncallable() ==
          "a module of type 'beta.Net' cannot be called: this program does not have that type");
    CHECK(complaint(d, [&] { i.load_module<nn::ReLU>("acme", "net"); }) ==
          "p: 'acme.net' is no ReLU here: it is a beta.Net");
    CHECK(complaint<xg::IndexError>(d, [&] { package::module_at(*any, "body.7"); }) ==
          "module_at: there is no module 'body.7': Sequential has none called '7'");
    CHECK(complaint<xg::TypeError>(d, [&] { package::module_at<nn::ReLU>(*any, "body.0"); }) ==
          "module_at: the module 'body.0' is of another type: Linear");
}

TEST_CASE("two importers have nothing in common") {
    Folder const d("xgrad_package_two");
    packed(d, acme::Holder(), normalize_outside);
    package::PackageImporter a(d / "p"), b(d / "p");
    acme::Normalize five, six;
    five.scale = 5, six.scale = 6;
    a.provide("acme.Normalize", five);
    b.provide("acme.Normalize", six);
    auto const x = a.load_module<acme::Holder>("acme", "net");
    auto const y = b.load_module<acme::Holder>("acme", "net");
    CHECK(x(D({1.})).item() == 5);
    CHECK(y(D({1.})).item() == 6);
}
