// expect: take real\(\), imag\(\) or abs\(\) of a complex tensor to make a real one
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({std::complex<double>(1, 2)});
#ifdef MISTAKE
    return xgrad::cast<double>(z).dim() != 1;
#else
    return xgrad::cast<float>(real(z)).dim() != 1;
#endif
}
