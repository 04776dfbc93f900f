#include <doctest/doctest.h>

#include <support/unary_operations.hpp>

namespace support {
template std::vector<Unary> unary_operations<cd>();
}

using namespace support;

TEST_CASE("every operation of one complex128 argument matches its closed forms, in value and both "
          "derivatives") {
    for (auto const& u : unary_operations<cd>()) {
        INFO(u.name);
        CHECK(matches_closed_forms(u));
    }
}

TEST_CASE(
    "every operation of one complex128 argument has derivatives that central differences confirm") {
    for (auto const& u : unary_operations<cd>()) {
        INFO(u.name);
        CHECK(differentiates(u.f, {u.at}));
    }
}

TEST_CASE("every operation of one complex128 argument is the same in a large array") {
    for (auto const& u : unary_operations<cd>()) {
        INFO(u.name);
        CHECK(is_the_same_when_large(u.f, {u.at}));
    }
}
