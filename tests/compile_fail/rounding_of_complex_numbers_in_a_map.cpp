// expect: complex numbers have no order: take abs\(z\) or real\(z\)
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({1., 2.});
#ifdef MISTAKE
    xgrad::Tensor<std::complex<double>> const y = xgrad::map([](auto v) { return floor(v); }, z);
#else
    xgrad::Tensor<double> const y = xgrad::map([](auto v) { return floor(abs(v)); }, z);
#endif
}
