// expect: a hook returns nothing, or the gradient to go on with
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
#ifdef MISTAKE
    x.register_hook([](xgrad::Tensor<double> const&) { return std::string("gradient"); });
#else
    x.register_hook([](xgrad::Tensor<double> const& g) { return g; });
#endif
}
