// What linalg returns is row-major: data()[i] is element i in row-major order. So are gradients.
#include <doctest/doctest.h>

#include <xgrad/linalg.hpp>

namespace xg = xgrad;
namespace linalg = xg::linalg;
using D = xg::Tensor<double>;
using cd = std::complex<double>;

namespace {

/// The elements of a stack of matrices by their indices, beside data().
template <class T> void check_row_major(char const* name, xg::Tensor<T> const& x) {
    INFO(name);
    CHECK(x.is_contiguous());
    auto const indexed = x.array();
    T const* at = x.data();
    bool same = true;
    for (auto const& element : indexed) same = same && *at++ == element;
    CHECK(same);
}

template <class T> void check_all(xg::Shape const& shape, xg::Tensor<T> const& wide) {
    INFO(name(xg::dtype_of<T>));
    xg::manual_seed(3);
    auto const a = xg::randn<T>(shape), b = xg::randn<T>(shape);
    xg::Tensor<T> const s = matmul(a, adjoint(a)) + xg::eye<T>(shape.back());
    check_row_major("solve", linalg::solve(s, b));
    check_row_major("inv", linalg::inv(s));
    check_row_major("matrix_power", linalg::matrix_power(s, -1));
    check_row_major("matrix_exp", linalg::matrix_exp(s));
    auto const l = linalg::cholesky(s);
    check_row_major("cholesky", l);
    check_row_major("cholesky_solve", linalg::cholesky_solve(b, l));
    check_row_major("solve_triangular", linalg::solve_triangular(l, b));
    check_row_major("eigh", std::get<1>(linalg::eigh(s)));
    for (auto const& m : {s, wide, xg::Tensor<T>(wide.mT())}) {
        auto const [q, r] = linalg::qr(m);
        check_row_major("Q", q);
        check_row_major("R", r);
        auto const [u, values, vh] = linalg::svd(m);
        check_row_major("U", u);
        check_row_major("V^H", vh);
    }
}

} // namespace

TEST_CASE("results of linalg are row-major") {
    check_all<double>({9, 9}, xg::randn({9, 12}));
    check_all<cd>({3, 3}, xg::randn<cd>({3, 4}));
    check_all<double>({2, 3, 3}, xg::randn({2, 3, 5}));
    D const a({{1., 2.}, {3., 4.}});
    CHECK(linalg::inv(a).data()[1] == doctest::Approx(1)); // and not x(1, 0), which is 1.5
    CHECK(linalg::solve(a, xg::randn({2, 2, 3})).is_contiguous());
    auto const product = xg::einsum("ij,jk->ki", a, D({{1., 0.}, {1., 1.}}));
    CHECK(product.data()[1] == 7);
    CHECK(product.data()[2] == 2);
}

TEST_CASE("gradients are row-major") {
    D const x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    D const k({{1., 2.}, {3., 4.}, {5., 6.}, {7., 8.}});
    auto const loss = [&] { return D(sum(matmul(k, x) * matmul(k, x))); };
    auto const by_transpose = [&] {
        return D(sum(matmul(x.mT(), k.mT()) * matmul(x.mT(), k.mT())));
    };
    auto const want = xg::grad(loss(), x), got = xg::grad(by_transpose(), x);
    by_transpose().backward();
    auto recorded = xg::grad(by_transpose(), x, {.create_graph = true});
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(got.data()[i] == want.data()[i]);
        CHECK(x.grad().data()[i] == want.data()[i]);
        CHECK(recorded.data()[i] == want.data()[i]);
    }
    CHECK(xg::grad(D(sum(recorded)), x).data()[1] == doctest::Approx(2 * (84 + 100)));
    CHECK(xg::grad({by_transpose()}, {x})[0].is_contiguous());
}

TEST_CASE("data() of a tensor that is not contiguous names what to write instead") {
    D x({{1., 2., 3.}, {4., 5., 6.}});
    D t = x.mT();
    CHECK_THROWS_WITH_AS(t.data(),
        "data: this tensor of shape [3, 2] has strides [1, 3] and is not contiguous, so that "
        "element i of its memory is another one than element i in row-major order. "
        "contiguous() is a copy with data(); array() is an xtensor expression of it; "
        "strided_data() is "
        "the address for those who use strides()",
        xg::Error);
    CHECK_THROWS_WITH_AS(t.mutable_data(),
        "mutable_data: this tensor of shape [3, 2] has strides [1, 3] and is not contiguous, so "
        "that element i of its memory is another one than element i in row-major order. "
        "mutable_array() is an xtensor expression of it; mutable_strided_data() is the address for "
        "those who use strides()",
        xg::Error);
    CHECK(t.contiguous().data()[1] == 4);
    CHECK(t.strided_data() == x.data());
    CHECK(t.strided_data()[t.strides()[1]] == 4);
    t.mutable_strided_data()[t.strides()[0]] = 7;
    CHECK(x(0, 1).item() == 7);
    CHECK(x.expand({2, 2, 3}).strided_data() == x.data());
    CHECK_THROWS_AS(x.expand({2, 2, 3}).data(), xg::Error);
    CHECK(D(x(xg::slice(0, 0))).mT().data() != nullptr); // no elements: nothing to be mistaken
}

TEST_CASE("mutable_strided_data() counts as a change in place, and a failed mutable_data() not") {
    D const x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    D y = exp(x);
    D const z = y * y;
    CHECK_THROWS_AS(y.mT().mutable_data(), xg::Error);
    sum(z).backward();
    D const again = y * y;
    D(y.mT()).mutable_strided_data();
    CHECK_THROWS_AS(sum(again).backward(), xg::VersionError);
}
