// expect: only Tensors of floating point and complex dtype can require gradients
#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::Tensor<bool> mask({true, false});
    mask.requires_grad_();
#else
    xgrad::Tensor<float> mask({1.f, 0.f});
    mask.requires_grad_();
#endif
    return mask.dim() != 1;
}
