// expect: Parameter: it belongs to a module, which is told first: \{\*this, "name", value\}
#include <xgrad/nn.hpp>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Net : xgrad::nn::Module<Net> {
#ifdef MISTAKE
    xgrad::nn::Parameter<double> w{D({1.})};
#else
    xgrad::nn::Parameter<double> w{*this, "w", D({1.})};
#endif
    D forward(D const& x) const { return w * x; }
};

int main() {
    Net net;
    return net.parameters().size() != 1;
}
