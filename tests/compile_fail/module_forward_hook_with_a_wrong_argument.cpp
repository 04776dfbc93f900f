// expect: a hook takes the module, the arguments of forward as a std::tuple, and its result
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
    net.register_forward_hook(
        [](Net&, xgrad::Tensor<double> const&, xgrad::Tensor<double> const&) {});
#else
    net.register_forward_hook(
        [](Net&, std::tuple<xgrad::Tensor<double>, int> const&, xgrad::Tensor<double> const&) {});
#endif
}
