#include <doctest/doctest.h>

#include <support/unary_operations.hpp>

namespace support {
template std::vector<Unary> unary_operations<cf>();
}

using namespace support;

TEST_CASE("every operation of one complex64 argument agrees with that of complex128, in value and "
          "both derivatives") {
    auto const narrow = unary_operations<cf>();
    auto const wide = unary_operations<cd>();
    REQUIRE(narrow.size() == wide.size());
    for (std::size_t k = 0; k < narrow.size(); ++k) {
        INFO(narrow[k].name);
        CHECK(value_of(narrow[k].f, {narrow[k].at}).dtype ==
              (xg::is_complex(value_of(wide[k].f, {wide[k].at}).dtype) ? xg::DType::complex64
                                                                       : xg::DType::float32));
        CHECK(agrees_with_double(narrow[k].f, wide[k].f, {narrow[k].at}));
        CHECK(matches_closed_forms(narrow[k], 1e-4));
    }
}

TEST_CASE("every operation of one complex64 argument is the same in a large array") {
    for (auto const& u : unary_operations<cf>()) {
        INFO(u.name);
        CHECK(is_the_same_when_large(u.f, {u.at}));
    }
}
