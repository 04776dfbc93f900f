// expect: with xgrad::all the hook takes all gradients
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad), w({1., 2.}, xgrad::requires_grad);
#ifdef MISTAKE
    xgrad::register_multi_grad_hook({x, w}, [](xgrad::AnyTensor const&) {});
#else
    xgrad::register_multi_grad_hook({x, w}, [](std::vector<xgrad::AnyTensor> const&) {});
#endif
}
