// Gradients of products of matrices and vectors, in both orders.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

template <class A, class B> Point point(xg::Shape const& p, xg::Shape const& q) {
    return {sample(xg::dtype_of<A>, p, 1), sample(xg::dtype_of<B>, q, 2)};
}

std::pair<xg::Shape, xg::Shape> const mixes[] = {{{3}, {3}}, {{2, 3}, {3}}, {{2}, {2, 3}},
    {{2, 3}, {3, 4}}, {{2, 2, 3}, {3, 2}}, {{2, 3}, {2, 3, 2}}, {{2, 1, 2, 3}, {2, 3, 1}},
    {{2, 2, 3}, {3}}, {{3}, {2, 3, 2}}, {{4, 1}, {1}}, {{1}, {1, 4}}};

template <class A, class B> void check_matmul() {
    auto const f = function_of<A, B>([](auto a, auto b) { return matmul(a, b); });
    for (auto const& [p, q] : mixes) {
        INFO(text(p) << " times " << text(q));
        CHECK(differentiates(f, point<A, B>(p, q)));
    }
}

} // namespace

TEST_CASE("matmul of real factors has both derivatives") { check_matmul<double, double>(); }
TEST_CASE("matmul of complex factors has both derivatives") { check_matmul<cd, cd>(); }
TEST_CASE("matmul of a real and a complex factor has both derivatives") {
    check_matmul<double, cd>();
    check_matmul<cd, double>();
}

TEST_CASE("a factor that is conjugated, transposed or an expression has both derivatives") {
    auto const at = point<cd, cd>({2, 3}, {2, 3});
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto b) { return matmul(a, adjoint(b)); }), at));
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto b) { return matmul(adjoint(a), b); }), at));
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto b) { return matmul(conj(a), mT(conj(b))); }), at));
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto b) { return matmul(sin(a), transpose(a * b)); }), at));
    CHECK(differentiates(function_of<cd>([](auto a) { return matmul(a, adjoint(a)); }), {at[0]}));
}

TEST_CASE(
    "the gradients of a product have both derivatives, so that third ones of products are right") {
    auto const gradients = function_of<cd, cd, cd>([](auto a, auto b, auto w) {
        auto const y = matmul(conj(a), b) * matmul(conj(a), b);
        auto const [ga, gb] =
            xg::grad(xg::Tensor<cd>(y), xg::inputs(a, b), {.gradients = {w}, .create_graph = true});
        return matmul(gb, matmul(ga, gb));
    });
    CHECK(differentiates(gradients,
        {sample(xg::DType::complex128, {2, 3}, 1), sample(xg::DType::complex128, {3, 2}, 2),
            sample(xg::DType::complex128, {2, 2}, 3)},
        1e-6));
    auto const stacked = function_of<double, double>([](auto a, auto b) {
        auto const [ga, gb] =
            xg::grad(sum(square(matmul(a, b))), xg::inputs(a, b), {.create_graph = true});
        return matmul(mT(ga), mT(gb));
    });
    CHECK(differentiates(stacked,
        {sample(xg::DType::float64, {2, 2, 3}, 1), sample(xg::DType::float64, {3, 2}, 2)}, 1e-6));
}

TEST_CASE("vectors, conjugated or not, on either side have derivatives of every order") {
    auto const matrix = sample(xg::DType::complex128, {2, 3}, 1),
               rows = sample(xg::DType::complex128, {2}, 2),
               columns = sample(xg::DType::complex128, {3}, 3);
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto v) { return matmul(conj(a), v); }), {matrix, columns}));
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto v) { return matmul(a, conj(v)); }), {matrix, columns}));
    CHECK(
        differentiates(function_of<cd, cd>([](auto a, auto v) { return matmul(conj(v), conj(a)); }),
            {matrix, rows}));
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto v) { return matmul(v, conj(adjoint(a))); }),
        {matrix, columns}));
    CHECK(differentiates(function_of<cd, cd>([](auto v, auto w) { return matmul(conj(v), w); }),
        {columns, columns}));
    CHECK(
        differentiates(function_of<cd, cd>([](auto v, auto w) { return matmul(sin(v), conj(w)); }),
            {columns, columns}));
    auto const gradients = function_of<cd, cd, cd, cd>([](auto a, auto v, auto w, auto g) {
        xg::Tensor<cd> const y = matmul(conj(a), v) * matmul(a, matmul(conj(w), a));
        auto const [ga, gv] =
            xg::grad(y, xg::inputs(a, v), {.gradients = {g}, .create_graph = true});
        return matmul(ga, gv);
    });
    CHECK(differentiates(gradients, {matrix, columns, rows, rows}, 1e-6));
}

TEST_CASE("inner and outer products have both derivatives") {
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto b) { return dot(a, b); }), point<cd, cd>({5}, {5})));
    CHECK(differentiates(
        function_of<cd, cd>([](auto a, auto b) { return vdot(a, b); }), point<cd, cd>({5}, {5})));
    CHECK(differentiates(function_of<cd, double>([](auto a, auto b) { return vdot(a, b); }),
        point<cd, double>({5}, {5})));
    CHECK(differentiates(function_of<cd, double>([](auto a, auto b) { return outer(a, b); }),
        point<cd, double>({3}, {2})));
    CHECK(differentiates(function_of<double>([](auto a) { return outer(a, a) + dot(a, a); }),
        {sample(xg::DType::float64, {3})}));
}

TEST_CASE(
    "products in single precision agree with those in double, in value and both derivatives") {
    auto const check = [](auto f) {
        CHECK(agrees_with_double(function_of<float, cf>(f), function_of<double, cd>(f),
            point<float, cf>({2, 3, 4}, {4, 2})));
        CHECK(agrees_with_double(function_of<float, float>(f), function_of<double, double>(f),
            point<float, float>({33, 4}, {4, 17}), 1e-4));
    };
    check([](auto a, auto b) { return matmul(a, b); });
    CHECK(
        agrees_with_double(function_of<float, double>([](auto a, auto b) { return matmul(a, b); }),
            function_of<double, double>([](auto a, auto b) { return matmul(a, b); }),
            point<float, double>({2, 3}, {3, 2})));
}
