// expect: forward is overloaded or a template, so a hook takes the module and two std::vector<AnyTensor> const&
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
    any.register_forward_hook(
        [](Any&, std::tuple<xgrad::Tensor<double>> const&, xgrad::Tensor<double> const&) {});
#else
    any.register_forward_hook(
        [](Any&, std::vector<xgrad::AnyTensor> const&, std::vector<xgrad::AnyTensor> const&) {});
#endif
}
