// expect: backward: a bool is no gradient; to keep the graph write \{\.retain_graph = true\}
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
    xgrad::Tensor<double> y = sum(x * x);
#ifdef MISTAKE
    y.backward(true);
#else
    y.backward({.retain_graph = true});
#endif
}
