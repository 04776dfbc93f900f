// expect: a hook takes the module, the gradients of its arguments and those of its results
#include <xgrad/nn.hpp>

struct Net : xgrad::nn::Module<Net> {
    xgrad::Tensor<double> forward(xgrad::Tensor<double> const& x, int n) const {
        return x * double(n);
    }
};
struct Any : xgrad::nn::Module<Any> {
    template <class T> T forward(T const& x) const { return x; }
};

int main() {
    Net net;
    Any any;
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    net.register_full_backward_hook([](Net&, xgrad::Tensor<double> const&) {});
#else
    net.register_full_backward_hook(
        [](Net&, std::vector<xgrad::AnyTensor> const&, std::vector<xgrad::AnyTensor> const&) {});
#endif
}
