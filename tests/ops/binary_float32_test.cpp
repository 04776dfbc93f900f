#include <doctest/doctest.h>

#include <support/binary_operations.hpp>

using namespace support;

TEST_CASE("every operation on float32 and float32 agrees with that in full precision, in value and "
          "both derivatives") {
    auto const narrow = binary_operations<float, float>();
    auto const wide = binary_operations<double, double>();
    REQUIRE(narrow.size() == wide.size());
    for (std::size_t k = 0; k < narrow.size(); ++k) {
        INFO(narrow[k].name);
        CHECK(is_sound(narrow[k], wide[k]));
    }
}

TEST_CASE("every operation on float32 and float32 is the same in a large array") {
    for (auto const& op : binary_operations<float, float>()) {
        INFO(op.name);
        CHECK(is_the_same_when_large(op.f, op.at({19}, {19})));
    }
}
