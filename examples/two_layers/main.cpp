// Two layers of one number each, small enough for paper, and what each kind of backward hook on the
// second one sees and changes.
// ctest:
//
// With x = 0.3, the first layer gives a = 0.3 x + 0.1 = 0.19, the second s = 0.4 a + 0.2 = 0.276
// and y = s^2 = 0.076176; the loss is (y - 1)^2. Backwards:
//
//     dL/dy  = 2 (y - 1)   = -1.847648         grad_output of the second layer
//     dL/ds  = 2 s dL/dy   = -1.019901696      inside of it: the gradient of its bias; times a that
//     of its weight, -0.19378132224 dL/da  = 0.4 dL/ds   = -0.4079606784     grad_input of the
//     second layer; also the gradient of the first one's bias dL/dx  = 0.3 dL/da   = -0.12238820352
//     also the gradient of the first one's weight, which happens to equal x
//
// A full hook stands around the whole module. It sees grad_output and grad_input; twice grad_input
// doubles all that lies before the module, and nothing in it. The hook of old stands on the last
// recorded step alone, the square: it sees dL/ds for grad_input, and twice that doubles the
// module's own gradients, too. A pre-hook comes before the module's pass: twice grad_output doubles
// all.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <xgrad/nn.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
using D = xg::Tensor<double>;
using Gradients = std::vector<xg::AnyTensor>;

namespace {

struct SquaredLinear : nn::Module<SquaredLinear> {
    nn::Child<nn::Linear<double>> linear{*this, "linear", 1, 1};
    D forward(D const& x) {
        D const s = linear(x);
        return square(s);
    }
};
struct Net : nn::Module<Net> {
    nn::Child<nn::Linear<double>> first{*this, "first", 1, 1};
    nn::Child<SquaredLinear> second{*this, "second"};
    Net() {
        load_state_dict({{"first.weight", D({{0.3}})}, {"first.bias", D({0.1})},
            {"second.linear.weight", D({{0.4}})}, {"second.linear.bias", D({0.2})}});
    }
    D forward(D const& x) { return second(first(x)); }
};

double number(xg::AnyTensor const& t) { return t.as<double>().item(); }
Gradients doubled(Gradients const& g) { return {D(2. * g[0].as<double>())}; }

/// Prints a line of gradients, with what a hook saw; true where they are `own` times the true ones
/// in the second layer and `before` times before it.
template <class Register>
bool row(char const* what, Register const& set_hooks, double own, double before) {
    Net net;
    std::optional<double> seen_out, seen_in;
    set_hooks(net.second, [&](SquaredLinear&, Gradients const& in, Gradients const& out) {
        seen_out = number(out[0]), seen_in = number(in[0]);
    });
    D const x({0.3}, xg::requires_grad);
    D const loss = sum(square(net(x) - 1.));
    loss.backward();
    std::printf("%-26s", what);
    if (seen_out && seen_in) std::printf(" %12.9f %13.10f", *seen_out, *seen_in);
    else std::printf(" %12s %13s", "-", "-");
    std::printf(" | %14.11f %12.9f | %14.11f %14.11f %13.10f\n",
        number(net.second.linear.weight.grad()), number(net.second.linear.bias.grad()),
        number(net.first.weight.grad()), x.grad().item(), number(net.first.bias.grad()));
    auto const near = [](double got, double wanted) { return std::abs(got - wanted) < 1e-15; };
    return near(number(net.second.linear.weight.grad()), own * -0.19378132224) &&
           near(number(net.second.linear.bias.grad()), own * -1.019901696) &&
           near(x.grad().item(), before * -0.12238820352) &&
           near(number(net.first.weight.grad()), before * -0.12238820352) &&
           near(number(net.first.bias.grad()), before * -0.4079606784);
}

} // namespace

int main() {
    Net net;
    std::printf("%s\n\n%-26s %12s %13s | %14s %12s | %14s %14s %13s\n", to_string(net).c_str(), "",
        "grad_output", "grad_input", "second.weight", "second.bias", "first.weight", "x",
        "first.bias");
    bool right = row(
        "no hook", [](auto&, auto const&) {}, 1, 1);
    right &= row(
        "full hook", [](auto& m, auto const& look) { m.register_full_backward_hook(look); }, 1, 1);
    right &= row(
        "full hook, doubling",
        [](auto& m, auto const& look) {
            m.register_full_backward_hook(look);
            m.register_full_backward_hook(
                [](auto&, Gradients const& in, Gradients const&) { return doubled(in); });
        },
        1, 2);
    right &= row(
        "pre-hook, doubling",
        [](auto& m, auto const& look) {
            m.register_full_backward_pre_hook(
                [](auto&, Gradients const& out) { return doubled(out); });
            m.register_full_backward_hook(look);
        },
        2, 2);
    right &= row(
        "hook of old", [](auto& m, auto const& look) { m.register_backward_hook(look); }, 1, 1);
    right &= row(
        "hook of old, doubling",
        [](auto& m, auto const& look) {
            m.register_backward_hook(look);
            m.register_backward_hook(
                [](auto&, Gradients const& in, Gradients const&) { return doubled(in); });
        },
        2, 2);
    if (!right) std::fprintf(stderr, "two_layers: a gradient is not what it is on paper\n");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
