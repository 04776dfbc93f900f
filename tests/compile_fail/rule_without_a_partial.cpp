// expect: has_no_partial<\s*Blend, *(xgrad::)?wrt<1>
#include <xgrad/xgrad.hpp>

/// a^2 b, with a derivative for one of its arguments only.
struct Blend : xgrad::Elementwise<xgrad::R(xgrad::R, xgrad::R)> {
    auto value(auto a, auto b) const { return a * a * b; }
    auto partial(xgrad::wrt<0>, auto, auto a, auto b) const { return 2 * a * b; }
#ifndef MISTAKE
    auto partial(xgrad::wrt<1>, auto, auto a, auto) const { return a * a; }
#endif
};

int main() {
    xgrad::Tensor<double> const a({1., 2.}), b({3., 4.});
    return xgrad::Tensor<double>(xgrad::apply<Blend>(a, b)).dim() != 1;
}
