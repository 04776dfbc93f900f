// Operands whose elements are contiguous along another axis than the last, as those of a transposed
// matrix, against operands that are copied element by element. The loop copies them in square
// tiles, which are incomplete at the edges of most matrices.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

/// Elements that tell places apart, of which no difference is rounded.
template <class T> xg::Tensor<T> numbered(xg::Shape const& shape, int first) {
    auto t = xg::zeros<T>(shape);
    auto* const at = t.mutable_data();
    for (std::size_t i = 0; i < t.numel(); ++i) {
        auto const n = static_cast<xg::precision_of<T>>(first + static_cast<int>(i % 4093));
        if constexpr (xg::ComplexScalar<T>) at[i] = {n, n / 2 - 7};
        else at[i] = n;
    }
    return t;
}

template <class T> T conjugate(T x) {
    if constexpr (xg::ComplexScalar<T>) return std::conj(x);
    else return x;
}

/// (i, j, k) in x is (i, k, j) in y: whether what is computed of both has the right elements.
template <class T> bool is_right(std::size_t layers, std::size_t m, std::size_t n) {
    auto const x = numbered<T>({layers, m, n}, 1).requires_grad_(),
               y = numbered<T>({layers, n, m}, -5).requires_grad_();
    xg::Tensor<T> const z = mT(x) - y;
    z.backward(y.detach()); // one way of the gradients, and a fused sum another
    auto const [gx, gy] = xg::grad(sum(real(mT(x) * y)), xg::inputs(x, y));
    auto into = xg::zeros<T>({layers, m, n});
    mT(into) += y.detach();
    auto const at = [](xg::Tensor<T> const& t, std::size_t i, std::size_t j, std::size_t k) {
        return t.data()[(i * t.shape(1) + j) * t.shape(2) + k];
    };
    bool right = true;
    for (std::size_t i = 0; i < layers; ++i)
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t k = 0; k < n; ++k) {
                T const a = at(x, i, j, k), b = at(y, i, k, j);
                right &= at(z, i, k, j) == a - b && at(x.grad(), i, j, k) == b &&
                         at(y.grad(), i, k, j) == -b;
                right &= at(gx, i, j, k) == conjugate(b) && at(gy, i, k, j) == conjugate(a) &&
                         at(into, i, j, k) == b;
            }
    return right;
}

} // namespace

TEST_CASE_TEMPLATE("transposed matrices of all sizes", T, float, double, std::complex<float>,
    std::complex<double>) {
    for (std::size_t const m : {1u, 3u, 8u, 17u, 40u, 127u, 128u, 261u})
        for (std::size_t const n : {1u, 2u, 7u, 8u, 16u, 33u, 64u, 130u})
            for (std::size_t const layers : {1u, 3u}) {
                INFO(layers << " x " << m << " x " << n);
                CHECK(is_right<T>(layers, m, n));
            }
}

TEST_CASE_TEMPLATE("transposed matrices whose rows go in parts", T, float, double,
    std::complex<float>, std::complex<double>) {
    for (std::size_t const m : {400u, 512u, 513u, 1030u})
        for (std::size_t const n : {1u, 7u, 8u, 33u}) {
            INFO(m << " x " << n);
            CHECK(is_right<T>(1, m, n));
        }
}

TEST_CASE("transposed operands beside others that are repeated, converted or strided") {
    for (std::size_t const m : {5u, 48u, 150u}) {
        auto const x = numbered<double>({m, 12}, 1).requires_grad_(),
                   row = numbered<double>({m}, 2).requires_grad_(),
                   wide = numbered<double>({12, 2 * m}, 3).requires_grad_();
        auto const small = numbered<float>({m, 12}, 4).requires_grad_();
        auto const formula = [&](auto const& of_x, auto const& of_small) {
            return sum(of_x * row + of_x * of_small * wide(xt::all(), xg::slice({}, {}, 2)));
        };
        auto const inputs = xg::inputs(x, row, wide, small);
        auto const [gx, gr, gw, gs] = xg::grad(formula(transpose(x), transpose(small)), inputs);
        auto const [hx, hr, hw, hs] =
            xg::grad(formula(transpose(x).clone(), transpose(small).clone()), inputs);
        CHECK(holds_exactly(gx, hx));
        CHECK(holds_exactly(gr, hr));
        CHECK(holds_exactly(gw, hw));
        CHECK(holds_exactly(gs, hs));
    }
}

TEST_CASE("a transposed operand at more places than a kernel keeps gradients for in registers") {
    for (std::size_t const m : {5u, 48u, 1030u}) {
        auto const x = numbered<double>({m, 12}, 1).requires_grad_(),
                   y = numbered<double>({12, m}, 2).requires_grad_();
        auto const formula = [&](auto const& t) {
            return t * y + t * t - 3 * t + y * (t + 2 * y) + t;
        };
        auto const seeds = numbered<double>({12, m}, 3);
        auto const inputs = xg::inputs(x, y);
        auto const from_seeds = [&](auto const& t) {
            xg::Tensor<double> const z = formula(t);
            return xg::grad(z, inputs, {.gradients = {seeds}});
        };
        auto const [gx, gy] = xg::grad(sum(formula(transpose(x))), inputs);
        auto const [hx, hy] = xg::grad(sum(formula(transpose(x).clone())), inputs);
        CHECK(holds_exactly(gx, hx));
        CHECK(holds_exactly(gy, hy));
        auto const [px, py] = from_seeds(transpose(x));
        auto const [qx, qy] = from_seeds(transpose(x).clone());
        CHECK(holds_exactly(px, qx));
        CHECK(holds_exactly(py, qy));
    }
}
