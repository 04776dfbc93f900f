// expect: has_an_empty_domain<\s*Twice
#include <xgrad/xgrad.hpp>

#ifdef MISTAKE
struct Twice : xgrad::Elementwise<> {
#else
struct Twice : xgrad::Elementwise<xgrad::R(xgrad::R)> {
#endif
    auto value(auto x) const { return 2 * x; }
    auto partial(xgrad::wrt<0>, auto, auto) const { return 2.; }
};

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    return xgrad::Tensor<double>(xgrad::apply<Twice>(x)).dim() != 1;
}
