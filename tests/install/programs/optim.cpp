#include <xgrad/optim.hpp>

#include <cmath>

int main() {
    xgrad::Tensor<double> x({3.}, xgrad::requires_grad);
    xgrad::optim::SGD descent({x}, {.lr = 0.25});
    xgrad::optim::Adam({x}, {.lr = 0.25}).zero_grad();
    xgrad::Tensor<double> y = sum(x * x);
    y.backward();
    descent.step();
    return std::abs(x(0).item() - 1.5) < 1e-12 ? 0 : 1; // 3 - 0.25 * 2 * 3
}
