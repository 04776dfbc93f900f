// Operands that are the same for a whole tile, or in every row: what is found once for them, and
// gradients that are summed where the kernel writes. Values and gradients against plain loops.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

/// Spaces of two axes whose rows, and whose number of elements, lie on either side of a tile, of
/// half a tile and of some tiles.
xg::Shape const spaces[] = {{1, 1}, {1, 5}, {3, 7}, {5, 64}, {3, 130}, {2, 300}, {70, 60},
    {90, 257}, {600, 8}, {1, 9000}, {9000, 1}, {130, 3}, {90, 10}, {50, 17}, {40, 33}, {20, 100},
    {11, 127}};

std::vector<xg::Shape> repeated(xg::Shape const& space) {
    return {{}, {1, 1}, {space[1]}, {space[0], 1}};
}

std::size_t place(std::size_t at, xg::Shape const& space, xg::Shape const& s) {
    std::size_t const row = at / space[1], column = at % space[1];
    if (s.size() == 1) return s[0] == 1 ? 0 : column;
    if (s.empty()) return 0;
    return (s[0] == 1 ? 0 : row) * s[1] + (s[1] == 1 ? 0 : column);
}

template <class T> void check_repeated(double tolerance) {
    auto const f =
        function_of<T, T>([](auto x, auto s) { return log(s) * x + exp(-s) / (x + 3.) + x / s; });
    auto const total = function_of<T, T>(
        [](auto x, auto s) { return sum(log(s) * x + exp(-s) / (x + 3.) + x / s); });
    auto const kept = [](cd z) { return xg::RealScalar<T> ? cd(z.real()) : z; };
    for (auto const& space : spaces)
        for (auto const& shape : repeated(space)) {
            INFO(text(space) << " with " << text(shape));
            Point const at{sample(xg::dtype_of<T>, space, 1, 0.5, 2),
                sample(xg::dtype_of<T>, shape, 2, 0.5, 2)};
            auto const w = sample(xg::dtype_of<T>, space, 3);
            std::size_t const n = at[0].numbers.size();
            std::vector<cd> y(n), gx(n), total_gx(n), gs(at[1].numbers.size()), total_gs(gs.size());
            cd sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
                cd const x = at[0].numbers[i], s = at[1].numbers[place(i, space, shape)];
                sum += y[i] = std::log(s) * x + std::exp(-s) / (x + 3.) + x / s;
                cd const dx =
                             std::conj(std::log(s) - std::exp(-s) / ((x + 3.) * (x + 3.)) + 1. / s),
                         ds = std::conj(x / s - std::exp(-s) / (x + 3.) - x / (s * s));
                gx[i] = kept(w.numbers[i] * dx);
                total_gx[i] = kept(dx);
                gs[place(i, space, shape)] += kept(w.numbers[i] * ds);
                total_gs[place(i, space, shape)] += kept(ds);
            }
            CHECK(holds(value_of(f, at).numbers, y, tolerance));
            auto const g = first_order(f, at, w);
            CHECK(holds(g[0].numbers, gx, tolerance));
            CHECK(holds(g[1].numbers, gs, tolerance * 100));
            CHECK(holds(value_of(total, at).numbers, {sum}, tolerance * 100));
            auto const h = first_order(total, at, {xg::dtype_of<T>, {}, {1.}});
            CHECK(holds(h[0].numbers, total_gx, tolerance));
            CHECK(holds(h[1].numbers, total_gs, tolerance * 100));
        }
}

} // namespace

TEST_CASE("functions of a repeated operand have the values and gradients of plain loops") {
    check_repeated<double>(1e-12);
}
TEST_CASE("functions of a repeated operand in single precision") { check_repeated<float>(1e-5); }
TEST_CASE("functions of a repeated complex operand") { check_repeated<cd>(1e-12); }

TEST_CASE("a repeated operand at several places gets one gradient") {
    auto const f =
        function_of<double, double>([](auto x, auto s) { return exp(s) * x + s * x * x - s / x; });
    for (auto const& [space, shape] : std::vector<std::pair<xg::Shape, xg::Shape>>{{{40}, {}},
             {{3, 200}, {200}}, {{30, 20}, {20}}, {{3, 200}, {3, 1}}, {{3, 20, 13}, {20, 1}},
             {{3, 20, 13}, {3, 20, 1}}, {{3, 20, 13}, {3, 1, 13}}})
        CHECK(differentiates(f, {sample(xg::DType::float64, space, 1, 0.5, 2),
                                    sample(xg::DType::float64, shape, 2, -1, 1)}));
}

TEST_CASE(
    "of many repeated operands each gets its gradient") // more than a kernel keeps in registers
{
    auto const f = function_of<double, double, double, double>([](auto a, auto b, auto c, auto d) {
        return a * b * c * d + a * sin(b) + exp(c) * d + a / d;
    });
    CHECK(differentiates(
        f, {sample(xg::DType::float64, {30, 20}, 1), sample(xg::DType::float64, {}, 2),
               sample(xg::DType::float64, {20}, 3), sample(xg::DType::float64, {30, 1}, 4, 1, 2)}));
}
