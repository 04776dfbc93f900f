// Derivatives by element: the symmetric Dirichlet energy of a flat triangle mesh, with its gradient
// and its Hessian in CSR, beside scalar numbers with full Hessians by hand.
#include <benchmark/benchmark.h>
#include <xgrad/sum_over.hpp>

#include "hand_written/second_order.hpp"
#include "table.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Index = xg::Tensor<std::int64_t>;

/// Smith and Schaefer, "Bijective parameterization with free boundaries", 2015. The rest has the
/// inverse of the edges, and the area.
template <class Corners, class Rest> auto dirichlet(Corners const& corners, Rest const& rest) {
    auto const& [a, b, c] = corners;
    auto const ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
    auto const j00 = ux * rest(0) + vx * rest(2), j01 = ux * rest(1) + vx * rest(3),
               j10 = uy * rest(0) + vy * rest(2), j11 = uy * rest(1) + vy * rest(3);
    auto const det = j00 * j11 - j01 * j10;
    auto const norm = j00 * j00 + j01 * j01 + j10 * j10 + j11 * j11;
    return rest(4) * (norm + norm / (det * det));
}
auto const energy = [](auto const& corners, auto const& rest) { return dirichlet(corners, rest); };

struct Mesh {
    Real x, rest;
    Index index;
    std::size_t elements;

    /// `side` squares along each side, each of two triangles, moved a little.
    explicit Mesh(std::size_t side)
        : x(xg::zeros<double>({(side + 1) * (side + 1), 2})),
          rest(xg::zeros<double>({2 * side * side, 5})),
          index(xg::zeros<std::int64_t>({2 * side * side, 3})), elements(2 * side * side) {
        auto* const at = x.mutable_data();
        auto* const corner = index.mutable_data();
        for (std::size_t i = 0; i <= side; ++i)
            for (std::size_t j = 0; j <= side; ++j) {
                auto const v = i * (side + 1) + j;
                at[2 * v] = static_cast<double>(j) + 0.2 * std::sin(static_cast<double>(7 * v));
                at[2 * v + 1] = static_cast<double>(i) + 0.2 * std::cos(static_cast<double>(5 * v));
            }
        for (std::size_t e = 0; e < elements; ++e) {
            auto const v = static_cast<std::int64_t>(e / 2 / side * (side + 1) + e / 2 % side),
                       row = static_cast<std::int64_t>(side) + 1;
            std::int64_t const lower[] = {v, v + 1, v + row},
                               upper[] = {v + 1 + row, v + row, v + 1};
            std::copy_n(e % 2 ? upper : lower, 3, corner + 3 * e);
            double const sign = e % 2 ? -1 : 1, numbers[] = {sign, 0, 0, sign, 0.5};
            std::copy_n(numbers, 5, rest.mutable_data() + 5 * e);
        }
    }
};

/// The same by hand, into the same pattern: each element knows where its entries go.
struct ByHand {
    Mesh mesh;
    std::vector<int> slots;
    std::vector<double> gradient, hessian;

    ByHand(Mesh const& m, xg::SparsePattern const& pattern)
        : mesh(m), gradient(static_cast<std::size_t>(pattern.rows())),
          hessian(static_cast<std::size_t>(pattern.nonzeros())) {
        for (std::size_t e = 0; e < mesh.elements; ++e)
            for (std::size_t i = 0; i < 6; ++i)
                for (std::size_t j = 0; j < 6; ++j) {
                    auto const row = pattern.row(number(e, i));
                    slots.push_back(pattern.outer()[number(e, i)] +
                                    static_cast<int>(std::lower_bound(row.begin(), row.end(),
                                                         static_cast<int>(number(e, j))) -
                                                     row.begin()));
                }
    }
    std::size_t number(std::size_t e, std::size_t i) const {
        return static_cast<std::size_t>(mesh.index.data()[3 * e + i / 2]) * 2 + i % 2;
    }
    double operator()() {
        using Number = hand::SecondOrder<6>;
        std::fill(gradient.begin(), gradient.end(), 0.);
        std::fill(hessian.begin(), hessian.end(), 0.);
        double value = 0;
        int const* slot = slots.data();
        for (std::size_t e = 0; e < mesh.elements; ++e) {
            std::array<std::array<Number, 2>, 3> corners;
            for (std::size_t i = 0; i < 6; ++i)
                corners[i / 2][i % 2] = Number::variable(mesh.x.data()[number(e, i)], i);
            Number const y = dirichlet(
                corners, [rest = mesh.rest.data() + 5 * e](std::size_t i) { return rest[i]; });
            value += y.value;
            for (std::size_t i = 0; i < 6; ++i) {
                gradient[number(e, i)] += y.gradient[i];
                for (std::size_t j = 0; j < 6; ++j)
                    hessian[static_cast<std::size_t>(*slot++)] += y.hessian[i][j];
            }
        }
        return value;
    }
};

void check(char const* what, double by_xgrad, double by_hand) {
    if (std::abs(by_xgrad - by_hand) <= 1e-10 * (1 + std::abs(by_hand))) return;
    std::fprintf(stderr, "%s: xgrad has %.17g, by hand it is %.17g\n", what, by_xgrad, by_hand);
    std::exit(1);
}

template <class Sum> void measure(std::string const& name, Mesh const& mesh, Sum sum, double goal) {
    auto first = sum.at(mesh.x);
    auto const h = first.hessian();
    ByHand by_hand(mesh, h.pattern());
    check("value", first.value().item(), by_hand());
    for (std::size_t i = 0; i < by_hand.gradient.size(); ++i)
        check("gradient", first.gradient().data()[i], by_hand.gradient[i]);
    for (std::size_t i = 0; i < by_hand.hessian.size(); ++i)
        check("Hessian", h.data()[i], by_hand.hessian[i]);
    bench::Case(name, mesh.elements)
        .peer("hand, full Hessians", by_hand)
        .xgrad([sum, x = mesh.x] {
            auto now = sum.at(x);
            return now.hessian().data()[0] + now.gradient().data()[0];
        })
        .at_most(goal);
}

int main(int argc, char** argv) {
    for (std::size_t const side : {16u, 70u}) {
        Mesh const mesh(side);
        measure("sum_over, symmetric Dirichlet: value, gradient, Hessian", mesh,
            xg::sum_over<3, 2>(energy, mesh.x, mesh.index, mesh.rest), 0.25);
        measure("the same, with_branches", mesh,
            xg::sum_over<3, 2>(xg::with_branches, energy, mesh.x, mesh.index, mesh.rest), 1);
    }
    return bench::run(argc, argv);
}
