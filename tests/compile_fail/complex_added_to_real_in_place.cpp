// expect: the result type can't be cast to the type of the tensor that is changed
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.});
    xgrad::Tensor<std::complex<double>> const z(
        {std::complex<double>(1, 2), std::complex<double>(0, 1)});
#ifdef MISTAKE
    x += z;
#else
    x += abs2(z);
#endif
    return x.dim() != 1;
}
