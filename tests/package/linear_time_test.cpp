// Each reader of files takes time that is linear in what it reads.
#include <doctest/doctest.h>

#include "support/readers.hpp"

TEST_CASE("a reader takes four times as long for a file that is four times as large") {
    for (auto const& file : readers::growing_files) {
        CAPTURE(file.reader);
        CAPTURE(file.pieces);
        auto const said = readers::complaint(readers::find(file.reader), file.bytes(200));
        CHECK(std::string_view(said).substr(0, file.complaint.size()) == file.complaint);
        CHECK(said.empty() == file.complaint.empty());
        CHECK(readers::growth_of(file) < readers::max_growth);
    }
}

TEST_CASE("a dictionary finds, replaces and erases entries among many") {
    std::size_t const n = 1000;
    xgrad::StateDict state;
    auto const name = [](std::size_t i) { return std::to_string(i * 7919 % 1009); };
    for (std::size_t i = 0; i < n; ++i)
        state.set(name(i), xgrad::Tensor<double>(static_cast<double>(i)));
    auto const value = [&](std::size_t i) { return state.at(name(i)).as<double>().item(); };
    auto copy = state;
    for (std::size_t i = 0; i < n; ++i) {
        REQUIRE(value(i) == static_cast<double>(i));
        REQUIRE(std::next(state.begin(), static_cast<std::ptrdiff_t>(i))->name == name(i));
    }
    CHECK_FALSE(state.contains("1009"));
    CHECK_FALSE(state.contains(""));
    for (std::size_t i = 0; i < n; i += 3) state.erase(name(i)), state.erase("1009");
    for (std::size_t i = 0; i < n; ++i) REQUIRE(state.contains(name(i)) == (i % 3 != 0));
    for (std::size_t i = 0; i < n; ++i)
        state.set(name(i), xgrad::Tensor<double>(-static_cast<double>(i)));
    CHECK(state.size() == n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(value(i) == -static_cast<double>(i));
    CHECK(std::prev(state.end())->name == name(n - 1)); // 999, which was erased
    CHECK(copy.size() == n);
    CHECK(copy.at(name(n - 1)).as<double>().item() == n - 1.);
}
