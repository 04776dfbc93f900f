// Decompositions: the factors have their form and multiply back, and what does not depend on the
// choice of vectors has both derivatives.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>
#include <xgrad/linalg.hpp>

using namespace support;
namespace linalg = xg::linalg;

namespace {

template <class T> Values matrices(xg::Shape const& shape, std::uint32_t seed = 2) {
    return sample(xg::dtype_of<T>, shape, seed);
}
template <class T> xg::Tensor<T> tensor(xg::Shape const& shape, std::uint32_t seed = 2) {
    return leaf(matrices<T>(shape, seed)).template as<T>();
}

template <class T> xg::Tensor<T> hermitian(xg::Tensor<T> const& a) { return a + adjoint(a); }
template <class T> xg::Tensor<T> positive(xg::Tensor<T> const& a) {
    return matmul(a, adjoint(a)) + xg::eye<T>(a.shape(-1));
}
template <class T> CheckResult is_identity(xg::Tensor<T> const& a) {
    return holds(a,
        xg::AnyTensor(xg::Tensor<T>(broadcast_to(xg::eye<T>(a.shape(-1)), a.shape())).clone()),
        1e-12);
}

/// The strict triangle, all of which should be 0.
template <class T> double largest_above(xg::Tensor<T> const& a, bool above) {
    double most = 0;
    auto const flat = xg::Tensor<double>(abs(reshape(a,
        {-1, static_cast<std::ptrdiff_t>(a.shape(-2)), static_cast<std::ptrdiff_t>(a.shape(-1))})));
    for (std::size_t k = 0; k < flat.shape(0); ++k)
        for (std::size_t i = 0; i < flat.shape(1); ++i)
            for (std::size_t j = 0; j < flat.shape(2); ++j)
                if (above ? j > i : j < i) most = std::max(most, flat(k, i, j).item());
    return most;
}

template <class F> void check_derivatives(F f, xg::Shape const& shape, double tolerance = 1e-6) {
    CHECK(differentiates(function_of<double>(f), {matrices<double>(shape)}, tolerance));
    CHECK(differentiates(function_of<cd>(f), {matrices<cd>(shape)}, tolerance));
}

template <class T> void check_qr(xg::Shape const& shape) {
    auto const a = tensor<T>(shape);
    auto const [q, r] = linalg::qr(a);
    INFO(text(shape));
    CHECK(holds(matmul(q, r), xg::AnyTensor(a), 1e-12));
    CHECK(is_identity<T>(matmul(adjoint(q), q)));
    CHECK(largest_above(r, false) == 0);
}

template <class T> void check_svd(xg::Shape const& shape) {
    auto const a = tensor<T>(shape);
    auto const [u, s, vh] = linalg::svd(a);
    INFO(text(shape));
    CHECK(holds(matmul(xg::Tensor<T>(u * unsqueeze(s, -2)), vh), xg::AnyTensor(a), 1e-12));
    CHECK(is_identity<T>(matmul(adjoint(u), u)));
    CHECK(is_identity<T>(matmul(vh, adjoint(vh))));
    CHECK(holds(linalg::svdvals(a), xg::AnyTensor(s), 1e-12));
    CHECK(holds(linalg::svdvals(a.detach()), xg::AnyTensor(s), 1e-12));
    CHECK(holds(xg::sort(s, -1, true).values, xg::AnyTensor(s)));
}

} // namespace

TEST_CASE("cholesky is a lower triangle that multiplies back, with both derivatives") {
    auto const a = positive(tensor<cd>({2, 4, 4}));
    auto const l = linalg::cholesky(a);
    CHECK(holds(matmul(l, adjoint(l)), xg::AnyTensor(a), 1e-12));
    CHECK(largest_above(l, true) == 0);
    CHECK(holds(linalg::cholesky(xg::Tensor<double>({{4., 100.}, {2., 10.}})), {2, 0, 1, 3}));
    check_derivatives([](auto const& x) { return linalg::cholesky(positive(x)); }, {2, 3, 3});
}

TEST_CASE("the gradient of cholesky is Hermitian, and what is not positive definite is refused") {
    auto const a = positive(tensor<cd>({3, 3})).detach().requires_grad_();
    auto const g = xg::grad(sum(abs2(sin(linalg::cholesky(a)))), a);
    CHECK(holds(g, xg::AnyTensor(xg::Tensor<cd>(adjoint(g))), 1e-12));
    xg::Tensor<double> const indefinite({{{1., 0.}, {0., 1.}}, {{1., 2.}, {2., 1.}}});
    CHECK_THROWS_WITH_AS(linalg::cholesky(indefinite),
        "linalg.cholesky: (Batch element 1): The factorization could not be completed because the "
        "input is not positive-definite (the leading minor of order 2 is not positive-definite).",
        xg::LinAlgError);
}

TEST_CASE("eigh has ascending values and orthonormal vectors, of either triangle") {
    for (bool const upper : {false, true}) {
        auto const a = hermitian(tensor<cd>({2, 4, 4}));
        auto const [w, v] = linalg::eigh(a, upper);
        CHECK(w.dtype() == xg::DType::float64);
        CHECK(holds(matmul(a, v), xg::AnyTensor(xg::Tensor<cd>(v * unsqueeze(w, -2))), 1e-11));
        CHECK(is_identity<cd>(matmul(adjoint(v), v)));
        CHECK(holds(xg::sort(w, -1).values, xg::AnyTensor(w)));
    }
    CHECK(holds(linalg::eigvalsh(xg::Tensor<double>({{2., 100.}, {1., 2.}})), {1, 3}, 1e-12));
    CHECK(holds(linalg::eigvalsh(xg::Tensor<double>({{2., 1.}, {100., 2.}}), true), {1, 3}, 1e-12));
}

TEST_CASE("eigh differentiates its values and what depends on no phase of its vectors") {
    check_derivatives([](auto const& x) { return linalg::eigvalsh(hermitian(x)); }, {2, 3, 3});
    check_derivatives(
        [](auto const& x) {
            return xg::Tensor<double>(abs2(std::get<1>(linalg::eigh(hermitian(x)))));
        },
        {3, 3}, 1e-5);
    check_derivatives(
        [](auto const& x) {
            auto const [w, v] = linalg::eigh(hermitian(x));
            return matmul(decltype(v)(v * unsqueeze(exp(w / 3), -2)), adjoint(v)); // exp(A/3)
        },
        {3, 3}, 1e-5);
    CHECK(differentiates(
        function_of<double>([](auto const& x) { return std::get<1>(linalg::eigh(hermitian(x))); }),
        {matrices<double>({3, 3})}, 1e-5));
}

TEST_CASE("gradients of eigenvalues are finite where some are equal, and Hermitian") {
    auto const a = xg::eye<cd>(3, xg::requires_grad);
    CHECK(holds(xg::grad(sum(linalg::eigvalsh(a)), a), {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-12));
    auto const b = hermitian(tensor<cd>({3, 3})).detach().requires_grad_();
    auto const [w, v] = linalg::eigh(b);
    auto const g = xg::grad(sum(abs2(v) * xg::arange<double>(0, 3) * w), b);
    CHECK(holds(g, xg::AnyTensor(xg::Tensor<cd>(adjoint(g))), 1e-12));
}

TEST_CASE("a loss that depends on phases of complex vectors is refused") {
    auto const a = hermitian(tensor<cd>({3, 3})).detach().requires_grad_();
    CHECK_THROWS_WITH_AS(xg::grad(sum(real(std::get<1>(linalg::eigh(a)))), a),
        "linalg_eigh_backward: The eigenvectors in the complex case are specified up to "
        "multiplication by e^{i phi}. The specified loss function depends on this quantity, so it "
        "is ill-defined.",
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::grad(sum(real(std::get<0>(linalg::svd(a)))), a),
        "svd_backward: The singular vectors in the complex case are specified up to multiplication "
        "by e^{i phi}. The specified loss function depends on this phase term, making it "
        "ill-defined.",
        xg::GraphError);
}

TEST_CASE("whether phases matter does not depend on the scale of a loss") {
    auto const a = hermitian(tensor<cd>({3, 3})).detach().requires_grad_();
    auto const k = tensor<cd>({3, 3}, 3);
    for (double const scale : {1e-6, 1., 1e20}) {
        auto const [w, v] = linalg::eigh(a);
        CHECK_NOTHROW(xg::grad(
            sum(scale *
                real(matmul(xg::Tensor<cd>(v * unsqueeze(exp(w / 3), -2)), adjoint(v)) * k)),
            a));
        CHECK_THROWS_AS(xg::grad(sum(scale * real(v)), a), xg::GraphError);
        auto const [u, s, vh] = linalg::svd(a);
        CHECK_NOTHROW(xg::grad(
            sum(scale * real(matmul(xg::Tensor<cd>(u * unsqueeze(sin(s), -2)), vh) * k)), a));
        CHECK_THROWS_AS(xg::grad(sum(scale * real(vh)), a), xg::GraphError);
    }
}

TEST_CASE(
    "NaN and infinity are refused where an iteration would not end, in the triangle that counts") {
    for (double const wrong : {double(NAN), double(INFINITY)}) {
        xg::Tensor<double> a = tensor<double>({3, 3}).detach();
        a(1, 0) = wrong;
        CHECK_THROWS_AS(linalg::svd(a), xg::LinAlgError);
        CHECK_THROWS_AS(linalg::svdvals(a), xg::LinAlgError);
        CHECK_THROWS_AS(linalg::eigh(a), xg::LinAlgError);
        CHECK_THROWS_AS(linalg::eigvalsh(a), xg::LinAlgError);
        CHECK_NOTHROW(linalg::eigh(a, true));
    }
}

TEST_CASE("svd multiplies back, of square, tall and wide matrices") {
    for (auto const& shape : {xg::Shape{3, 3}, xg::Shape{2, 5, 3}, xg::Shape{2, 3, 5},
             xg::Shape{1, 4}, xg::Shape{4, 1}}) {
        check_svd<double>(shape);
        check_svd<cd>(shape);
    }
    CHECK(std::get<1>(linalg::svd(xg::zeros({2, 0, 3}))).shape() == xg::Shape{2, 0});
}

TEST_CASE("svd differentiates its values and what depends on no phase of its vectors") {
    for (auto const& shape : {xg::Shape{3, 3}, xg::Shape{4, 2}, xg::Shape{2, 4}}) {
        INFO(text(shape));
        check_derivatives([](auto const& x) { return linalg::svdvals(x); }, shape);
        check_derivatives(
            [](auto const& x) {
                auto const [u, s, vh] = linalg::svd(x);
                return matmul(decltype(u)(u * unsqueeze(sin(s), -2)), vh);
            },
            shape, 1e-5);
        check_derivatives(
            [](auto const& x) { return xg::Tensor<double>(abs2(std::get<0>(linalg::svd(x)))); },
            shape, 1e-5);
        check_derivatives(
            [](auto const& x) { return xg::Tensor<double>(abs2(std::get<2>(linalg::svd(x)))); },
            shape, 1e-5);
    }
}

TEST_CASE("the gradient of svd is right for very small and very large matrices") {
    auto const loss = [](auto const& x) {
        auto const [u, s, vh] = linalg::svd(x);
        return xg::Tensor<double>(sum(abs2(u) * xg::Tensor<double>({{1., 2.}, {3., 5.}})));
    };
    auto const of = [&](auto const& matrix, double size) {
        std::decay_t<decltype(matrix)> x = matrix * size;
        x.requires_grad_();
        x = xg::grad(loss(x), x) * size;
        return x;
    };
    xg::Tensor<double> const real({{1., 2.}, {3., 5.}});
    xg::Tensor<cd> const phases({{cd(1, 1), cd(2, 0)}, {cd(0, 3), cd(5, 1)}});
    for (double const size : {1e-250, 1e-170, 1e170, 1e250}) {
        INFO("times " << size);
        CHECK(holds(of(real, size), xg::AnyTensor(of(real, 1)), 1e-11));
        CHECK(holds(of(phases, size), xg::AnyTensor(of(phases, 1)), 1e-11));
    }
}

TEST_CASE("qr multiplies back, of square, tall and wide matrices, with both derivatives") {
    for (auto const& shape :
        {xg::Shape{3, 3}, xg::Shape{2, 4, 2}, xg::Shape{2, 4}, xg::Shape{1, 1}}) {
        check_qr<double>(shape);
        check_qr<cd>(shape);
        check_derivatives([](auto const& x) { return std::get<0>(linalg::qr(x)); }, shape, 1e-5);
        check_derivatives([](auto const& x) { return std::get<1>(linalg::qr(x)); }, shape, 1e-5);
    }
}

TEST_CASE("decompositions in single precision agree with double") {
    auto const same = [](auto f) {
        CHECK(agrees_with_double(
            function_of<float>(f), function_of<double>(f), {matrices<float>({3, 3})}, 2e-3));
        CHECK(agrees_with_double(
            function_of<cf>(f), function_of<cd>(f), {matrices<cf>({3, 3})}, 2e-3));
    };
    same([](auto const& x) { return linalg::cholesky(positive(x)); });
    same([](auto const& x) { return linalg::eigvalsh(hermitian(x)); });
    same([](auto const& x) { return linalg::svdvals(x); });
}
