// No operation without a test: what ops/ declares is compared with what the tables of this folder
// differentiate.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include <support/binary_operations.hpp>
#include <support/unary_operations.hpp>

using namespace support;

namespace {

/// Every `struct Name : Elementwise<`, or Transcendental<, of the headers in ops/, with its file.
std::map<std::string, std::string> declared() {
    std::map<std::string, std::string> all;
    for (auto const& entry : std::filesystem::directory_iterator(
             std::filesystem::path(__FILE__).parent_path() / "../../include/xgrad/ops")) {
        std::ifstream file(entry.path());
        static std::regex const declaration(R"(^struct (\w+) : (?:Elementwise|Transcendental)<)");
        std::smatch found;
        for (std::string line; std::getline(file, line);)
            if (std::regex_search(line, found, declaration))
                all[found[1]] = entry.path().filename();
    }
    return all;
}

/// "Sin" for a function whose outermost operation is Sin.
std::string outermost(Function const& f, Point const& at) {
    auto const y = f({leaf(at[0]), leaf(at.back())});
    std::string const name = y.grad_fn() ? y.grad_fn()->name() : "";
    return name.substr(0, name.size() - std::min(name.size(), std::string("Backward").size()));
}

template <class... T> void add_tested(std::set<std::string>& names) {
    (..., [&] {
        for (auto const& u : unary_operations<T>()) names.insert(outermost(u.f, {u.at}));
    }());
}

} // namespace

TEST_CASE("every elementwise operation that ops/ declares is differentiated by a table, or tested "
          "elsewhere") {
    std::set<std::string> tested{
        "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "And", "Or", "Not",
        "IsNan", "IsInf", "IsFinite",        // comparison_test: masks
        "XLogYSlope",                        // kinks_test: the gradient of xlogy
        "NormRoot", "PowerRoot", "AbsPower", // reduction_gradient_test: parts of norm
    };
    add_tested<double, cd>(tested);
    for (auto const& b : binary_operations<double, double>())
        tested.insert(outermost(b.f, b.at({3}, {3})));
    auto const all = declared();
    CHECK(all.size() > 50);
    CHECK(all.contains("Sin"));
    for (auto const& [name, file] : all) {
        INFO(
            "ops/"
            << file << " declares " << name
            << ": give it a line in support/unary_operations.hpp or support/binary_operations.hpp");
        CHECK(tested.contains(name));
    }
}
