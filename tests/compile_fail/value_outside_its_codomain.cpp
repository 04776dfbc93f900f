// expect: value_leaves_codomain_of<\s*Positive
#include <xgrad/xgrad.hpp>

struct Positive : xgrad::Elementwise<xgrad::R(xgrad::R)> {
#ifdef MISTAKE
    auto value(auto x) const { return x > 0; }
#else
    auto value(auto x) const { return where(x > 0, x, 0); }
#endif
    auto partial(xgrad::wrt<0>, auto, auto x) const { return where(x > 0, 1., 0.); }
};

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    return xgrad::Tensor<double>(xgrad::apply<Positive>(x)).dim() != 1;
}
