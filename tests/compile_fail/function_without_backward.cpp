// expect: verdict::Function<\s*Square\s*>::has_no_static_backward_for<xgrad::Context<Square> ?, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Square : xgrad::Function<Square> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x;
    }
#ifndef MISTAKE
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return 2. * x * g;
    }
#endif
};

int main() { D y = Square::apply(D({1., 2.})); }
