// expect: (?s)error: .*write Tensor<double> x\(3\.\), not x = 3\.
#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::Tensor<double> const x = 3.;
#else
    xgrad::Tensor<double> const x(3.);
#endif
    return x.dim() != 0;
}
