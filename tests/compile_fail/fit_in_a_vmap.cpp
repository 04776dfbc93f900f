// expect: vmap: in the place of vjp\(f\)\(x\) and linearize\(\) write vjp\(f, x, v\) and jvp\(f, x, v\); a function with a solver is looped\(f\)
#include <xgrad/least_squares.hpp>
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& a) {
        return xgrad::least_squares([](auto const& y) { return y * y - 2.; }, a).x;
    };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
#else
    xgrad::Tensor<double> const y = xgrad::vmap(xgrad::looped(f))(x);
#endif
}
