// expect: the module is called with the arguments of the Slot's signature
#include <xgrad/nn.hpp>

using D = xgrad::Tensor<double>;

struct Scale : xgrad::nn::Module<Scale> {
    D forward(D const& x, double by) const { return x * by; }
};

int main() {
#ifdef MISTAKE
    xgrad::nn::Slot<D(D const&)> const slot(Scale{});
#else
    xgrad::nn::Slot<D(D const&, double)> const slot(Scale{});
#endif
}
