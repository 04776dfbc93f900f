// expect: (?s)error: .*convert_by_cast_or_real_or_abs2
#include <xgrad/xgrad.hpp>

int main() {
    using Z = xgrad::Tensor<std::complex<double>>;
    Z const z({std::complex<double>(1, 2)});
#ifdef MISTAKE
    xgrad::Tensor<double> const y = sum(z * conj(z));
#else
    xgrad::Tensor<double> const y = sum(abs2(z));
#endif
    return y.item() != 5;
}
