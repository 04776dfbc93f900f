#include <xgrad/nn.hpp>

#include <cmath>

namespace nn = xgrad::nn;

int main() {
    nn::Sequential net(nn::Linear<double>(2, 3), nn::Tanh(), nn::Linear<double>(3, 1));
    xgrad::Tensor<double> x({{1., 2.}}, xgrad::requires_grad);
    xgrad::Tensor<double> y = sum(net(x));
    y.backward();
    return net.parameters().size() == 4 && std::isfinite(x.grad()(0, 1).item()) ? 0 : 1;
}
