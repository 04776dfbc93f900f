// expect: is_not_holomorphic_so_return_gradient<\s*SquaredModulus
#include <xgrad/xgrad.hpp>

struct SquaredModulus : xgrad::Elementwise<xgrad::R(xgrad::C)> {
    auto value(auto z) const { return abs2(z); }
#ifdef MISTAKE
    auto partial(xgrad::wrt<0>, auto, auto z) const { return 2 * z; }
#else
    auto partial(xgrad::wrt<0>, auto, auto z) const { return xgrad::gradient{2 * z}; }
#endif
};

int main() {
    xgrad::Tensor<std::complex<double>> const z({std::complex<double>(1, 2)});
    return xgrad::Tensor<double>(xgrad::apply<SquaredModulus>(z)).dim() != 1;
}
