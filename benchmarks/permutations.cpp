// One expression over one set of extents, whose axes are permuted in all operands alike. A row is
// one order of the axes beside the others; the ratio says what that order costs.
#include <benchmark/benchmark.h>

#include "table.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

/// An order of the axes: the value and both gradients, for a of all extents and b of some.
struct Order {
    std::string name;
    std::function<double()> run;
};

std::string text(xg::Shape const& shape) {
    std::string t = "(";
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (d > 0) t += ',';
        t += std::to_string(shape[d]);
    }
    return t += ')';
}

/// `broadcast`: along which axes b has extent 1.
void permute(xg::Shape const& extents, std::vector<bool> const& broadcast) {
    std::vector<std::size_t> axes(extents.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::vector<Order> orders;
    do {
        xg::Shape all, some;
        for (auto const axis : axes) {
            all.push_back(extents[axis]);
            some.push_back(broadcast[axis] ? 1 : extents[axis]);
        }
        xg::Tensor<double> a = xg::rand(all).requires_grad_(), b = xg::rand(some).requires_grad_();
        orders.push_back({text(all) + " * " + text(some), [=]() mutable {
                              a.zero_grad();
                              b.zero_grad();
                              auto const loss = sum(a * b + 0.5 * a - b / (a + 2.));
                              loss.backward();
                              return loss.item();
                          }});
    } while (std::next_permutation(axes.begin(), axes.end()));
    for (auto const& order : orders) {
        bench::Case row(order.name, xg::numel(extents));
        row.xgrad(order.run).at_most(1.5);
        for (auto const& other : orders)
            if (&other != &order) row.peer(other.name, other.run);
    }
}

int main(int argc, char** argv) {
    for (bool const last : {false, true}) {
        permute({200, 200, 3}, {false, false, !last});
        permute({200, 200, 3}, {!last, true, last});
        permute({64, 64}, {!last, last});
        permute({1000, 3}, {!last, last});
        permute({5, 1000, 3}, {true, false, !last});
        permute({5, 1000, 3}, {false, !last, last});
    }
    return bench::run(argc, argv);
}
