// expect: verdict::Function<\s*Square\s*>::has_no_static_forward_for<xgrad::Context<Square> ?, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Square : xgrad::Function<Square> {
    using Saved = std::tuple<D>;
#ifdef MISTAKE
    static D foreward(Context& ctx, D const& x)
#else
    static D forward(Context& ctx, D const& x)
#endif
    {
        ctx.save_for_backward(x);
        return x * x;
    }
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return 2. * x * g;
    }
};

int main() { D y = Square::apply(D({1., 2.})); }
