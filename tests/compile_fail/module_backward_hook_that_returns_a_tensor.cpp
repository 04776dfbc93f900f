// expect: a hook returns nothing, or the gradients of the arguments to go on with as a std::vector<AnyTensor>
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
    net.register_full_backward_hook([](Net&, auto const& in, auto const&) { return in[0]; });
#else
    net.register_full_backward_hook([](Net&, auto const& in, auto const&) { return in; });
#endif
}
