// expect: verdict::Function<\s*Scale\s*>::Data_is_no_class_that_is_made_without_arguments<Scale::Data>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Scale : xgrad::Function<Scale> {
    struct Data {
        double factor;
#ifdef MISTAKE
        explicit Data(double f) : factor(f) {}
#endif
    };
    static D forward(Context& ctx, D const& x, double factor) {
        ctx.factor = factor;
        return factor * x;
    }
    static auto backward(Context& ctx, D const& g) {
        return std::tuple(ctx.factor * g, std::nullopt);
    }
};

int main() { D y = Scale::apply(D({1., 2.}), 3.); }
