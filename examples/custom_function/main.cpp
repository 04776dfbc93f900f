// Differentiable functions of one's own: an array-level Linear layer with an optional bias, and an
// elementwise activation, trained to compute the parity of three bits, which no single layer can.
// ctest:

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include <svg.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

/// y = x W^T + b with a gradient for each argument that wants one.
struct Linear : xg::Function<Linear> {
    using Saved = std::tuple<D, D>;

    static D forward(Context& ctx, D const& x, D const& weight, std::optional<D> const& bias) {
        ctx.save_for_backward(x, weight);
        D y = matmul(x, mT(weight));
        if (bias) y += *bias;
        return y;
    }
    static std::tuple<D, D, std::optional<D>> backward(Context& ctx, D const& g) {
        auto const [x, weight] = ctx.saved_tensors();
        D to_x, to_weight;
        std::optional<D> to_bias;
        if (ctx.needs_input_grad(0)) to_x = matmul(g, weight);
        if (ctx.needs_input_grad(1)) to_weight = matmul(mT(g), x);
        if (ctx.needs_input_grad(2)) to_bias = sum(g, {0});
        return {to_x, to_weight, to_bias};
    }
};

/// x / (1 + e^-x): it fuses with whatever stands around it.
struct Swish : xg::Elementwise<xg::R(xg::R)> {
    auto value(auto x) const { return x / (1 + exp(-x)); }
    auto partial(xg::wrt<0>, auto y, auto x) const {
        auto const s = 1 / (1 + exp(-x));
        return y + s * (1 - y);
    }
};

int main() {
    D const bits({{0., 0., 0.}, {0., 0., 1.}, {0., 1., 0.}, {0., 1., 1.}, {1., 0., 0.},
        {1., 0., 1.}, {1., 1., 0.}, {1., 1., 1.}});
    D const parity({{0.}, {1.}, {1.}, {0.}, {1.}, {0.}, {0.}, {1.}});

    xg::manual_seed(2);
    D inner(xg::randn<double>({8, 3})), shift(xg::zeros<double>({8})),
        outer(xg::randn<double>({1, 8}) * 0.5);
    std::vector<D> const parameters{inner, shift, outer};
    for (auto p : parameters) p.requires_grad_();

    auto const output = [&] {
        return Linear::apply(
            xg::apply<Swish>(Linear::apply(bits, inner, shift)), outer, std::nullopt);
    };
    std::vector<double> steps, losses;
    for (int step = 0; step <= 2000; ++step) {
        D const loss = mean(square(output() - parity));
        if (step % 10 == 0) {
            steps.push_back(step);
            losses.push_back(loss.item());
        }
        loss.backward();
        xg::NoGradGuard const off;
        for (auto p : parameters) {
            p -= 0.2 * p.grad();
            p.zero_grad();
        }
    }

    examples::Series progress{"error", {}};
    for (std::size_t i = 0; i < steps.size(); ++i)
        progress.points.push_back({steps[i], std::log10(losses[i])});
    examples::write_svg("training.svg",
        {"Parity of three bits", "step", "log10 of the mean squared error", {progress}});

    D const y = output().detach();
    bool right = true;
    for (std::ptrdiff_t i = 0; i < 8; ++i) {
        std::printf("%g %g %g -> %7.4f\n", bits(i, 0).item(), bits(i, 1).item(), bits(i, 2).item(),
            y(i, 0).item());
        right &= std::abs(y(i, 0).item() - parity(i, 0).item()) < 0.1;
    }
    std::printf("mean squared error %.1e after %g steps, all bits %s\n", losses.back(),
        steps.back(), right ? "right" : "WRONG");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
