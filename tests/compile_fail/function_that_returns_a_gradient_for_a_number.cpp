// expect: verdict::Function<\s*Scale\s*>::backward_returns_a_gradient_for_an_argument_that_has_none<xgrad::verdict::argument<1>, double
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Scale : xgrad::Function<Scale> {
    struct Data {
        double factor;
    };
    static D forward(Context& ctx, D const& x, double factor) {
        ctx.factor = factor;
        return factor * x;
    }
    static auto backward(Context& ctx, D const& g) {
#ifdef MISTAKE
        return std::tuple(ctx.factor * g, g);
#else
        return std::tuple(ctx.factor * g, std::nullopt);
#endif
    }
};

int main() { D y = Scale::apply(D({1., 2.}), 3.); }
