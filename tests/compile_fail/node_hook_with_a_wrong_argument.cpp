// expect: a Node's hook takes the gradients of its inputs and those of its outputs
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
    xgrad::Tensor<double> y = x * x;
    using Gradients = std::vector<xgrad::AnyTensor>;
#ifdef MISTAKE
    y.grad_fn()->register_hook([](Gradients const&) {});
#else
    y.grad_fn()->register_hook([](Gradients const&, Gradients const&) {});
#endif
}
