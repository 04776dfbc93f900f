// einsum, tensordot and kron against sums written out.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>
#include <xgrad/linalg.hpp>

using namespace support;

namespace {

/// einsum, element by element: sums over all values of all labels. The equation has labels only, no
/// ellipsis, and names its result.
Values summed(std::string const& equation, std::vector<Values> const& operands) {
    auto const arrow = equation.find("->");
    std::vector<std::string> subscripts{""};
    for (char const c : equation.substr(0, arrow))
        c == ',' ? (void)subscripts.emplace_back() : subscripts.back().push_back(c);
    std::string const result = equation.substr(arrow + 2);
    std::map<char, std::size_t> extent, at;
    for (std::size_t k = 0; k < operands.size(); ++k)
        for (std::size_t d = 0; d < subscripts[k].size(); ++d)
            extent[subscripts[k][d]] = std::max(extent[subscripts[k][d]], operands[k].shape[d]);
    auto const place = [&](std::string const& labels, xg::Shape const& shape) {
        std::size_t n = 0;
        for (std::size_t d = 0; d < labels.size(); ++d)
            n = n * shape[d] + (shape[d] == 1 ? 0 : at[labels[d]]);
        return n;
    };
    Values out;
    for (char const c : result) out.shape.push_back(extent[c]);
    out.numbers.resize(xg::numel(out.shape));
    for (auto const& [c, n] : extent) at[c] = 0;
    for (;;) {
        cd product = 1;
        for (std::size_t k = 0; k < operands.size(); ++k)
            product *= operands[k].numbers[place(subscripts[k], operands[k].shape)];
        out.numbers[place(result, out.shape)] += product;
        auto next = extent.begin();
        while (next != extent.end() && ++at[next->first] == next->second) at[next++->first] = 0;
        if (next == extent.end()) return out;
    }
}

template <class... T> void check(char const* equation, std::vector<xg::Shape> const& shapes) {
    INFO(equation);
    std::vector<Values> at;
    std::uint32_t seed = 0;
    ((at.push_back(sample(xg::dtype_of<T>, shapes[seed], seed + 1)), ++seed), ...);
    auto const want = summed(equation, at);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto const y = xg::einsum(equation, leaf(at[I]).template as<T>()...);
        CHECK(y.shape() == want.shape);
        CHECK(holds(y, want.numbers, 1e-12));
        CHECK(holds(
            xg::einsum(equation, strided_leaf(at[I]).template as<T>()...), want.numbers, 1e-12));
    }(std::index_sequence_for<T...>{});
    CHECK(differentiates(
        function_of<T...>([=](auto const&... x) { return xg::einsum(equation, x...); }), at, 1e-6));
}

} // namespace

TEST_CASE("einsum of one operand sums, takes diagonals and reorders axes") {
    using D = double;
    check<D>("ij->", {{2, 3}});
    check<D>("ij->j", {{2, 3}});
    check<D>("ijk->kij", {{2, 3, 2}});
    check<D>("ii->", {{3, 3}});
    check<D>("ii->i", {{3, 3}});
    check<cd>("iji->j", {{2, 3, 2}});
    check<D>("iijj->ji", {{2, 2, 3, 3}});
    check<D>("->", {{}});
}

TEST_CASE("einsum of two operands is their product, summed over what the result lacks") {
    using D = double;
    check<D, D>("ij,jk->ik", {{2, 3}, {3, 4}});
    check<D, cd>("ij,kj->ki", {{2, 3}, {4, 3}});
    check<cd, cd>("bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}});
    check<D, D>("ijb,kbj->bik", {{2, 3, 2}, {2, 2, 3}});
    check<D, D>("i,i->", {{3}, {3}});
    check<D, D>("i,j->ij", {{2}, {3}});
    check<D, D>("i,i->i", {{3}, {3}});
    check<D, D>("ij,j->i", {{2, 3}, {3}});
    check<D, D>("ijk,kjl->il", {{2, 3, 2}, {2, 3, 2}});
    check<D, D>("ij,kl->", {{2, 3}, {2, 2}});
    check<D, D>("iij,jk->ik", {{2, 2, 3}, {3, 2}});
    check<cd, D>("ij,ij->j", {{2, 3}, {2, 3}});
    check<D, D>(",ij->ji", {{}, {2, 3}});
}

TEST_CASE("einsum lets an extent of 1 broadcast") {
    using D = double;
    check<D, D>("ij,jk->ik", {{2, 1}, {3, 2}});
    check<D, D>("ij,ij->ij", {{2, 1}, {1, 3}});
    check<D, D>("ij,ij->i", {{2, 1}, {2, 3}});
    check<D, D>("i,i->", {{3}, {1}});
    check<D, cd>("i,j->ij", {{1}, {3}});
    check<D, D, D>("i,i,i->", {{1}, {1}, {3}});
    check<D, D, D>("ij,j,ij->i", {{2, 1}, {1}, {1, 3}});
    xg::Tensor<double> const x({1., 2., 3.}, xg::requires_grad), one({10.}, xg::requires_grad);
    xg::Tensor<double> const y = xg::einsum("i,i->", x, one);
    CHECK(y.item() == 60.);
    y.backward();
    CHECK(xt::allclose(x.grad().array(), xt::xarray<double>{10., 10., 10.}));
    CHECK(xt::allclose(one.grad().array(), xt::xarray<double>{6.}));
}

TEST_CASE("einsum of several operands goes from the left to the right") {
    using D = double;
    check<D, D, D>("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 3}});
    check<cd, D, cd>("i,ij,j->", {{2}, {2, 3}, {3}});
    check<D, D, D>("ai,bi,ci->abc", {{2, 3}, {2, 3}, {2, 3}});
}

TEST_CASE("an ellipsis stands for axes that broadcast, and without an arrow the letters that occur "
          "once are sorted") {
    auto const a = leaf(sample(xg::DType::float64, {2, 1, 3, 4}, 1)).as<double>(),
               b = leaf(sample(xg::DType::float64, {5, 4, 2}, 2)).as<double>();
    CHECK(holds(xg::einsum("...ij,...jk->...ik", a, b), xg::AnyTensor(matmul(a, b)), 1e-12));
    CHECK(holds(xg::einsum("...ij,...jk", a, b), xg::AnyTensor(matmul(a, b)), 1e-12));
    CHECK(holds(xg::einsum("b...j -> j...b", a), xg::AnyTensor(permute(a, {3, 1, 2, 0}))));
    CHECK(holds(xg::einsum("ba", b[0]), xg::AnyTensor(transpose(b[0]))));
    CHECK(holds(xg::einsum("ij,jk", b[0], mT(b[0])), xg::AnyTensor(matmul(b[0], mT(b[0]))), 1e-12));
    CHECK(holds(xg::einsum("...,...->...", a, xg::Tensor<double>(2.)),
        xg::AnyTensor(xg::Tensor<double>(2. * a))));
}

TEST_CASE("wrong equations are refused in a sentence") {
    auto const message = [](char const* equation, auto const&... x) {
        try {
            xg::einsum(equation, x...);
        } catch (xg::Error const& e) { return std::string(e.what()); }
        return std::string();
    };
    auto const a = xg::ones({2, 3});
    CHECK(message("ij,jk", a) ==
          "einsum: the equation \"ij,jk\" has subscripts for 2 operands, but there are 1");
    CHECK(message("ij", a, a) ==
          "einsum: the equation \"ij\" has subscripts for 1 operands, but there are 2");
    CHECK(message("ijk", a) ==
          "einsum: the subscripts \"ijk\" name 3 axes, and operand 0 has shape [2, 3]");
    CHECK(message("i", a) ==
          "einsum: the subscripts \"i\" name 1 axes, and operand 0 has shape [2, 3]");
    CHECK(message("ij,jk->ik", a, a) == "einsum: subscript j has size 2 for operand 1 of shape [2, "
                                        "3] which does not broadcast with previously seen size 3");
    CHECK(message("ii", a) == "einsum: subscript i is repeated for operand 0 of shape [2, 3] but "
                              "the sizes don't match, 3 != 2");
    CHECK(message("ii", xg::ones({1, 3})) == "einsum: subscript i is repeated for operand 0 of "
                                             "shape [1, 3] but the sizes don't match, 3 != 1");
    CHECK(message("i,i,i->", xg::ones({2}), xg::ones({1}), xg::ones({3})) ==
          "einsum: subscript i has size 3 for operand 2 of shape [3] which does not broadcast with "
          "previously "
          "seen size 2");
    CHECK(message("ij->ik", a) ==
          "einsum: output subscript k does not appear in the equation for any input operand");
    CHECK(message("ij->ii", a) ==
          "einsum: output subscript i appears more than once in the output of \"ij->ii\"");
    CHECK(message("i1", a) ==
          "einsum: invalid subscript '1' in \"i1\"; subscripts must be in [a-zA-Z]");
    CHECK(message("i.", a) ==
          "einsum: a '.' in \"i.\" is not part of the one ellipsis that subscripts may have");
}

TEST_CASE("tensordot pairs axes") {
    auto const a = sample(xg::DType::float64, {2, 3, 4}, 1),
               b = sample(xg::DType::float64, {4, 3, 5}, 2),
               c = sample(xg::DType::complex128, {3, 4, 5}, 3);
    auto const x = leaf(a).as<double>(), y = leaf(b).as<double>();
    CHECK(holds(xg::tensordot(x, y, {1, 2}, {1, 0}), summed("ijk,kjl->il", {a, b}).numbers, 1e-12));
    CHECK(holds(xg::tensordot(x, leaf(c).as<cd>()), summed("ijk,jkl->il", {a, c}).numbers, 1e-12));
    CHECK(xg::tensordot(x, y, 0).shape() == xg::Shape{2, 3, 4, 4, 3, 5});
    CHECK(xg::tensordot(x, y, {-1}, {0}).shape() == xg::Shape{2, 3, 3, 5});
    CHECK(differentiates(
        function_of<double, cd>([](auto const& p, auto const& q) { return xg::tensordot(p, q); }),
        {a, c}, 1e-6));
    auto const d = sample(xg::DType::float64, {1, 4}, 4); // whose first axis broadcasts
    CHECK(holds(xg::tensordot(x, leaf(d).as<double>(), {1}, {0}),
        summed("ijk,jl->ikl", {a, summed("zj,zl->jl", {support::values(xg::ones({1, 3})), d})})
            .numbers,
        1e-12));
    CHECK_THROWS_AS(xg::tensordot(x, y, {0}, {0}), xg::ShapeError);
    CHECK_THROWS_AS(xg::tensordot(x, y, {0, 1}, {1}), xg::ShapeError);
    CHECK_THROWS_AS(xg::tensordot(x, y, 4), xg::ShapeError);
}

TEST_CASE("kron puts a copy of one matrix, times it, in place of each element of the other") {
    xg::Tensor<double> const a({{1., 2.}, {3., 4.}}), b({{0., 5.}, {6., 7.}});
    CHECK(holds(xg::kron(a, b), {0, 5, 0, 10, 6, 7, 12, 14, 0, 15, 0, 20, 18, 21, 24, 28}));
    CHECK(xg::kron(a, b).shape() == xg::Shape{4, 4});
    CHECK(holds(xg::kron(a, xg::Tensor<double>({1., 10.})), {1, 10, 2, 20, 3, 30, 4, 40}));
    CHECK(differentiates(
        function_of<cd, double>([](auto const& p, auto const& q) { return xg::kron(p, q); }),
        {sample(xg::DType::complex128, {2, 2}, 1), sample(xg::DType::float64, {2, 3}, 2)}));
}
