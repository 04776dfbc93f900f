// expect: vmap: no argument has an axis of examples
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    auto const f = [](auto const& v) { return sum(v); };
#ifdef MISTAKE
    xgrad::vmap<xgrad::unmapped>(f)(x);
#else
    xgrad::vmap<1>(f)(x);
#endif
}
