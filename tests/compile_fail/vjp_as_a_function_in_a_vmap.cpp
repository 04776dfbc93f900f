// expect: vmap: in the place of vjp\(f\)\(x\) and linearize\(\) write vjp\(f, x, v\)
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., 2.}});
    auto const f = [](auto const& each) { return sin(each); };
#ifdef MISTAKE
    xgrad::vmap([&](auto const& each) { return xgrad::vjp(f)(each).second(each); })(x);
#else
    xgrad::vmap([&](auto const& each) { return xgrad::vjp(f, each, each).second; })(x);
#endif
}
