// Values of products of matrices and vectors against plain loops, in every mix of ranks, types,
// layouts and sizes.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

/// The product of matrices by the definition, over broadcast stacks of them. Vectors are rows or
/// columns.
Values product(Values a, Values b) {
    bool const row = a.shape.size() == 1, column = b.shape.size() == 1;
    if (row) a.shape.insert(0, 1);
    if (column) b.shape.push_back(1);
    std::size_t const m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
    auto const stack = [](xg::Shape const& s, std::size_t from_last) {
        return s.size() > 2 + from_last ? s[s.size() - 3 - from_last] : 1;
    };
    std::size_t const outer = std::max(stack(a.shape, 1), stack(b.shape, 1)),
                      inner = std::max(stack(a.shape, 0), stack(b.shape, 0));
    Values c;
    for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t s = 0; s < inner; ++s) {
            auto const start = [&](xg::Shape const& shape) {
                return (o % stack(shape, 1)) * stack(shape, 0) + s % stack(shape, 0);
            };
            for (std::size_t i = 0; i < m; ++i)
                for (std::size_t j = 0; j < n; ++j) {
                    cd sum = 0;
                    for (std::size_t l = 0; l < k; ++l)
                        sum += a.numbers[start(a.shape) * m * k + i * k + l] *
                               b.numbers[start(b.shape) * k * n + l * n + j];
                    c.numbers.push_back(sum);
                }
        }
    auto const rank = std::max(a.shape.size(), b.shape.size());
    if (rank > 3) c.shape.push_back(outer);
    if (rank > 2) c.shape.push_back(inner);
    if (!row) c.shape.push_back(m);
    if (!column) c.shape.push_back(n);
    return c;
}

template <class A, class B>
CheckResult multiplies(xg::Shape const& p, xg::Shape const& q, double tolerance = 1e-12) {
    auto const a = sample(xg::dtype_of<A>, p, 1, -1, 1), b = sample(xg::dtype_of<B>, q, 2, -1, 1);
    auto const want = product(a, b);
    for (bool const a_strided : {false, true})
        for (bool const b_strided : {false, true}) {
            auto const c = matmul((a_strided ? strided_leaf(a) : leaf(a)).template as<A>(),
                (b_strided ? strided_leaf(b) : leaf(b)).template as<B>());
            if (c.shape() != want.shape)
                return {"shape " + text(c.shape()) + ", expected " + text(want.shape)};
            if (auto const wrong = holds(c, want.numbers, tolerance); !wrong) return wrong;
        }
    return {};
}

using Shapes = std::pair<xg::Shape, xg::Shape>;
Shapes const mixes[] = {{{3}, {3}}, {{2, 3}, {3}}, {{2}, {2, 3}}, {{2, 3}, {3, 4}},
    {{1, 1}, {1, 1}}, {{5, 2, 3}, {3, 4}}, {{2, 3}, {5, 3, 4}}, {{5, 2, 3}, {1, 3, 4}},
    {{5, 1, 2, 3}, {2, 3, 4}}, {{5, 2, 3}, {3}}, {{3}, {5, 3, 2}}, {{1, 2, 2, 3}, {4, 1, 3, 2}},
    {{2, 1, 3}, {2, 3, 1}}};

} // namespace

TEST_CASE("matmul multiplies vectors, matrices and stacks of them, of every type") {
    for (auto const& [p, q] : mixes) {
        INFO(text(p) << " times " << text(q));
        CHECK(multiplies<double, double>(p, q));
        CHECK(multiplies<cd, cd>(p, q));
        CHECK(multiplies<double, cd>(p, q));
        CHECK(multiplies<cd, double>(p, q));
    }
}

TEST_CASE("matmul is right at every small size, so at every remainder of a block") {
    for (std::size_t m = 1; m <= 19; m += 1 + m / 7)
        for (std::size_t k = 1; k <= 19; k += 1 + k / 5)
            for (std::size_t n = 1; n <= 19; ++n) {
                INFO(m << " x " << k << " x " << n);
                CHECK(multiplies<double, double>({m, k}, {k, n}));
            }
}

TEST_CASE("matmul is right at large sizes, in full and in single precision") {
    for (auto const& [p, q] :
        {Shapes{{65, 130}, {130, 67}}, Shapes{{1, 300}, {300, 257}}, Shapes{{257, 300}, {300, 1}},
            Shapes{{300, 2}, {2, 130}}, Shapes{{130}, {130, 260}}, Shapes{{260, 130}, {130}}}) {
        INFO(text(p) << " times " << text(q));
        CHECK(multiplies<double, double>(p, q));
        CHECK(multiplies<float, float>(p, q, 1e-4));
        CHECK(multiplies<cd, cd>(p, q));
        CHECK(multiplies<cf, cf>(p, q, 1e-4));
    }
}

TEST_CASE("a conjugated or transposed factor is multiplied as it stands") {
    auto const a = sample(xg::DType::complex128, {3, 4}, 1),
               b = sample(xg::DType::complex128, {3, 5}, 2);
    auto const x = leaf(a).as<cd>(), y = leaf(b).as<cd>();
    xg::Tensor<cd> const x_conj = conj(x), y_conj = conj(y);
    CHECK(holds(matmul(adjoint(x), y), xg::AnyTensor(matmul(transpose(x_conj), y))));
    CHECK(holds(matmul(transpose(x), conj(y)), xg::AnyTensor(matmul(transpose(x), y_conj))));
    CHECK(holds(matmul(adjoint(x), conj(y)), xg::AnyTensor(matmul(transpose(x_conj), y_conj))));
    auto const m = sample(xg::DType::complex128, {2, 3, 4}, 3);
    CHECK(xg::materialize_expression(adjoint(leaf(m).as<cd>())).shape() == xg::Shape{2, 4, 3});
}

TEST_CASE("inner products of complex vectors are not 0, and vdot conjugates its first vector") {
    xg::Tensor<cd> const a({cd(1, 2), cd(3, -1)}), b({cd(0, 1), cd(2, 2)});
    CHECK(holds(dot(a, b), {{6, 5}}));
    CHECK(holds(vdot(a, b), {{6, 9}}));
    CHECK(holds(matmul(a, b), {{6, 5}}));
    CHECK(holds(vdot(a, a), {15}));
    xg::Tensor<cf> const c({cf(1, 2), cf(3, -1)}), d({cf(0, 1), cf(2, 2)});
    CHECK(holds(dot(c, d), {{6, 5}}));
    CHECK(holds(vdot(c, d), {{6, 9}}));
    CHECK(holds(dot(xg::Tensor<double>({1, 2}), b), {{4, 5}}));
}

TEST_CASE("outer has the products themselves, with the signs of zeros, in every size") {
    auto const is_same = [](double got, double want) {
        return got == want && std::signbit(got) == std::signbit(want);
    };
    for (std::size_t const m : {1, 2, 5, 16, 200})
        for (std::size_t const n : {1, 2, 3, 7, 16, 70}) {
            xg::Tensor<double> a = xg::zeros({m}), b = xg::ones({n});
            for (std::size_t i = 0; i < m; ++i)
                a.mutable_data()[i] = i % 3 == 0 ? -0.0 : i % 3 == 1 ? 0.0 : 1.5;
            for (std::size_t j = 0; j < n; ++j)
                b.mutable_data()[j] = j % 4 == 0 ? -2.0 : j % 4 == 1 ? 1.0 : -0.0;
            xg::Tensor<double> const y = outer(a, b);
            xg::Tensor<cd> const z = outer(cast<cd>(a), cast<cd>(b));
            bool all = true, all_complex = true;
            for (std::size_t i = 0; i < m * n; ++i) {
                double const p = a.data()[i / n], q = b.data()[i % n];
                all = all && is_same(y.data()[i], p * q);
                all_complex = all_complex && z.data()[i] == cd(p * q) &&
                              is_same(z.data()[i].real(), p * q - 0. * 0.);
            }
            INFO(m << " x " << n);
            CHECK(all);
            CHECK(all_complex);
        }
    CHECK(
        !std::signbit(xg::Tensor<double>(matmul(xg::zeros({2, 0}), xg::zeros({0, 2}))).data()[0]));
}

TEST_CASE("outer has every product of two elements, without conjugation") {
    xg::Tensor<cd> const a({cd(1, 2), cd(0, 1)});
    CHECK(holds(outer(a, xg::Tensor<double>({2, 3, 5})),
        {{2, 4}, {3, 6}, {5, 10}, {0, 2}, {0, 3}, {0, 5}}));
    CHECK(outer(a, xg::Tensor<double>({2, 3, 5})).shape() == xg::Shape{2, 3});
    xg::Tensor<std::int64_t> const whole({2, 3});
    CHECK(holds_exactly(outer(whole, whole), {4, 6, 6, 9}));
    CHECK(holds(outer(conj(a), xg::Tensor<double>({2, 3})), {{2, -4}, {3, -6}, {0, -2}, {0, -3}}));
    CHECK(holds(outer(conj(a), whole), {{2, -4}, {3, -6}, {0, -2}, {0, -3}}));
}

TEST_CASE("NaN and infinity in a factor reach the elements that they belong to, and no others") {
    auto a = xg::ones({3, 3}), b = xg::ones({3, 3});
    a.mutable_data()[4] = NaN;
    b.mutable_data()[0] = inf;
    CHECK(holds(matmul(a, b), {inf, 3, 3, NaN, NaN, NaN, inf, 3, 3}));
}

TEST_CASE("matrices of integers are multiplied exactly, whatever BLAS there is") {
    using I = xg::Tensor<std::int64_t>;
    constexpr std::int64_t rows = 17, depth = 23, columns = 19, large = std::int64_t{1} << 54;
    I a = xg::zeros<std::int64_t>({rows, depth}), b = xg::zeros<std::int64_t>({depth, columns});
    for (std::int64_t i = 0; i < rows * depth; ++i) a.mutable_data()[i] = i % 7 - 3;
    for (std::int64_t i = 0; i < depth * columns; ++i) b.mutable_data()[i] = large + i % 5;
    I const product = matmul(a, b), with_vector = matmul(a, I(b(xt::all(), 2)));
    bool is_exact = true;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            std::int64_t sum = 0;
            for (std::int64_t k = 0; k < depth; ++k)
                sum += a.data()[i * depth + k] * b.data()[k * columns + j];
            is_exact &= product.data()[i * columns + j] == sum;
            if (j == 2) is_exact &= with_vector.data()[i] == sum;
        }
    CHECK(is_exact);
}
