// Linear systems, inverses and determinants: values by multiplying back, gradients by differences.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>
#include <support/implementation.hpp>
#include <xgrad/linalg.hpp>

using namespace support;
namespace linalg = xg::linalg;

namespace {

template <class T> Values matrices(xg::Shape const& shape, std::uint32_t seed = 1) {
    return sample(xg::dtype_of<T>, shape, seed);
}
template <class T> xg::Tensor<T> tensor(xg::Shape const& shape, std::uint32_t seed = 1) {
    return leaf(matrices<T>(shape, seed)).template as<T>();
}

template <class T> void check_solve(xg::Shape const& a, xg::Shape const& b, xg::Shape const& x) {
    INFO(text(a) << " and " << text(b));
    for (bool const strided : {false, true}) {
        auto const p = strided ? strided_leaf(matrices<T>(a)).template as<T>() : tensor<T>(a);
        auto const q = tensor<T>(b, 2), solution = linalg::solve(p, q);
        CHECK(solution.shape() == x);
        CHECK(holds(matmul(p, solution), xg::AnyTensor(xg::Tensor<T>(broadcast_to(q, x))), 1e-10));
    }
    CHECK(differentiates(
        function_of<T, T>([](auto const& p, auto const& q) { return linalg::solve(p, q); }),
        {matrices<T>(a), matrices<T>(b, 2)}, 1e-6));
}

/// The determinant by its definition, along the first row.
template <class T> T determinant(xg::Tensor<T> const& a) {
    auto const n = static_cast<std::ptrdiff_t>(a.shape(0));
    T sum(n == 0);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
        auto const left = a(xg::slice(1), xg::slice(0, j)),
                   right = a(xg::slice(1), xg::slice(j + 1));
        sum +=
            (j % 2 ? T(-1) : T(1)) * a(0, j).item() * determinant(cat(std::vector{left, right}, 1));
    }
    return sum;
}

} // namespace

TEST_CASE("solve multiplies by the inverse: matrices, vectors and stacks that broadcast") {
    check_solve<double>({3, 3}, {3, 2}, {3, 2});
    check_solve<cd>({3, 3}, {3, 2}, {3, 2});
    check_solve<double>({2, 3, 3}, {3, 2}, {2, 3, 2});
    check_solve<cd>({3, 3}, {2, 3, 2}, {2, 3, 2});
    check_solve<double>({2, 1, 3, 3}, {2, 3, 1}, {2, 2, 3, 1});
    check_solve<double>({1, 1}, {1, 3}, {1, 3});
}

TEST_CASE("solve of one matrix and a stack is that of each") {
    auto const a = tensor<cd>({3, 3}), b = tensor<cd>({2, 4, 3, 2}, 2);
    auto const x = linalg::solve(a, b);
    CHECK(x.shape() == xg::Shape{2, 4, 3, 2});
    CHECK(holds(matmul(a, x), xg::AnyTensor(b), 1e-11));
    CHECK(linalg::solve(a, tensor<cd>({0, 3, 2})).shape() == xg::Shape{0, 3, 2});
}

TEST_CASE("systems of few and of many equations are solved, and so are those of their gradients") {
    for (std::size_t const n : {1, 2, 5, 31, 32, 33, 50}) {
        INFO(n << " equations");
        auto const a = tensor<cd>({n, n}), b = tensor<cd>({n, 3}, 2),
                   g = tensor<cd>({n, 3}, 3).detach();
        auto const x = linalg::solve(a, b);
        CHECK(holds(matmul(a, x), xg::AnyTensor(b), 1e-10));
        CHECK(holds(matmul(adjoint(a), grad(x, b, {.gradients = {g}})), xg::AnyTensor(g), 1e-10));
    }
}

TEST_CASE("solve takes vectors: one, or one for each matrix") {
    auto const a = tensor<double>({2, 3, 3}), b = tensor<double>({2, 3}, 2);
    auto const x = linalg::solve(a, b);
    CHECK(x.shape() == xg::Shape{2, 3});
    for (int i : {0, 1}) CHECK(holds(matmul(a[i], x[i]), xg::AnyTensor(b[i]), 1e-12));
    CHECK(holds(matmul(a[0], linalg::solve(a[0], b[1])), xg::AnyTensor(b[1]), 1e-12));
    CHECK(differentiates(function_of<double, double>(
                             [](auto const& p, auto const& q) { return linalg::solve(p, q); }),
        {matrices<double>({2, 3, 3}), matrices<double>({2, 3}, 2)}, 1e-6));
}

TEST_CASE("solve and inv in single precision agree with double") {
    auto const solve = [](auto const& a, auto const& b) { return linalg::solve(a, b); };
    CHECK(agrees_with_double(function_of<float, float>(solve), function_of<double, double>(solve),
        {matrices<float>({4, 4}), matrices<float>({4, 2}, 2)}, 1e-3));
    CHECK(agrees_with_double(function_of<cf, cf>(solve), function_of<cd, cd>(solve),
        {matrices<cf>({4, 4}), matrices<cf>({4, 2}, 2)}, 1e-3));
}

TEST_CASE("inv is the inverse, with both derivatives") {
    auto const inverse = [](auto const& a) { return linalg::inv(a); };
    CHECK(holds(matmul(tensor<cd>({2, 4, 4}), inverse(tensor<cd>({2, 4, 4}))),
        xg::AnyTensor(xg::Tensor<cd>(broadcast_to(xg::eye<cd>(4), {2, 4, 4}))), 1e-12));
    CHECK(differentiates(function_of<double>(inverse), {matrices<double>({2, 3, 3})}, 1e-6));
    CHECK(differentiates(function_of<cd>(inverse), {matrices<cd>({3, 3})}, 1e-6));
    CHECK(inverse(xg::zeros({0, 0})).shape() == xg::Shape{0, 0});
    CHECK(inverse(xg::zeros({0, 3, 3})).shape() == xg::Shape{0, 3, 3});
}

TEST_CASE("det is the sum over permutations, with both derivatives") {
    auto const det = [](auto const& a) { return linalg::det(a); };
    for (std::size_t n : {0, 1, 2, 3, 5}) {
        CHECK(holds(det(tensor<double>({n, n})), {determinant(tensor<double>({n, n}))}, 1e-12));
        CHECK(holds(det(tensor<cd>({n, n})), {determinant(tensor<cd>({n, n}))}, 1e-12));
    }
    CHECK(det(tensor<double>({2, 3, 3})).shape() == xg::Shape{2});
    CHECK(differentiates(function_of<double>(det), {matrices<double>({2, 3, 3})}, 1e-6));
    CHECK(differentiates(function_of<cd>(det), {matrices<cd>({3, 3})}, 1e-6));
}

TEST_CASE("the gradient of det is the cofactors, also of singular matrices") {
    xg::Tensor<double> a({{1., 2., 3.}, {4., 5., 6.}, {5., 7., 9.}},
        xg::requires_grad); // the last row is the sum of the others
    CHECK(holds(xg::grad(linalg::det(a), a), {3, -6, 3, 3, -6, 3, -3, 6, -3}, 1e-12));
    xg::Tensor<double> zero = xg::zeros({2, 2}, xg::requires_grad),
                       one = xg::zeros({1, 1}, xg::requires_grad);
    CHECK(holds(xg::grad(linalg::det(zero), zero), {0, 0, 0, 0}));
    CHECK(holds(xg::grad(linalg::det(one), one), {1}));
    xg::Tensor<double> both(
        {{{1., 2.}, {2., 4.}}, {{1., 2.}, {3., 4.}}}, xg::requires_grad); // one singular, one not
    auto const g = xg::grad(sum(linalg::det(both)), both, {.create_graph = true});
    CHECK(holds(g, {4, -2, -2, 1, 4, -3, -2, 1}, 1e-12));
    CHECK(holds(
        xg::grad(sum(g[1]), both, {.retain_graph = true}), {0, 0, 0, 0, 1, -1, -1, 1}, 1e-12));
    CHECK_THROWS_AS(xg::grad(sum(g), both), xg::GraphError);
    xg::Tensor<cd> z({{cd(1, 1), cd(2, 0)}, {cd(0, 2), cd(2, 2)}},
        xg::requires_grad); // the second row is (1 + i) times the first
    CHECK(holds(xg::grad(xg::Tensor<double>(real(linalg::det(z))), z),
        {{2, -2}, {0, 2}, {-2, 0}, {1, -1}}, 1e-12));
}

TEST_CASE(
    "the gradient of det is the cofactors, also where the determinant overflows or underflows") {
    for (double const size : {1e-200, 1e-160, 1e160, 1e200}) {
        INFO("times " << size);
        xg::Tensor<double> a = xg::Tensor<double>({{1., 2.}, {3., 4.}}) * size;
        a.requires_grad_();
        xg::Tensor<double> const g = xg::grad(linalg::det(a), a, {.create_graph = true});
        CHECK(holds(g / size, {4, -3, -2, 1}, 1e-13));
        CHECK(holds(xg::grad(g[0][0], a), {0, 0, 0, 1}, 1e-13));
    }
    xg::Tensor<float> many = xg::eye<float>(4) * 1e10f;
    many.requires_grad_();
    CHECK(holds(xg::grad(linalg::det(many), many)[1][1], {1e30}, 1e-5));
}

TEST_CASE(
    "slogdet has the sign and the logarithm of the determinant, of a size that overflows, too") {
    auto const a = tensor<cd>({2, 3, 3});
    auto const [sign, logarithm] = linalg::slogdet(a);
    CHECK(holds(sign * exp(logarithm), xg::AnyTensor(linalg::det(a)), 1e-12));
    CHECK(holds(abs(sign), {1, 1}, 1e-12));
    auto const large = linalg::slogdet(xg::Tensor<double>(xg::eye(400) * -10.));
    CHECK(holds(std::get<0>(large), {1}));
    CHECK(holds(std::get<1>(large), {400 * std::log(10.)}, 1e-12));
    auto const singular = linalg::slogdet(xg::ones({2, 2}));
    CHECK(holds(std::get<0>(singular), {0}));
    CHECK(std::get<1>(singular).item() == -INFINITY);

    auto const both = [](auto const& x) {
        auto const [s, l] = linalg::slogdet(x);
        return s * exp(l);
    };
    CHECK(differentiates(function_of<double>(both), {matrices<double>({2, 3, 3})}, 1e-6));
    CHECK(differentiates(function_of<cd>(both), {matrices<cd>({3, 3})}, 1e-6));
    CHECK(differentiates(
        function_of<cd>([](auto const& x) { return std::get<0>(linalg::slogdet(x)); }),
        {matrices<cd>({3, 3})}, 1e-6));
    CHECK(differentiates(
        function_of<cd>([](auto const& x) { return std::get<1>(linalg::slogdet(x)); }),
        {matrices<cd>({3, 3})}, 1e-6));
}

TEST_CASE("solve_triangular solves from both sides, with either triangle, and looks at no other "
          "element") {
    for (bool const upper : {false, true})
        for (bool const left : {false, true})
            for (bool const unit : {false, true}) {
                INFO("upper " << upper << ", left " << left << ", unitriangular " << unit);
                auto const a = tensor<cd>({2, 3, 3}),
                           b = tensor<cd>(left ? xg::Shape{3, 2} : xg::Shape{2, 3}, 2);
                xg::Tensor<cd> triangle = a.detach().clone();
                for (std::ptrdiff_t k : {0, 1})
                    for (std::ptrdiff_t i = 0; i < 3; ++i)
                        for (std::ptrdiff_t j = 0; j < 3; ++j) {
                            if (upper ? j < i : j > i) triangle(k, i, j) = cd(0);
                            if (i == j && unit) triangle(k, i, j) = cd(1);
                        }
                auto const x = linalg::solve_triangular(
                    a, b, {.upper = upper, .left = left, .unitriangular = unit});
                CHECK(holds(left ? matmul(triangle, x) : matmul(x, triangle),
                    xg::AnyTensor(xg::Tensor<cd>(broadcast_to(b, x.shape()))), 1e-11));
                auto const f = [=](auto const& p, auto const& q) {
                    return linalg::solve_triangular(
                        p, q, {.upper = upper, .left = left, .unitriangular = unit});
                };
                CHECK(differentiates(function_of<cd, cd>(f),
                    {matrices<cd>({2, 3, 3}), matrices<cd>(b.shape(), 2)}, 1e-5));
            }
}

TEST_CASE("systems that cannot be solved are refused in a sentence") {
    auto const message = [](auto f) {
        try {
            f();
        } catch (xg::Error const& e) { return std::string(e.what()); }
        return std::string();
    };
    auto const one = xg::ones({2, 2, 2});
    CHECK_THROWS_AS(linalg::inv(one), xg::LinAlgError);
    CHECK(message([&] { linalg::inv(one); }) ==
          "linalg.inv: (Batch element 0): The diagonal element 2 is zero, the inversion could not "
          "be completed because the input matrix is singular.");
    CHECK(message([&] { linalg::solve(one[0], one[0]); }) ==
          "linalg.solve: The diagonal element 2 is zero, the solution could not be completed "
          "because the input matrix is singular.");
    CHECK(message([&] {
        linalg::det(xg::ones({2, 3}));
    }) == "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices, of "
          "shape [2, 3]");
    CHECK(message([&] { linalg::det(xg::ones({2})); }) ==
          "linalg.det: The input tensor must have at least 2 dimensions, and has shape [2]");
    CHECK(
        message([&] {
            linalg::solve(xg::eye(2), xg::ones({3, 2}));
        }) ==
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B ([2, 2] and [3, 2])");
    CHECK(message([&] {
        linalg::solve_triangular(xg::eye(2), xg::ones({3, 2}), {.upper = true});
    }) == "linalg.solve_triangular: Incompatible shapes [2, 2] and [3, 2] of AX = B");
}

TEST_CASE("a matrix that is changed in place after its system was solved is noticed") {
    xg::Tensor<double> const base = tensor<double>({3, 3}), b = tensor<double>({3}, 2);
    xg::Tensor<double> a = base * 2.;
    auto const loss = sum(linalg::solve(a, b));
    a *= 2.;
    CHECK_THROWS_AS(loss.backward(), xg::VersionError);
}
