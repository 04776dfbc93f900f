// expect: Tensor post accumulate grad hooks should return nothing
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
#ifdef MISTAKE
    x.register_post_accumulate_grad_hook(
        [](xgrad::Tensor<double> const& leaf) { return leaf.grad(); });
#else
    x.register_post_accumulate_grad_hook([](xgrad::Tensor<double> const&) {});
#endif
}
