// expect: verdict::Function<\s*Scale\s*>::apply_has_the_wrong_number_of_arguments<xgrad::verdict::given<1>, xgrad::verdict::wanted<2>
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
        return std::tuple(ctx.factor * g, std::nullopt);
    }
};

int main() {
#ifdef MISTAKE
    D y = Scale::apply(D({1., 2.}));
#else
    D y = Scale::apply(D({1., 2.}), 3.);
#endif
}
