// expect: only Tensors of floating point and complex dtype can require gradients
#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::Tensor<std::int64_t> n({1, 2, 3}, xgrad::requires_grad);
#else
    xgrad::Tensor<double> n({1., 2., 3.}, xgrad::requires_grad);
#endif
    return n.dim() != 1;
}
