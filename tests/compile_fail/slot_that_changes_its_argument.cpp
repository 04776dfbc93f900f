// expect: the module inside takes its arguments by value or const reference
#include <xgrad/nn.hpp>

using D = xgrad::Tensor<double>;

int main() {
#ifdef MISTAKE
    xgrad::nn::Slot<void(D&)> const slot;
#else
    xgrad::nn::Slot<void(D const&)> const slot;
#endif
}
