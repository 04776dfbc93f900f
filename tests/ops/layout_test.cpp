// Operands that are not contiguous: transposed, sliced, repeated, at odd addresses. An operation
// must compute from them what it computes from a contiguous copy, in value and both derivatives.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;

struct View {
    char const* name;
    xg::Shape from;
    D (*of)(D const&);
};
/// Each makes a 3 x 4 matrix.
View const views[] = {
    {"itself", {3, 4}, [](D const& x) { return x; }},
    {"transposed", {4, 3}, [](D const& x) { return transpose(x); }},
    {"every second column", {3, 8}, [](D const& x) { return x(xt::all(), xg::slice({}, {}, 2)); }},
    {"rows and columns from the middle", {5, 7},
        [](D const& x) { return x(xg::slice(1, -1), xg::slice(2, 6)); }},
    {"every third row, transposed", {4, 9},
        [](D const& x) { return transpose(x)(xg::slice(1, {}, 3)); }},
    {"a repeated row", {4},
        [](D const& x) {
            return broadcast_to(x, {3, 4});
        }},
    {"a repeated column", {3, 1},
        [](D const& x) {
            return broadcast_to(x, {3, 4});
        }},
    {"a repeated number", {},
        [](D const& x) {
            return broadcast_to(x, {3, 4});
        }},
    {"a slab of a permuted cube", {4, 2, 3},
        [](D const& x) {
            return permute(x, {2, 1, 0})(xt::all(), 1);
        }},
    {"a row with an axis put in front, repeated", {2, 4},
        [](D const& x) {
            return broadcast_to(x(1, xt::newaxis()), {3, 4});
        }},
};

/// f of views against f of copies of them.
template <class F> void check_views(F f) {
    for (auto const& a : views)
        for (auto const& b : views) {
            INFO(std::string(a.name) << ", and " << std::string(b.name));
            auto const seen =
                function_of<double, double>([=](auto x, auto y) { return f(a.of(x), b.of(y)); });
            auto const copied = function_of<double, double>(
                [=](auto x, auto y) { return f(a.of(x).clone(), b.of(y).clone()); });
            CHECK(agrees_with(seen, copied,
                {sample(xg::DType::float64, a.from, 1, 0.25, 2),
                    sample(xg::DType::float64, b.from, 2)}));
        }
}

} // namespace

TEST_CASE("elementwise operations do not mind how their operands lie") {
    check_views([](D const& a, D const& b) -> D { return a * b + exp(a); });
}

TEST_CASE("sums, products and extrema do not mind how their operands lie") {
    check_views(
        [](D const& a, D const& b) -> D { return sum(a * b, {0}) + prod(a, {0}) + sum(a, {-2}); });
    check_views(
        [](D const& a, D const& b) -> D { return amax(a + b, {1}) - amin(b, {1}) + mean(a, {1}); });
}

TEST_CASE("products of matrices do not mind how their operands lie") {
    check_views([](D const& a, D const& b) -> D { return matmul(a, transpose(b)); });
}

TEST_CASE("shaping does not mind how its operand lies") {
    check_views([](D const& a, D const& b) -> D {
        return reshape(a, {2, 6}) * reshape(transpose(b), {2, 6});
    });
    check_views([](D const& a, D const& b) -> D {
        return xg::cat<double>({a, b, b}, 1)(xt::all(), xg::slice(1, 10, 2));
    });
}

TEST_CASE("long views, which are read in place row by row, give what their copies give") {
    for (std::size_t const n : {31u, 32u, 33u, 255u, 256u, 257u, 600u}) {
        auto const odd = function_of<double, double>(
            [](auto x, auto y) { return x(xg::slice(1), xg::slice(3, {})) * y + y; });
        auto const copied = function_of<double, double>(
            [](auto x, auto y) { return x(xg::slice(1), xg::slice(3, {})).clone() * y + y; });
        CHECK(agrees_with(odd, copied,
            {sample(xg::DType::float64, {4, n + 3}, 1), sample(xg::DType::float64, {3, n}, 2)}));
        CHECK(agrees_with(odd, copied,
            {sample(xg::DType::float64, {4, n + 3}, 1), sample(xg::DType::float64, {n}, 2)}));
        CHECK(agrees_with(odd, copied,
            {sample(xg::DType::float64, {4, n + 3}, 1), sample(xg::DType::float64, {3, 1}, 2)}));
    }
}

TEST_CASE("a gradient that arrives as a view is taken as it lies") {
    auto const x = leaf_of<double>(sample(xg::DType::float64, {3, 4}, 1)),
               y = leaf_of<double>(sample(xg::DType::float64, {3, 4}, 2));
    auto const seed = leaf_of<double>(sample(xg::DType::float64, {4, 3}, 3)).detach();
    D z = x * y;
    auto const [gx, gy] =
        xg::grad(z, xg::inputs(x, y), {.gradients = {transpose(seed)}, .retain_graph = true});
    auto const [hx, hy] = xg::grad(z, xg::inputs(x, y), {.gradients = {transpose(seed).clone()}});
    CHECK(holds_exactly(gx, hx));
    CHECK(holds_exactly(gy, hy));
    CHECK(holds_exactly(gx, D(transpose(seed) * y.detach())));
}
