// An error of a function of matrices names the function as it is written, and the shapes that
// matter.
#include <support/error_names.hpp>

#include <xgrad/linalg.hpp>
#include <xgrad/xgrad.hpp>

using namespace support;

namespace {
using D = xg::Tensor<double>;
using namespace xg::linalg;

D const u, number(1.), v2 = xg::ones({2}), v3 = xg::ones({3}), m23 = xg::ones({2, 3}),
                       m32 = xg::ones({3, 2}), m22 = xg::ones({2, 2}), stack = xg::ones({4, 2, 3});
} // namespace

TEST_CASE("decompositions and solutions") {
    auto const check = [](std::string const& name, auto f, bool square = true) {
        if (square) {
            NAMES("linalg." + name, ({"square", "2 by 3", "of shape [2, 3]"}), f(m23));
            NAMES("linalg." + name, ({"square", "2 by 3", "of shape [4, 2, 3]"}), f(stack));
        }
        NAMES("linalg." + name, ({"2 dimensions", "[2]"}), f(v2));
        NAMES("linalg." + name, ({"2 dimensions", "[]"}), f(number));
        UNDEFINED("linalg." + name, f(u));
    };
    check("cholesky", [](D const& a) { cholesky(a); });
    check("eigh", [](D const& a) { eigh(a); });
    check("eigvalsh", [](D const& a) { eigvalsh(a); });
    check("inv", [](D const& a) { inv(a); });
    check("det", [](D const& a) { det(a); });
    check("slogdet", [](D const& a) { slogdet(a); });
    check("matrix_exp", [](D const& a) { matrix_exp(a); });
    for (int const n : {-2, 0, 1, 3})
        check("matrix_power", [n](D const& a) { matrix_power(a, n); });
    check("solve", [](D const& a) { solve(a, v2); });
    check("solve_triangular", [](D const& a) { solve_triangular(a, m22, {.upper = true}); });
    check(
        "qr", [](D const& a) { qr(a); }, false);
    check(
        "svd", [](D const& a) { svd(a); }, false);
    check(
        "svdvals", [](D const& a) { svdvals(a); }, false);
    NAMES("linalg.matrix_power", ({"singular"}), matrix_power(m22, -1));
    NAMES("linalg.solve", ({"[2, 2]", "[3]"}), solve(m22, v3));
    NAMES("linalg.solve", ({"[2, 2]", "[3, 2]"}), solve(m22, m32));
    NAMES("linalg.solve", ({"[4, 2, 2]", "[3, 2, 2]"}),
        solve(xg::ones({4, 2, 2}), xg::ones({3, 2, 2})));
    NAMES("linalg.solve_triangular", ({"[2, 2]", "[3, 2]"}),
        solve_triangular(m22, m32, {.upper = true}));
    NAMES("linalg.solve_triangular", ({"[4, 2, 2]", "[3, 2, 2]"}),
        solve_triangular(xg::ones({4, 2, 2}), xg::ones({3, 2, 2}), {.upper = true}));
    UNDEFINED("linalg.solve", solve(m22, u));
    UNDEFINED("linalg.solve_triangular", solve_triangular(m22, u, {.upper = true}));
}

TEST_CASE("contractions") {
    NAMES("tensordot", ({"[2, 3]", "3 axes"}), tensordot(m23, m23, 3));
    NAMES(
        "tensordot", ({"size 3 in axis 1", "size 2 in axis 0", "[2, 3]"}), tensordot(m23, m23, 1));
    NAMES("tensordot", ({"size 2 in axis 0", "size 3 in axis 1", "[2, 3]"}),
        tensordot(m23, m23, {0}, {1}));
    NAMES("tensordot", ({"axis 5", "of shape [2, 3]"}), tensordot(m23, m23, {5}, {1}));
    NAMES("tensordot", ({"axis 5", "of shape [4, 2, 3]"}), tensordot(m23, stack, {1}, {5}));
    NAMES("tensordot", ({"2 axes of shape [2, 3]", "1 axes of shape [2, 3]"}),
        tensordot(m23, m23, {0, 1}, {1}));
    NAMES(
        "tensordot", ({"twice", "[0, 0]", "of shape [2, 3]"}), tensordot(m23, m23, {0, 0}, {0, 0}));
    NAMES("einsum", ({"subscript j", "operand 1 of shape [2, 3]", "2", "3"}),
        xg::einsum("ij,jk", m23, m23));
    NAMES("einsum", ({"\"ijk\"", "3 axes", "[2, 3]"}), xg::einsum("ijk", m23));
    NAMES("einsum", ({"subscript j"}), xg::einsum("i->ij", v2));
    NAMES("einsum", ({"\"ij\"", "2"}), xg::einsum("ij", m23, m23));
    NAMES("einsum", ({"'1'", "\"i1\""}), xg::einsum("i1", m23));
    NAMES(
        "einsum", ({"subscript i", "operand 0 of shape [2, 3]", "3 != 2"}), xg::einsum("ii", m23));
    NAMES("einsum", ({"subscript i", "\"ij->ii\""}), xg::einsum("ij->ii", m23));
    UNDEFINED("tensordot", tensordot(u, m23));
    UNDEFINED("tensordot", tensordot(m23, u, {0}, {0}));
    UNDEFINED("einsum", xg::einsum("ij,jk", m23, u));
    UNDEFINED("kron", kron(u, m23));
    UNDEFINED("kron", kron(m23, u));
}

TEST_CASE("transposes") {
    NAMES("adjoint", ({"axis -2", "[2]"}), adjoint(v2));
    UNDEFINED("adjoint", adjoint(u));
    NAMES("fft2", ({"axis -2", "[2]"}), fft2(v2));
    NAMES("ifft2", ({"axis -2", "[2]"}), ifft2(v2));
}
