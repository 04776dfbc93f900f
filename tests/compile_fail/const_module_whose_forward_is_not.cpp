// expect: forward of this module, which is const here, cannot be called with these arguments: it must be const itself
#include <xgrad/nn/module.hpp>

struct Net : xgrad::nn::Module<Net> {
    xgrad::Tensor<double> forward(xgrad::Tensor<double> const& x) { return 2. * x; }
};

int main() {
    Net net;
    Net const& same = net;
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    same(x);
#else
    static_cast<void>(same), net(x);
#endif
}
