// expect: the first argument is a function, and not a tensor: write \[&\]\(auto const& x\)
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    auto const h = xgrad::hessian(x, x);
#else
    xgrad::hessian([&](auto const& y) { return sum(x * y * y); }, x);
#endif
}
