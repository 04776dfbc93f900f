// Packages that are not what they should be, by accident or by intent: each gives one clear error.
// And one that an older xgrad wrote.
#include <doctest/doctest.h>

#include "acme.hpp"

#include <fstream>

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

/// A zip file of these entries.
void write_zip(std::filesystem::path const& path, Files const& files) {
    xg::data::AtomicFile file(path);
    xg::data::detail::ZipWriter zip(file);
    for (auto const& [name, text] : files) zip.add(name, text);
    zip.finish();
    file.commit();
}
std::string safetensors(std::string const& header, std::size_t bytes = 0) {
    std::string s;
    xg::data::detail::put_little_endian(s, std::uint64_t(header.size()));
    return s + header + std::string(bytes, '\0');
}
std::string manifest(std::string const& dependencies =
                         R"("xgrad.nn.Linear": {"action": "intern", "depends_on": []})",
    std::string const& resources =
        R"("a/m": {"kind": "module", "depends_on": ["xgrad.nn.Linear"]})",
    std::string const& format = "1") {
    return R"({"format": )" + format + R"(, "xgrad": "9.8.7", "dependencies": {)" + dependencies +
           R"(}, "resources": {)" + resources + "}}";
}
std::string const linear =
    R"({"type": "xgrad.nn.Linear", "dtype": "float32", "arguments": {"in_features": 2, "out_features": 1, "bias": false}})";
std::string module_of(std::string const& module,
    std::string const& lists = R"("parameters": ["weight"], "frozen": [], "evaluating": [])") {
    return R"({"module": )" + module + ", " + lists + "}";
}
std::string const weight =
    safetensors(R"({"weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", 8);

struct Package {
    Folder folder{"xgrad_package_malformed"};
    std::string manifest_text = manifest(), module = module_of(linear), state = weight;

    /// What is said when its module is loaded.
    std::string complaint(Files const& more = {}) const {
        Files files{{".data/package.json", manifest_text}, {"a/m.json", module},
            {"a/m.safetensors", state}};
        files.insert(files.end(), more.begin(), more.end());
        write_zip(folder / "p", files);
        return ::complaint<xg::Error>(
            folder, [&] { package::PackageImporter(folder / "p").load_module("a", "m"); });
    }
};
std::string said_of_manifest(std::string const& text) {
    Package p;
    p.manifest_text = text;
    return p.complaint();
}
std::string said_of_module(std::string const& text) {
    Package p;
    p.module = text;
    return p.complaint();
}
std::string said_of_linear(std::string const& arguments) {
    return said_of_module(module_of(
        R"({"type": "xgrad.nn.Linear", "dtype": "float32", "arguments": {)" + arguments + "}}"));
}

} // namespace

TEST_CASE("the package that the others are made from is well-formed") {
    CHECK(Package().complaint() == "none");
}

TEST_CASE("a newer format is named with the xgrad that wrote it") {
    CHECK(said_of_manifest(manifest("", "", "2")) ==
          "p: the package has format 2 and was written by "
          "xgrad 9.8.7; this xgrad reads formats up to 1");
    CHECK(said_of_manifest(manifest("", "", "0")) == "p: .data/package.json: there is no format 0");
}

TEST_CASE("what is said of files that are no packages, and of wrong sets of files") {
    Package const p;
    write_zip(p.folder / "q", {{"a", "b"}});
    auto const said = [&] {
        return complaint<xg::Error>(
            p.folder, [&] { package::PackageImporter const i(p.folder / "q"); });
    };
    CHECK(said() ==
          "q: .data/package.json: this file is not there; the zip file is no package of xgrad");
    write_zip(
        p.folder / "q", {{".data/package.json", manifest()}, {"a/m.json", module_of(linear)}});
    CHECK(said() == "q: a/m.safetensors: this file is not there");
    std::ofstream(p.folder / "q") << "PK";
    CHECK(said() == "q, at byte 2: the file does not end as a zip file does");
    for (char const* const name : {"../evil", "/etc/passwd", "a/../../b", "C:\\x", "a/n.json"})
        CHECK(p.complaint({{name, ""}}) ==
              "p: " + std::string(name) + ": the file belongs to no resource");
    for (char const* const base :
        {"../evil", "/etc/passwd", "a/../b", "a", "a/..", "a/b\\\\c", ".data/package.json", ""})
        CHECK(said_of_manifest(manifest("", '"' + std::string(base) +
                                                R"(": {"kind": "text", "depends_on": []})"))
                  .find("' cannot be the path of a resource") != std::string::npos);
}

TEST_CASE("a truncated or damaged package is an error, wherever it ends or what bit is wrong") {
    Package const p;
    REQUIRE(p.complaint() == "none");
    std::ifstream in(p.folder / "p", std::ios::binary);
    std::string const whole{std::istreambuf_iterator<char>(in), {}};
    auto const load = [](std::string const& bytes) {
        package::PackageImporter(xg::data::Input(std::as_bytes(std::span(bytes)), "p"))
            .load_module("a", "m");
    };
    load(whole);
    for (std::size_t n = 0; n < whole.size(); n += 7)
        CHECK_THROWS_AS(load(whole.substr(0, n)), xg::data::FormatError);
    for (std::size_t at = 0; at < whole.size(); at += 11) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        try {
            load(damaged); // where the byte is one that nobody reads
        } catch (xg::Error const&) {}
    }
}

TEST_CASE("what is said of a wrong manifest") {
    CHECK(said_of_manifest("[]") == "p: .data/package.json: there is no 'format'");
    CHECK(said_of_manifest("{").starts_with("p: .data/package.json, at byte 1: "));
    CHECK(said_of_manifest(R"({"format": 1})") == "p: .data/package.json: there is no 'xgrad'");
    CHECK(said_of_manifest(manifest(R"("xgrad.nn.Linear": {"action": "run", "depends_on": []})")) ==
          "p: .data/package.json: the action 'run' is not known");
    CHECK(
        said_of_manifest(manifest(R"("xgrad.nn.Linear": {"action": "deny", "depends_on": []})")) ==
        "p: .data/package.json: the action 'deny' is not known");
    CHECK(said_of_manifest(manifest(R"("x y": {"action": "mock", "depends_on": []})")) ==
          "p: .data/package.json: 'x y' cannot be the name of a dependency");
    CHECK(said_of_manifest(manifest("")) ==
          "p: .data/package.json: what becomes of 'xgrad.nn.Linear' is not said");
    CHECK(said_of_manifest(manifest("", R"("a/m": {"kind": "code", "depends_on": []})")) ==
          "p: .data/package.json: a resource of kind 'code' is not known");
    CHECK(said_of_manifest(std::string(100000, '[')).find("nested more than 200 deep") !=
          std::string::npos);
}

TEST_CASE("dependencies that depend on each other do no harm") {
    Package p;
    p.manifest_text = manifest(
        R"("xgrad.nn.Linear": {"action": "intern", "depends_on": ["b.c"]}, "b.c": {"action": "mock", "depends_on": ["xgrad.nn.Linear", "b.c"]})");
    CHECK(p.complaint() == "none");
    p.manifest_text = manifest(
        R"("xgrad.nn.Linear": {"action": "intern", "depends_on": ["b.c"]}, "b.c": {"action": "extern", "depends_on": ["xgrad.nn.Linear", "b.c"]})");
    CHECK(p.complaint() == "p: needs what this program does not provide; call provide() for it "
                           "first:\n    b.c (a.m -> xgrad.nn.Linear -> b.c)");
}

TEST_CASE("what is said of a wrong description of a module") {
    CHECK(said_of_module("{}") == "p: a/m.json: there is no module");
    CHECK(said_of_module(module_of("3")) == "p: a/m.json: here should be a module");
    CHECK(said_of_module(module_of(R"({"type": "Linear"})")) ==
          "p: a/m.json: 'Linear' cannot be the name of a type");
    CHECK(said_of_module(module_of(R"({"type": "a.B"})")) ==
          "p: a/m.json: what becomes of 'a.B' is not said");
    CHECK(said_of_module(module_of(R"({"type": "xgrad.nn.Linear", "dtype": "float8"})")) ==
          "p: a/m.json: the dtype is not known");
    CHECK(said_of_module(module_of(R"({"type": "xgrad.nn.Linear", "code": "x"})")) ==
          "p: a/m.json: the key 'code' is not known");
    CHECK(said_of_module(module_of(linear, R"("parameters": [], "frozen": [])")) ==
          "p: a/m.json: there is no list of names 'evaluating'");
    std::string deep = linear;
    for (int i = 0; i < 300; ++i)
        deep = R"({"type": "xgrad.nn.Linear", "modules": {"a": )" + deep + "}}";
    CHECK(said_of_module(module_of(deep)).find("nested more than 200 deep") != std::string::npos);
}

TEST_CASE(
    "arguments of the wrong kind, or that ask for more than the archive holds, construct nothing") {
    CHECK(said_of_linear("") == "p: a/m.json: here should be 3 arguments");
    CHECK(said_of_linear(R"("in_features": 2, "out_features": 1, "b": false)") ==
          "p: a/m.json: there is no argument 'bias'");
    CHECK(said_of_linear(R"("in_features": 2.5, "out_features": 1, "bias": false)") ==
          "p: a/m.json, argument 'in_features': here should be an integer");
    CHECK(said_of_linear(R"("in_features": -2, "out_features": 1, "bias": false)") ==
          "p: a/m.json, argument 'in_features': the integer -2 is out of range");
    CHECK(
        said_of_linear(R"("in_features": 9223372036854775808, "out_features": 1, "bias": false)") ==
        "p: a/m.json, argument 'in_features': here should be an integer");
    auto const too_much =
        "p: a/m.json: the arguments ask for more elements than the archive has for it";
    CHECK(
        said_of_linear(
            R"("in_features": 9223372036854775807, "out_features": 9223372036854775807, "bias": false)") ==
        too_much);
    CHECK(
        said_of_linear(R"("in_features": 0, "out_features": 9223372036854775807, "bias": false)") ==
        too_much);
    CHECK(said_of_linear(R"("in_features": 100000, "out_features": 100000, "bias": true)") ==
          too_much);
    auto const said = [](std::string const& type, std::string const& arguments) {
        Package p;
        p.manifest_text = manifest('"' + type + R"(": {"action": "intern", "depends_on": []})",
            R"("a/m": {"kind": "module", "depends_on": []})");
        p.module = module_of(
            R"({"type": ")" + type + R"(", "dtype": "float32", "arguments": {)" + arguments + "}}");
        return p.complaint();
    };
    CHECK(
        said("xgrad.nn.LSTM",
            R"("input_size": 1, "hidden_size": 1, "options": {"num_layers": 4000000000000000000, "bias": true, "batch_first": false, "dropout": 0.0, "bidirectional": false, "proj_size": 0, "nonlinearity": 0})") ==
        too_much);
    CHECK(
        said("xgrad.nn.LayerNorm",
            R"("normalized_shape": [0, 4000000000, 4000000000, 4000000000], "eps": 0.1, "elementwise_affine": true)") ==
        too_much);
    CHECK(
        said("xgrad.nn.Conv2d",
            R"("in_channels": 4, "out_channels": 4, "kernel_size": [2000000000, 2000000000], "options": {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}, "bias": true)") ==
        too_much);
    CHECK(
        said("xgrad.nn.Conv2d",
            R"("in_channels": 4, "out_channels": 4, "kernel_size": [3], "options": {}, "bias": true)") ==
        "p: a/m.json, argument 'kernel_size': here should be 2 elements, not 1");
    CHECK(said("xgrad.nn.GroupNorm",
              R"("num_groups": 3, "num_channels": 4, "eps": 0.1, "affine": true)") ==
          "p: a/m.json: GroupNorm: num_channels 4 must be divisible by num_groups 3");
}

TEST_CASE("a state that does not fit the module is an error") {
    Package p;
    p.state = safetensors(R"({"weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})", 8);
    CHECK(p.complaint() == "p: a/m.json: size mismatch for weight: a tensor of shape [2, 1] in the "
                           "state, of shape [1, 2] in the module");
    p.state = safetensors(
        R"({"weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"more":{"dtype":"F32","shape":[],"data_offsets":[8,12]}})",
        12);
    CHECK(p.complaint() == "p: a/m.json: the module has no parameter or buffer 'more'");
    p.state = safetensors("{}");
    CHECK(p.complaint() == "p: a/m.json: the parameter or buffer 'weight' is not stored");
    p.state = safetensors(
        R"({"weight":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})");
    CHECK(p.complaint().find("is too large") != std::string::npos);
    p.state = safetensors(R"({"weight":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]}})", 16);
    CHECK(p.complaint() ==
          "p: a/m.json: type mismatch for weight: int64 in the state, float32 in the module");
    // a type that is not here takes any state, but not one that no module can have
    p.manifest_text = manifest(R"("beta.Net": {"action": "intern", "depends_on": []})",
        R"("a/m": {"kind": "module", "depends_on": []})");
    p.module = module_of(R"({"type": "beta.Net"})");
    CHECK(p.complaint() == "p: a/m.json: a parameter 'weight' of type int64");
    p.state = safetensors(R"({"a.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", 8);
    CHECK(p.complaint() == "p: a/m.json: the module has no parameter or buffer 'a.weight'");
}

TEST_CASE("a type of this program that has other modules inside is an error") {
    Package p;
    p.manifest_text = manifest(
        R"("acme.vision.Block": {"action": "intern", "depends_on": []}, "xgrad.nn.Linear": {"action": "intern", "depends_on": []})",
        R"("a/m": {"kind": "module", "depends_on": []})");
    auto const said = [&](std::string const& modules) {
        p.module = module_of(
            R"({"type": "acme.vision.Block", "arguments": {"width": 2, "slope": 0.5}, "modules": {)" +
            modules + "}}");
        return p.complaint();
    };
    CHECK(said("") == "p: a/m.json: the modules inside a Block are 'linear' in this program, and "
                      "others in the package");
    CHECK(said(R"("linear": )" + linear) ==
          "p: a/m.json, module 'linear': it is a xgrad.nn.Linear (float32), and this program has a "
          "xgrad.nn.Linear (float64) there");
}

TEST_CASE("a compressed entry is refused: nothing in a package is larger than the file") {
    Folder const d("xgrad_package_deflated");
    // python3: zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED).writestr(".data/package.json", " " *
    // 64)
    static constexpr unsigned char bytes[] = {0x50, 0x4b, 3, 4, 20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0,
        0x6c, 0x97, 0xcb, 0x8f, 5, 0, 0, 0, 64, 0, 0, 0, 1, 0, 0, 0, 'a', 0x53, 0x50, 0xa0, 0x3d, 0,
        0x50, 0x4b, 1, 2, 20, 3, 20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0, 0x6c, 0x97, 0xcb, 0x8f, 5, 0, 0,
        0, 64, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 0, 'a', 0x50, 0x4b, 5,
        6, 0, 0, 0, 0, 1, 0, 1, 0, 47, 0, 0, 0, 36, 0, 0, 0, 0, 0};
    CHECK(complaint<xg::Error>(d, [] {
        package::PackageImporter const i(xg::data::Input(std::as_bytes(std::span(bytes)), "p"));
    }) == "p: a: the entry is compressed, which those of packages are not");
}

TEST_CASE("a package of format 1 stays readable") {
    Folder const d("xgrad_package_old");
    package::PackageImporter i(std::filesystem::path(__FILE__).parent_path() / "format_1.package");
    CHECK(i.format() == 1);
    CHECK(i.xgrad_version() == "0.1.0");
    CHECK(i.interned() == Strings{"xgrad.nn.Sequential", "xgrad.nn.Linear", "xgrad.nn.LeakyReLU"});
    CHECK(i.externed() == Strings{"acme.Normalize"});
    CHECK(i.mocked() == Strings{"xgrad.nn.Dropout"});
    CHECK(i.load_text("acme.labels", "labels.txt") == "zero\none\n");
    CHECK(i.load_binary("acme", "bytes") == std::vector<std::byte>{std::byte(0), std::byte(255)});
    auto const z = i.load_tensor<std::complex<double>>("acme", "z");
    CHECK(z.shape() == xg::Shape{2});
    CHECK(z(1).item() == std::complex<double>(3, -4));
    CHECK(i.load_tensors("acme", "counts").at("n").as<std::int64_t>().item() == 12);
    acme::Normalize normalize;
    normalize.scale = 4;
    i.provide("acme.Normalize", normalize);
    auto net = i.load_module<nn::Sequential<double>>("acme", "net");
    CHECK(to_string(net) ==
          "Sequential(\n  (0): Normalize()\n  (1): Linear(in_features=2, out_features=1, "
          "bias=true), 3 parameters\n  (2): LeakyReLU(negative_slope=0.25)\n  (3): "
          "Mock(xgrad.nn.Dropout)\n), 3 parameters");
    auto& linear_layer = package::module_at<nn::Linear<double>>(net, "1");
    CHECK_FALSE(linear_layer.bias.requires_grad());
    // 4 times (1, -1) by the weight (0.5, 2) and the bias -1 is -7, of which the slope leaves a
    // quarter
    CHECK(package::module_at<nn::LeakyReLU>(net, "2")(
              linear_layer(package::module_at<acme::Normalize>(net, "0")(D({{1., -1.}}))))
              .item() == -1.75);
}
