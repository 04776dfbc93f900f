// expect: forward of this module cannot be called with these arguments
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
    net(x, "two");
#else
    net(x, 2), any(x);
#endif
}
