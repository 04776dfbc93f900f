// Transposed operands with rows of all lengths: shorter than a tile, longer than a part of a row, whole cache lines and not. Value and
// gradients, against the elements taken one by one.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

/// Small whole numbers, so that nothing is rounded.
template <class T> xg::Tensor<T> numbered(xg::Shape const& shape, std::size_t of)
{
    auto t = xg::Tensor<T>::empty(shape);
    auto* const at = t.mutable_data();
    for (std::size_t i = 0; i < t.numel(); ++i) {
        auto const n = static_cast<xg::precision_of<T>>(static_cast<int>((i * 7 + of) % 9) - 4);
        if constexpr (xg::ComplexScalar<T>) at[i] = {n, 1 - n};
        else at[i] = n;
    }
    return t;
}

/// sum(abs2(x^T + y)), whose gradients are 2 (x^T + y) for y and that transposed for x.
template <class T> bool is_right(std::size_t rows, std::size_t row)
{
    auto const x = numbered<T>({row, rows}, 1).requires_grad_(), y = numbered<T>({rows, row}, 5).requires_grad_();
    auto const total = sum(abs2(transpose(x) + y));
    total.backward();
    double expected = 0;
    bool right = true;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < row; ++c) {
            T const z = x.data()[c * rows + r] + y.data()[r * row + c], gradient = z + z;
            expected += static_cast<double>(std::norm(z));
            right &= x.grad().data()[c * rows + r] == gradient && y.grad().data()[r * row + c] == gradient;
        }
    return right && static_cast<double>(total.item()) == expected;
}

}  // namespace

TEST_CASE("transposed operands with rows of all lengths")
{
    for (std::size_t const rows : {1u, 7u, 8u, 33u})
        for (std::size_t const row : {5u, 64u, 127u, 128u, 130u, 400u, 512u, 513u, 1030u}) {
            CAPTURE(rows);
            CAPTURE(row);
            CHECK(is_right<double>(rows, row));
            CHECK(is_right<float>(rows, row));
            CHECK(is_right<std::complex<double>>(rows, row));
            CHECK(is_right<std::complex<float>>(rows, row));
        }
}
