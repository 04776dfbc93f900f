#include <doctest/doctest.h>

#include <support/binary_operations.hpp>

using namespace support;

TEST_CASE("every operation on complex64 and float64 agrees with that in full precision, in value "
          "and both derivatives") {
    auto const narrow = binary_operations<cf, double>();
    auto const wide = binary_operations<cd, double>();
    REQUIRE(narrow.size() == wide.size());
    for (std::size_t k = 0; k < narrow.size(); ++k) {
        INFO(narrow[k].name);
        CHECK(is_sound(narrow[k], wide[k]));
    }
}

TEST_CASE("every operation on float32 and complex128 agrees with that in full precision, in value "
          "and both derivatives") {
    auto const narrow = binary_operations<float, cd>();
    auto const wide = binary_operations<double, cd>();
    REQUIRE(narrow.size() == wide.size());
    for (std::size_t k = 0; k < narrow.size(); ++k) {
        INFO(narrow[k].name);
        CHECK(is_sound(narrow[k], wide[k]));
    }
}

TEST_CASE("every operation on complex128 and complex64 agrees with that in full precision, in "
          "value and both derivatives") {
    auto const narrow = binary_operations<cd, cf>();
    auto const wide = binary_operations<cd, cd>();
    REQUIRE(narrow.size() == wide.size());
    for (std::size_t k = 0; k < narrow.size(); ++k) {
        INFO(narrow[k].name);
        CHECK(is_sound(narrow[k], wide[k]));
    }
}
