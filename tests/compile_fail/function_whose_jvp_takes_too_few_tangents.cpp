// expect: verdict::Function<\s*Product\s*>::has_no_static_jvp_for<xgrad::Context<Product> ?, xgrad::Tensor<double> ?, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Product : xgrad::Function<Product> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& a, D const& b) {
        ctx.save_for_backward(a, b);
        return a * b;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [a, b] = ctx.saved_tensors();
        return std::tuple(g * b, g * a);
    }
#ifdef MISTAKE
    static D jvp(Context& ctx, D const& ta) {
        auto const [a, b] = ctx.saved_tensors();
        return ta * b;
    }
#else
    static D jvp(Context& ctx, D const& ta, D const& tb) {
        auto const [a, b] = ctx.saved_tensors();
        return ta * b + a * tb;
    }
#endif
};

int main() { D y = Product::apply(D({1., 2.}), D({3., 4.})); }
