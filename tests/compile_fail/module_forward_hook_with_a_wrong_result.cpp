// expect: a hook returns nothing, or the result to go on with
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
    net.register_forward_hook([](Net&, auto const&, auto const&) { return std::string("y"); });
#else
    net.register_forward_hook([](Net&, auto const&, auto const& y) { return y; });
#endif
}
