// expect: deleted function.*no_such_option_or_wrong_arguments.*root
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.}), a(2.), b(3.);
    auto const f = [](auto const& y, auto const& p, auto const& q) { return y * y - p * q; };
#ifdef MISTAKE
    xgrad::root(f, x, a, b);
#else
    xgrad::root(f, x, xgrad::inputs(a, b));
#endif
}
