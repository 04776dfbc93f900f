// expect: complex numbers have no order
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({std::complex<double>(1, 2)});
#ifdef MISTAKE
    return sort(z).values.dim() != 1;
#else
    return sort(abs(z)).values.dim() != 1;
#endif
}
