#include <doctest/doctest.h>

#include <support/binary_operations.hpp>

namespace support {
template std::vector<Binary> binary_operations<double, double>();
}

using namespace support;

TEST_CASE("every operation on float64 and float64 is sound in value and both derivatives") {
    for (auto const& op : binary_operations<double, double>()) {
        INFO(op.name);
        CHECK(is_sound(op));
    }
}

TEST_CASE("every operation on float64 and float64 is the same in a large array") {
    for (auto const& op : binary_operations<double, double>()) {
        INFO(op.name);
        CHECK(is_the_same_when_large(op.f, op.at({19}, {19})));
    }
}
