// expect: verdict::Function<\s*Scale\s*>::Saved_is_no_tuple_of_tensors<std::tuple<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Scale : xgrad::Function<Scale> {
#ifdef MISTAKE
    using Saved = std::tuple<double>;
#else
    struct Data {
        double factor;
    };
#endif
    static D forward(Context& ctx, D const& x, double factor) {
#ifdef MISTAKE
        ctx.save_for_backward(factor);
#else
        ctx.factor = factor;
#endif
        return factor * x;
    }
    static auto backward(Context& ctx, D const& g) {
#ifdef MISTAKE
        auto const [factor] = ctx.saved_tensors();
        return std::tuple(factor * g, std::nullopt);
#else
        return std::tuple(ctx.factor * g, std::nullopt);
#endif
    }
};

int main() { D y = Scale::apply(D({1., 2.}), 3.); }
