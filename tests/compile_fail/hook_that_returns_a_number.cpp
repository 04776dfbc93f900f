// expect: a hook returns nothing, or the gradient to go on with: a tensor or an expression of this tensor's scalar type
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x(1., xgrad::requires_grad);
    int calls = 0;
#ifdef MISTAKE
    x.register_hook([&](auto const&) { return ++calls; });
#else
    x.register_hook([&](auto const&) { ++calls; });
#endif
}
