// PackageExporter: rules, hooks, what it says of a package that cannot be written, and what it
// tells of one that can.
#include <doctest/doctest.h>

#include "acme.hpp"

namespace {

/// An exporter with a rule for each name that acme::Net depends on.
struct Exporter : package::PackageExporter {
    explicit Exporter(std::filesystem::path const& path) : PackageExporter(path) {
        extern_("acme.Normalize");
        mock("acme.Log");
        extern_("acme.labels");
        intern({"xgrad.nn.**", "acme.vision.*"});
    }
};

} // namespace

TEST_CASE("the first rule that matches decides") {
    Folder const d("xgrad_package_rules");
    package::PackageExporter e(d / "p");
    e.extern_("acme.vision.Block");
    e.intern("acme.vision.**");
    e.deny("acme.**", {"acme.labels", "acme.Normalize"});
    e.extern_("acme.labels");
    e.mock("acme.*");
    e.intern("xgrad.**", {.exclude = "xgrad.nn.Dropout"});
    e.mock("xgrad.nn.*");
    e.save_module("acme", "net", acme::Net());
    e.close();
    CHECK(e.externed() == Strings{"acme.labels", "acme.vision.Block"});
    CHECK(e.mocked() == Strings{"acme.Normalize", "xgrad.nn.Dropout"});
    CHECK(e.interned() ==
          Strings{"acme.vision.Net", "xgrad.nn.Slot", "xgrad.nn.Sequential", "xgrad.nn.Linear"});
    CHECK(e.denied().empty());
    CHECK(std::filesystem::exists(d / "p"));
}

TEST_CASE(
    "every dependency without a rule, and every one that is denied, is listed with a path to it") {
    Folder const d("xgrad_package_problems");
    package::PackageExporter e(d / "p");
    e.intern({"acme.vision.Net", "xgrad.nn.Slot", "xgrad.nn.Sequential"});
    e.deny("acme.vision.*");
    e.intern("acme.labels");
    Strings lines;
    acme::Net net;
    net.log.set(acme::Log(lines));
    e.intern("acme.Log");
    e.save_module("acme", "net", net);
    CHECK(complaint(d, [&] { e.close(); }) ==
          "p: the package cannot be written:\n"
          "* no rule matches; intern, extern or mock them:\n"
          "    acme.Normalize (acme.net -> acme.vision.Net -> xgrad.nn.Slot -> acme.Normalize)\n"
          "    xgrad.nn.Linear (acme.net -> acme.vision.Net -> xgrad.nn.Sequential -> "
          "xgrad.nn.Linear)\n"
          "    xgrad.nn.Dropout (acme.net -> acme.vision.Net -> xgrad.nn.Sequential -> "
          "xgrad.nn.Dropout)\n"
          "* denied by a rule:\n"
          "    acme.vision.Block (acme.net -> acme.vision.Net -> xgrad.nn.Sequential -> "
          "acme.vision.Block)\n"
          "* interned, but the type has only a name:\n"
          "    acme.Log (acme.net -> acme.vision.Net -> xgrad.nn.Slot -> acme.Log)\n"
          "* interned, but nothing was saved under this name:\n"
          "    acme.labels (acme.net -> acme.vision.Net -> acme.labels)");
    CHECK(e.denied() == Strings{"acme.vision.Block"});
    CHECK(std::filesystem::is_empty(d.path));
    CHECK(complaint(d, [&] { e.close(); }) == "PackageExporter: close() was called before");
}

namespace acme {
struct Nameless : nn::Module<Nameless> {
    nn::Child<nn::Tanh> inside{*this, "inside"};
    D forward(D const& x) { return inside(x); }
};
} // namespace acme

TEST_CASE("a module whose type has no name is named by its position") {
    Folder const d("xgrad_package_nameless");
    Exporter e(d / "p");
    e.save_module("acme", "net", nn::Sequential<double>(nn::Tanh(), acme::Nameless()));
    CHECK(complaint(d, [&] { e.close(); }) ==
          "p: the package cannot be written:\n"
          "* modules whose C++ types have no name; give them one by package::Type:\n"
          "    '1' (Nameless) in acme.net -> xgrad.nn.Sequential");

    package::PackageExporter f(d / "p");
    f.intern("xgrad.nn.Sequential");
    f.save_module("acme", "net",
        nn::Sequential<double>(acme::Nameless(), nn::Tanh(), nn::Tanh(), acme::Nameless()));
    CHECK(complaint(d, [&] { f.close(); }) ==
          "p: the package cannot be written:\n"
          "* no rule matches; intern, extern or mock them:\n"
          "    xgrad.nn.Tanh (acme.net -> xgrad.nn.Sequential -> xgrad.nn.Tanh)\n"
          "* modules whose C++ types have no name; give them one by package::Type:\n"
          "    '0' (Nameless) in acme.net -> xgrad.nn.Sequential\n"
          "    '3' (Nameless) in acme.net -> xgrad.nn.Sequential");
}

TEST_CASE("a rule that matched nothing is an error where it must not be empty") {
    Folder const d("xgrad_package_empty_rule");
    Exporter e(d / "p");
    e.mock({"foo.**", "bar"}, {.allow_empty = false});
    e.save_text("acme", "a.txt", "a");
    CHECK(complaint<package::EmptyMatchError>(d, [&] { e.close(); }) ==
          "p: the rule mock(\"foo.**\", \"bar\") matched nothing");
    CHECK(std::filesystem::is_empty(d.path));

    Exporter f(d / "p");
    f.extern_("acme.N*", {.allow_empty = false}); // a rule before it took the only name
    f.save_module("acme", "net", acme::Net());
    CHECK(complaint<package::EmptyMatchError>(d, [&] { f.close(); }) ==
          "p: the rule extern(\"acme.N*\") matched nothing");
}

TEST_CASE("hooks run once for each name of their action, in the order of their registration") {
    Folder const d("xgrad_package_hooks");
    Exporter e(d / "p");
    Strings seen;
    auto const note = [&seen](std::string const& who) {
        return [&seen, who](package::PackageExporter&, std::string const& name) {
            seen.push_back(who + " " + name);
        };
    };
    auto first = e.register_extern_hook(note("extern 1")),
         second = e.register_extern_hook(note("extern 2"));
    e.register_extern_hook(note("extern 3"));
    e.register_mock_hook(note("mock"));
    e.register_intern_hook([&](package::PackageExporter& exporter, std::string const& name) {
        CHECK(&exporter == &e);
        CHECK(e.interned().back() == name);
        if (name.starts_with("acme")) seen.push_back("intern " + name);
    });
    first.remove();
    first.remove();
    Strings lines;
    acme::Net net;
    net.log.set(acme::Log(lines));
    e.save_module("acme", "a", net);
    e.save_module("acme", "b", net);
    e.close();
    CHECK(seen == Strings{"intern acme.vision.Net", "extern 2 acme.labels", "extern 3 acme.labels",
                      "extern 2 acme.Normalize", "extern 3 acme.Normalize",
                      "intern acme.vision.Block", "mock acme.Log"});
}

TEST_CASE("a hook may give rules and save resources, whose dependencies are decided as well") {
    Folder const d("xgrad_package_hook_saves");
    package::PackageExporter e(d / "p");
    e.intern({"acme.vision.*", "xgrad.nn.Slot", "xgrad.nn.Sequential", "acme.labels"});
    e.register_intern_hook([&](package::PackageExporter& exporter, std::string const& name) {
        if (name == "acme.labels") exporter.save_text("acme", "labels", "zero\none\n");
        if (name == "xgrad.nn.Sequential")
            exporter.intern("xgrad.**"), exporter.save_module("acme", "more", nn::Tanh());
    });
    e.register_extern_hook([](package::PackageExporter& exporter, std::string const&) {
        exporter.deny("acme.*");
    }); // comes last
    e.extern_("acme.Normalize");
    e.save_module("acme", "net", acme::Net());
    e.close();
    CHECK(e.interned().back() == "xgrad.nn.Tanh");
    package::PackageImporter const i(d / "p");
    CHECK(i.load_text("acme", "labels") == "zero\none\n");
    CHECK(i.has_resource("acme", "more"));
}

TEST_CASE("a hook that throws leaves no file, and the file that was there before") {
    Folder const d("xgrad_package_hook_throws");
    {
        package::PackageExporter e(d / "p");
        e.save_text("acme", "a.txt", "old");
        e.close();
    }
    Exporter e(d / "p");
    e.register_extern_hook([](package::PackageExporter&, std::string const& name) {
        throw std::runtime_error("no " + name);
    });
    e.save_module("acme", "net", acme::Net());
    CHECK(complaint<std::runtime_error>(d, [&] { e.close(); }) == "no acme.labels");
    CHECK(package::PackageImporter(d / "p").load_text("acme", "a.txt") == "old");
    CHECK(std::distance(std::filesystem::directory_iterator(d.path), {}) == 1);

    Folder const other("xgrad_package_without_close");
    {
        Exporter never_closed(other / "p");
        never_closed.save_text("acme", "a", "b");
    }
    CHECK(std::filesystem::is_empty(other.path));
}

TEST_CASE("the graph of dependencies, its paths and the files can be asked for") {
    Folder const d("xgrad_package_graph");
    Exporter e(d / "net.package");
    e.save_module("acme.models", "net",
        nn::Sequential<double>(
            nn::Linear<double>(1, 1), nn::Sequential<double>(nn::Linear<double>(1, 1))));
    e.save_tensor("acme", "mean", D({1., 2.}));
    CHECK(e.file_structure() ==
          "net.package\n  .data/\n    package.json\n  acme/\n    mean.safetensors\n    models/\n   "
          "   net.json\n      net.safetensors\n");
    CHECK(e.file_structure("acme/**", "**/*.json") ==
          "net.package\n  acme/\n    mean.safetensors\n    models/\n      net.safetensors\n");
    e.close();
    std::string const graph =
        "digraph dependencies {\n  rankdir = LR;\n  node [shape = box];\n"
        "  \"acme.models.net\" [shape = folder];\n"
        "  \"xgrad.nn.Sequential\" [label = \"xgrad.nn.Sequential\\nintern\"];\n"
        "  \"xgrad.nn.Linear\" [label = \"xgrad.nn.Linear\\nintern\"];\n"
        "  \"acme.mean\" [shape = folder];\n"
        "  \"acme.models.net\" -> \"xgrad.nn.Sequential\";\n"
        "  \"xgrad.nn.Sequential\" -> \"xgrad.nn.Linear\";\n"
        "  \"xgrad.nn.Sequential\" -> \"xgrad.nn.Sequential\";\n"
        "}\n";
    CHECK(e.dependency_graph() == graph);
    CHECK(e.all_paths("acme.models.net", "xgrad.nn.Linear") ==
          std::vector<Strings>{{"acme.models.net", "xgrad.nn.Sequential", "xgrad.nn.Linear"}});
    CHECK(e.all_paths("xgrad.nn.Linear", "acme.mean").empty());
    CHECK(e.all_paths("nobody", "acme.mean").empty());
    package::PackageImporter const i(d / "net.package");
    CHECK(i.interned() == Strings{"xgrad.nn.Sequential", "xgrad.nn.Linear"});
    CHECK(i.file_structure("acme/*") == "net.package\n  acme/\n    mean.safetensors\n");
    CHECK(i.all_paths("acme.models.net", "xgrad.nn.Linear").size() == 1);
}

TEST_CASE("names that are none, and a resource that is there already, are refused") {
    Folder const d("xgrad_package_bad_names");
    package::PackageExporter e(d / "p");
    auto const text = [&](std::string const& in, std::string const& resource) {
        return complaint(d, [&] { e.save_text(in, resource, ""); });
    };
    CHECK(text("acme.1", "a") ==
          "save_text: the name of a package is identifiers with dots between them, not 'acme.1'");
    CHECK(text("", "a").starts_with("save_text: the name of a package"));
    for (char const* const name : {"", ".", "..", "a/b", "a\\b", "c:", "a\n", "\xff"})
        CHECK(text("acme", name).find("cannot be the name of a resource") != std::string::npos);
    CHECK(text("acme", "a.json") == "none");
    CHECK(text("acme", "a.json") == "save_text: the package has a file 'acme/a.json' already");
    CHECK(complaint(d, [&] { e.save_module("acme", "a", nn::Tanh()); }) ==
          "save_module: the package has a file 'acme/a.json' already");
    CHECK(complaint(d, [&] { e.save_text("acme", "b", "\xff"); }) ==
          "save_text: the text is not UTF-8");
    CHECK(complaint(d, [&] { e.save_tensor("acme", "b", {}); }) ==
          "save_tensor: the tensor is undefined");
    CHECK(complaint(d, [&] { e.intern({}); }) == "PackageExporter: a rule needs a pattern");
}
