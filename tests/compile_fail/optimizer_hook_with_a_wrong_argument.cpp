// expect: a hook of an optimizer takes an Optimizer&
#include <xgrad/optim.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.}, xgrad::requires_grad);
    xgrad::optim::SGD sgd(std::vector<xgrad::AnyTensor>{x}, {.lr = 0.1});
#ifdef MISTAKE
    sgd.register_step_pre_hook([](int) {});
#else
    sgd.register_step_pre_hook([](xgrad::optim::Optimizer&) {});
#endif
}
