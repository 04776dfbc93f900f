// expect: vmap: a condition is true for some examples and false for others: write where\(condition, a, b\)
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    auto const f = [](auto const& v) {
#ifdef MISTAKE
        if (sum(v) < 0.) return -1. * v;
        return 1. * v;
#else
        return where(sum(v) < 0., -1. * v, v);
#endif
    };
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
}
