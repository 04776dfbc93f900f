// vmap() beside a loop over the examples: a function of a vector, its gradient and its Hessian, for
// 1,000 vectors.
#include <benchmark/benchmark.h>
#include <xgrad/vmap.hpp>

#include <vector>

#include "table.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;

/// A row of f, which is generic, for all rows of x.
template <class F> void row(char const* name, F f, Real const& x) {
    auto const all = [=] { return Real(xg::vmap(f)(x)); };
    auto const loop = [=] {
        std::vector<Real> each;
        for (std::size_t i = 0; i < x.shape()[0]; ++i)
            each.push_back(f(Real(x(static_cast<std::ptrdiff_t>(i)))));
        return xg::stack(each);
    };
    Real const a = all(), b = loop();
    bench::agree(name, a.data(), b.data(), b.numel());
    bench::Case(name, x.shape()[0])
        .peer("loop", [=] { return loop().data()[0]; })
        .xgrad([=] { return all().data()[0]; })
        .at_most(0.5);
}

int main(int argc, char** argv) {
    Real const w = Real(xg::randn({8, 8})), x = Real(xg::randn({1000, 8}));
    auto const f = [w](auto const& v) { return sum(tanh(matmul(w, v)) * v) / (1. + norm(v)); };
    row(
        "vmap: value", [f](auto const& v) { return eval(f(v)); }, x);
    row("vmap: gradient", xg::grad(f), x);
    row("vmap: Hessian", xg::hessian(f), x);
    return bench::run(argc, argv);
}
