// expect: what is inside a module must be a module itself
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
    xgrad::nn::Child<xgrad::Tensor<double>> const t(net, "t");
#else
    static_assert(std::is_class_v<xgrad::nn::Child<Net>>);
#endif
}
