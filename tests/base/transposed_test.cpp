// Transposing matrices of elements of all sizes, against a copy element by element: whole tiles,
// tails, and gaps between rows, in which nothing may be written.
#include <doctest/doctest.h>

#include <vector>

#include <xgrad/core/transposed.hpp>

namespace {

template <std::size_t Bytes> struct Element {
    unsigned char bytes[Bytes];
    friend bool operator==(Element const&, Element const&) = default;
};
template <std::size_t Bytes> Element<Bytes> numbered(std::size_t n) {
    Element<Bytes> e{};
    for (auto& byte : e.bytes) byte = static_cast<unsigned char>(n = n * 5 / 4 + 1);
    return e;
}

template <std::size_t Bytes> bool is_right(std::size_t rows, std::size_t columns, std::size_t gap) {
    using E = Element<Bytes>;
    std::size_t const from_column = rows + gap, to_row = columns + gap;
    std::vector<E> from(columns * from_column), to(rows * to_row, numbered<Bytes>(7)),
        expected = to;
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = numbered<Bytes>(i);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            expected[r * to_row + c] = from[c * from_column + r];
    xgrad::detail::copy_transposed(Bytes, reinterpret_cast<std::byte*>(to.data()),
        static_cast<std::ptrdiff_t>(to_row), reinterpret_cast<std::byte const*>(from.data()),
        static_cast<std::ptrdiff_t>(from_column), rows, columns);
    return to == expected;
}

} // namespace

TEST_CASE("matrices of all sizes are transposed") {
    for (std::size_t const rows : {1u, 7u, 8u, 16u, 19u, 40u, 65u})
        for (std::size_t const columns : {1u, 3u, 8u, 16u, 23u, 32u, 66u})
            for (std::size_t const gap : {0u, 5u}) {
                INFO(rows << " x " << columns << ", gap " << gap);
                CHECK(is_right<1>(rows, columns, gap));
                CHECK(is_right<4>(rows, columns, gap));
                CHECK(is_right<8>(rows, columns, gap));
                CHECK(is_right<16>(rows, columns, gap));
            }
}
