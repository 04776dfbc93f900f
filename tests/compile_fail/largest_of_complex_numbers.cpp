// expect: complex numbers have no order
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({std::complex<double>(1, 2)});
#ifdef MISTAKE
    return amax(z).dim() != 0;
#else
    return amax(abs(z)).dim() != 0;
#endif
}
