// Uses the package that package_model writes. This program has no type of the network. It only
// knows that the network has a body, and defines the external module before it.
// program: package_use
// ctest: --package ../package_model/digits.package
// ctest after: package_model

#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>

#include <xgrad/package.hpp>

#include <options.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace package = xg::package;
using F = xg::Tensor<float>;

/// This program's way from pixels to images.
struct ToImages : nn::Module<ToImages> {
    F forward(F const& pixels) const { return reshape(pixels / 16.f, {-1, 1, 8, 8}); }
};

int use(std::string const& file) {
    package::PackageImporter importer(
        file, {.allowed = [](std::string const& name) { return name == "digits.Scale"; }});
    std::cout << importer.load_text("digits", "about.txt") << importer.dependency_graph();
    importer.provide("digits.Scale", ToImages());
    package::register_layer_calls<float>();
    auto const net = importer.load_module("digits", "net");
    std::cout << *net << '\n';

    auto const test = importer.load_tensors("digits", "test");
    auto const labels = test.at("labels").as<std::int64_t>();
    auto const expected = test.at("scores").as<float>();
    xg::NoGradGuard const off;
    auto& before = package::module_at<ToImages>(*net, "before.module");
    auto& body = package::module_at<nn::Sequential<float>>(*net, "body");
    F const scores = body(before(test.at("pixels").as<float>()));
    bool const same =
        std::memcmp(scores.data(), expected.data(), scores.numel() * sizeof(float)) == 0;
    std::cout << 100 * xg::mean(xg::cast<double>(argmax(scores, 1) == labels)).item()
              << " % of the test digits are read right; the scores are "
              << (same ? "those" : "not those") << " of the program that packed the network\n";
    std::cout << "the log: "
              << package::module_at<package::Mock>(*net, "log.module").why_uncallable() << '\n';
    return same ? 0 : 1;
}

int main(int argc, char** argv) {
    std::string file = "digits.package";
    return examples::exit_code([&] {
        examples::Options options("Reads handwritten digits by a network from a package.");
        options.text("package", file, "the package that package_model wrote");
        options.parse(argc, argv);
        return use(file);
    });
}
