// expect: only Tensors of floating point and complex dtype can require gradients
#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::Tensor<bool> mask({true, false}, true);
#else
    xgrad::Tensor<bool> mask({true, false});
#endif
    return mask.dim() != 1;
}
