#include <doctest/doctest.h>

#include <support/binary_operations.hpp>

namespace support {
template std::vector<Binary> binary_operations<cd, cd>();
template std::vector<Binary> binary_operations<double, cd>();
template std::vector<Binary> binary_operations<cd, double>();
} // namespace support

using namespace support;

TEST_CASE("every operation on complex128 and complex128 is sound in value and both derivatives") {
    for (auto const& op : binary_operations<cd, cd>()) {
        INFO(op.name);
        CHECK(is_sound(op));
    }
}

TEST_CASE("every operation on float64 and complex128 is sound in value and both derivatives") {
    for (auto const& op : binary_operations<double, cd>()) {
        INFO(op.name);
        CHECK(is_sound(op));
    }
}

TEST_CASE("every operation on complex128 and float64 is sound in value and both derivatives") {
    for (auto const& op : binary_operations<cd, double>()) {
        INFO(op.name);
        CHECK(is_sound(op));
    }
}

TEST_CASE("every operation on complex128 and complex128 is the same in a large array") {
    for (auto const& op : binary_operations<cd, cd>()) {
        INFO(op.name);
        CHECK(is_the_same_when_large(op.f, op.at({19}, {19})));
    }
}
