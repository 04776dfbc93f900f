#include <xgrad/xgrad.hpp>

double second(double at);

double second(double at) {
    xgrad::Tensor<double> x({at}, xgrad::requires_grad);
    xgrad::Tensor<double> y = sum(x * x);
    y.backward();
    return x.grad().array()(0);
}
