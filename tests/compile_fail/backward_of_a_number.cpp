// expect: backward: a gradient is a Tensor of this tensor's scalar type, such as Tensor<double>\(2\.\)
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
    xgrad::Tensor<double> y = sum(x * x);
#ifdef MISTAKE
    y.backward(2);
#else
    y.backward(xgrad::Tensor<double>(2.));
#endif
}
