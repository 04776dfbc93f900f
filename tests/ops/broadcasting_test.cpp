// Every pair of small shapes, and some large ones at the edges of tiles: value and both gradients
// against plain loops.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

std::vector<xg::Shape> shapes_up_to_rank(
    std::size_t rank, std::vector<std::size_t> const& extents) {
    std::vector<xg::Shape> all{xg::Shape{}};
    for (std::size_t from = 0, r = 0; r < rank; ++r)
        for (auto const to = all.size(); from < to; ++from)
            for (auto const n : extents) {
                auto s = all[from];
                s.push_back(n);
                all.push_back(s);
            }
    return all;
}

/// The common shape by NumPy's rules; false where there is none.
bool common(xg::Shape const& a, xg::Shape const& b, xg::Shape& out) {
    out = a.size() > b.size() ? a : b;
    for (std::size_t i = 1; i <= out.size(); ++i) {
        auto const p = i <= a.size() ? a[a.size() - i] : 1, q = i <= b.size() ? b[b.size() - i] : 1;
        if (p != q && p != 1 && q != 1) return false;
        out[out.size() - i] = p == 1 ? q : p;
    }
    return true;
}

/// The place in an array of shape `s` of the element that stands at place `at` of the common shape.
std::size_t place(std::size_t at, xg::Shape const& space, xg::Shape const& s) {
    std::size_t k = 0, step = 1;
    for (std::size_t i = 1; i <= space.size(); ++i) {
        auto const index = at % space[space.size() - i];
        at /= space[space.size() - i];
        if (i > s.size()) continue;
        if (s[s.size() - i] != 1) k += index * step;
        step *= s[s.size() - i];
    }
    return k;
}

auto const product = function_of<double, double>([](auto a, auto b) { return a * b - b; });

CheckResult broadcasts(xg::Shape const& a, xg::Shape const& b, bool strided) {
    xg::Shape space;
    if (!common(a, b, space)) return {"no common shape"};
    Point const at{sample(xg::DType::float64, a, 1), sample(xg::DType::float64, b, 2)};
    auto const w = sample(xg::DType::float64, space, 3);
    std::vector<cd> y, ga(at[0].numbers.size()), gb(at[1].numbers.size());
    for (std::size_t k = 0; k < w.numbers.size(); ++k) {
        auto const i = place(k, space, a), j = place(k, space, b);
        cd const p = at[0].numbers[i], q = at[1].numbers[j];
        y.push_back(p * q - q);
        ga[i] += w.numbers[k] * q;
        gb[j] += w.numbers[k] * (p - 1.);
    }
    auto const got = value_of(product, at);
    auto const g = first_order(product, at, w, false, strided);
    if (got.shape != space) return {"shape " + text(got.shape)};
    if (auto const wrong = holds(got.numbers, y); !wrong) return {"value: " + wrong.wrong};
    if (auto const wrong = holds(g[0].numbers, ga); !wrong)
        return {"gradient of a: " + wrong.wrong};
    if (auto const wrong = holds(g[1].numbers, gb); !wrong)
        return {"gradient of b: " + wrong.wrong};
    return {};
}

} // namespace

TEST_CASE("every pair of shapes up to rank 3 broadcasts as in NumPy, or says that it does not") {
    auto const shapes = shapes_up_to_rank(3, {0, 1, 2, 3});
    CHECK(shapes.size() == 85);
    std::size_t fitting = 0;
    for (auto const& a : shapes)
        for (auto const& b : shapes) {
            xg::Shape space;
            INFO(text(a) << " and " << text(b));
            if (common(a, b, space)) {
                ++fitting;
                CHECK(broadcasts(a, b, (fitting & 1) != 0));
            } else
                CHECK(has(message_of<xg::ShapeError>([&] {
                    product({xg::zeros(a), xg::zeros(b)});
                }),
                    {text(a), text(b), "broadcast"}));
        }
    CHECK(fitting > 1000);
}

TEST_CASE("large shapes broadcast alike, on both sides of every limit of the tile loop") {
    for (std::size_t const n : {7u, 31u, 32u, 33u, 255u, 256u, 257u, 513u})
        for (auto const& [a, b] :
            std::vector<std::pair<xg::Shape, xg::Shape>>{{{3, n}, {n}}, {{n, 3}, {3}},
                {{n, 1}, {1, n}}, {{n}, {3, 1}}, {{2, n, 3}, {n, 1}}, {{2, 1, n}, {3, 1}},
                {{3, n}, {}}, {{n}, {1}}, {{1, n}, {n, 1}}, {{2, 3, n}, {2, 1, n}}})
            for (bool const strided : {false, true}) {
                INFO(text(a) << " and " << text(b));
                CHECK(broadcasts(a, b, strided));
                CHECK(broadcasts(b, a, strided));
            }
}

TEST_CASE("ranks beyond what a shape holds in place broadcast too") {
    CHECK(broadcasts({2, 1, 2, 1, 2, 3}, {2, 1, 2, 1, 3}, false));
    CHECK(broadcasts({1, 2, 1, 2, 1, 2, 1}, {2, 1, 2, 1, 2, 1, 2}, true));
}

TEST_CASE("three operands of three shapes get their own gradients") {
    auto const f = function_of<double, double, double>(
        [](auto a, auto b, auto c) { return a * b + sin(c) * a; });
    for (auto const& [a, b, c] : std::vector<std::tuple<xg::Shape, xg::Shape, xg::Shape>>{
             {{2, 3}, {3}, {}}, {{2, 1}, {1, 3}, {2, 3}}, {{4}, {3, 1}, {2, 1, 1}},
             {{}, {1}, {1, 1}}, {{1, 40}, {3, 1}, {40}}})
        CHECK(differentiates(f, {sample(xg::DType::float64, a, 1), sample(xg::DType::float64, b, 2),
                                    sample(xg::DType::float64, c, 3)}));
}

TEST_CASE("the gradient of a broadcast operand sums many numbers without piling up errors") {
    std::size_t const n = 1'000'000;
    auto const x = leaf_of<float>({xg::DType::float32, {}, {0.1f}});
    auto const row = leaf_of<float>({xg::DType::float32, {10}, std::vector<cd>(10, 0.1f)});
    auto const ones = xg::ones<float>({n / 10, 10});
    xg::Tensor<float> const y = x * ones + row;
    auto const [gx, g_row] =
        xg::grad(y, xg::inputs(x, row), {.gradients = {xg::full<float>({n / 10, 10}, 0.1f)}});
    CHECK(holds(gx, {0.1f * double(n)}, 1e-7));
    CHECK(holds(g_row, std::vector<double>(10, 0.1f * double(n) / 10), 1e-7));
}
