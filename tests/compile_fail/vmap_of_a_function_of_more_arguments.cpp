// expect: vmap: the function cannot be called with these arguments
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    auto const f = [](auto const& a, auto const& b) { return a * b; };
#ifdef MISTAKE
    xgrad::vmap(f)(x);
#else
    xgrad::vmap(f)(x, x);
#endif
}
