// expect: deleted function.*no_such_option_or_wrong_arguments.*grad
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.}, xgrad::requires_grad);
#ifdef MISTAKE
    xgrad::grad(sum(x * x), x, {.create_graf = true});
#else
    xgrad::grad(sum(x * x), x, {.create_graph = true});
#endif
}
