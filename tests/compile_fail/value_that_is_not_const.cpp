// expect: has_no_const_value_for<\s*Twice
#include <xgrad/xgrad.hpp>

struct Twice : xgrad::Elementwise<xgrad::R(xgrad::R)> {
#ifdef MISTAKE
    auto value(auto x) { return 2 * x; }
#else
    auto value(auto x) const { return 2 * x; }
#endif
    auto partial(xgrad::wrt<0>, auto, auto) const { return 2.; }
};

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    return xgrad::Tensor<double>(xgrad::apply<Twice>(x)).dim() != 1;
}
