// expect: vmap: a module takes the tensors of all examples at once: write xg::on_batch\(net, x\)
#include <xgrad/nn.hpp>
#include <xgrad/vmap.hpp>

int main() {
    xgrad::nn::Linear<double> net(2, 3);
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
#ifdef MISTAKE
    auto const f = [&](auto const& v) { return net(v); };
#else
    auto const f = [&](auto const& v) { return xgrad::on_batch(net, v); };
#endif
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
}
