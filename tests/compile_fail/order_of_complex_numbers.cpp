// expect: complex numbers have no order: take abs\(z\) or real\(z\)
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({std::complex<double>(1, 2)});
#ifdef MISTAKE
    xgrad::Tensor<bool> const mask = z < z;
#else
    xgrad::Tensor<bool> const mask = abs2(z) < abs2(z);
#endif
    return mask.dim() != 1;
}
