// expect: a hook takes the gradient as a Tensor const& of this tensor's scalar type
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
#ifdef MISTAKE
    x.register_hook([](xgrad::Tensor<double> const&, int) {});
#else
    x.register_hook([](xgrad::Tensor<double> const&) {});
#endif
}
