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
