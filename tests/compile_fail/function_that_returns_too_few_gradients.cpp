// expect: verdict::Function<\s*Product\s*>::backward_returns_too_few_gradients<xgrad::verdict::given<1>, xgrad::verdict::wanted<2>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Product : xgrad::Function<Product> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& x, D const& w) {
        ctx.save_for_backward(x, w);
        return x * w;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x, w] = ctx.saved_tensors();
#ifdef MISTAKE
        return g * w;
#else
        return std::tuple(g * w, g * x);
#endif
    }
};

int main() { D y = Product::apply(D({1., 2.}), D({3., 4.})); }
