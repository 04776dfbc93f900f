// expect: a bool does not say what it turns on; write xg::requires_grad
#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::Tensor<double> x({1., 2.}, true);
#else
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
#endif
    return x.dim() != 1;
}
