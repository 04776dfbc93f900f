// index_select and gather, index_add and scatter_add: what they take, what comes back, and what
// does not fit.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;

D const x = reshape(xg::arange<double>(0, 12), {3, 4});
I const corners({{0, 3}, {2, 2}});

template <class T> Point point(xg::Shape const& shape) { return {sample(xg::dtype_of<T>, shape)}; }

} // namespace

TEST_CASE("index_select takes slices along any axis, in any order, as often as they are named") {
    CHECK(
        holds_exactly(index_select(x, 0, I({2, 0, 2})), {8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
    CHECK(holds_exactly(index_select(x, 1, I({3, 1})), {3, 1, 7, 5, 11, 9}));
    CHECK(holds_exactly(index_select(x, -1, I(2)), {2, 6, 10}));
    CHECK(index_select(x, 1, I(2)).shape() == xg::Shape{3, 1});
    CHECK(holds_exactly(index_select(transpose(x), 0, I({1})), {1, 5, 9}));
    CHECK(holds_exactly(index_select(2. * x + 1., 1, I({0})), {1, 9, 17}));
    CHECK(holds_exactly(index_select(reshape(xg::arange<double>(0, 12), {2, 3, 2}), 1, I({2, 0})),
        {4, 5, 0, 1, 10, 11, 6, 7}));
    CHECK(index_select(x, 0, xg::zeros<std::int64_t>({0})).shape() == xg::Shape{0, 4});
    CHECK(holds_exactly(index_select(I({5, 6, 7}), 0, I({2, 2})), {7, 7}));
}

TEST_CASE("gather takes one element for each number, along any axis") {
    CHECK(holds_exactly(gather(x, 1, corners), {0, 3, 6, 6}));
    CHECK(holds_exactly(gather(x, 0, corners(xt::all(), xt::range(0, 1)) * 1), {0, 8}));
    CHECK(holds_exactly(gather(x, -1, I({{3, 2, 1, 0, 0, 0}})), {3, 2, 1, 0, 0, 0}));
    CHECK(holds_exactly(gather(transpose(x), 0, I({{3, 0, 1}})), {3, 4, 9}));
    CHECK(holds_exactly(gather(D({5., 6., 7.}), 0, I({2, 0, 0, 1})), {7, 5, 5, 6}));
    CHECK(holds_exactly(
        gather(reshape(xg::arange<double>(0, 8), {2, 2, 2}), 1, I({{{1, 0}}, {{0, 1}}})),
        {2, 1, 4, 7}));
    CHECK(gather(x, 1, xg::zeros<std::int64_t>({3, 0})).shape() == xg::Shape{3, 0});
}

TEST_CASE("index_add and scatter_add add to what is there, several times where a number occurs "
          "several times") {
    CHECK(holds_exactly(
        index_add(xg::ones({3, 2}), 0, I({2, 0, 2}), D({{1., 2.}, {3., 4.}, {5., 6.}})),
        {4, 5, 1, 1, 7, 9}));
    CHECK(holds_exactly(index_add(xg::zeros({2, 2}), 1, I({1}), D({{1.}, {2.}})), {0, 1, 0, 2}));
    CHECK(holds_exactly(scatter_add(xg::zeros({3, 4}), 1, corners, D({{1., 2.}, {3., 4.}})),
        {1, 0, 0, 2, 0, 0, 7, 0, 0, 0, 0, 0}));
    D const sums = index_add(xg::zeros({2}), 0, I({0, 1, 1, 0}), D({1., 2., 3., 4.}));
    CHECK(holds_exactly(sums, {5, 5}));
}

TEST_CASE("what is picked and what is added has first and second derivatives, real and complex") {
    auto const check = [&]<class T>(std::type_identity<T>) {
        CHECK(differentiates(function_of<T>([](auto a) {
            return index_select(a, 1, I({2, 0, 2})) * index_select(a, 1, I({1, 1, 0}));
        }),
            point<T>({2, 3})));
        CHECK(differentiates(function_of<T>([](auto a) {
            return gather(a, 1, corners) * gather(a, 0, I({{0, 1}, {1, 1}}));
        }),
            point<T>({2, 4})));
        CHECK(differentiates(function_of<T>([](auto a) {
            return index_add(a * a, 0, I({1, 1}), a * a * a);
        }),
            point<T>({2, 3})));
        CHECK(differentiates(function_of<T>([](auto a) {
            return scatter_add(a * a, 1, I({{1, 1, 0}, {2, 2, 2}}), a * a * a);
        }),
            point<T>({2, 3})));
    };
    check(std::type_identity<double>());
    check(std::type_identity<cd>());
}

TEST_CASE("a gradient is added where a sum has begun, and where none has") {
    for (bool const begun : {false, true}) {
        D a = x.clone();
        a.requires_grad_();
        D square;
        if (!begun) square = a * a; // what is recorded last has its gradient first
        D const elements = gather(a, 1, corners), columns = index_select(a, 1, I({0, 0}));
        if (begun) square = a * a;
        D(sum(elements * 2.) + sum(columns) + sum(square)).backward();
        D want = scatter_add(2. * x, 1, corners, xg::full({2, 2}, 2.));
        want(xg::slice(), 0) = want(xg::slice(), 0) + 2.;
        CHECK(holds_exactly(a.grad(), Wanted(want)));
    }
}

TEST_CASE("the numbers may change after they were used") {
    D a = x.clone();
    a.requires_grad_();
    I index({1, 1}), places({{3}, {0}});
    D const y = sum(index_select(a, 0, index)) + sum(gather(a, 1, places));
    index.fill_(0);
    places.fill_(1);
    y.backward();
    CHECK(holds_exactly(a.grad(), {0, 0, 0, 1, 3, 2, 2, 2, 0, 0, 0, 0}));
}

TEST_CASE("tangents go forward through what is picked") {
    auto const [y, t] =
        xg::jvp([](D const& a) { return D(gather(a, 1, corners) * 2.); }, x, D(x * x));
    CHECK(holds_exactly(t, {0, 18, 72, 72}));
}

TEST_CASE("numbers out of bounds and shapes that do not fit say so") {
    CHECK_THROWS_WITH_AS(index_select(x, 0, I({0, 3})),
        "index_select: index 3 is out of bounds for axis 0 with extent 3", xg::IndexError);
    CHECK_THROWS_WITH_AS(gather(x, 1, I({{-1}})),
        "gather: index -1 is out of bounds for axis 1 with extent 4", xg::IndexError);
    CHECK_THROWS_WITH_AS(gather(x, 2, corners),
        "gather: axis 2 is out of range for an array with 2 dimensions, of shape [3, 4]",
        xg::IndexError);
    CHECK_THROWS_WITH_AS(index_select(x, 0, corners),
        "index_select: the index is a vector, not an array of shape [2, 2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(gather(x, 1, I({0, 1})),
        "gather: an index of shape [2] does not fit shape [3, 4]: it needs as many axes, none "
        "longer but axis 1",
        xg::ShapeError);
    CHECK_THROWS_AS(gather(x, 1, xg::zeros<std::int64_t>({4, 1})), xg::ShapeError);
    CHECK_THROWS_WITH_AS(scatter_add(x, 1, corners, D({1., 2.})),
        "scatter_add: what is added to the selected parts of shape [3, 4] has shape [2, 2], not "
        "[2]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(index_add(x, 0, I({1}), D({1., 2.})),
        "index_add: what is added to the selected parts of shape [3, 4] has shape [1, 4], not [2]",
        xg::ShapeError);
}
