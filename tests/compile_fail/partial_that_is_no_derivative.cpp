// expect: partial_is_no_derivative<\s*Step
#include <xgrad/xgrad.hpp>

struct Step : xgrad::Elementwise<xgrad::R(xgrad::R)> {
    auto value(auto x) const { return where(x > 0, x, 0); }
#ifdef MISTAKE
    auto partial(xgrad::wrt<0>, auto, auto x) const { return x > 0; }
#else
    auto partial(xgrad::wrt<0>, auto, auto x) const { return where(x > 0, 1., 0.); }
#endif
};

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    return xgrad::Tensor<double>(xgrad::apply<Step>(x)).dim() != 1;
}
