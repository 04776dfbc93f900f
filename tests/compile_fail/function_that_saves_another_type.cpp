// expect: verdict::Function<\s*Square\s*>::save_for_backward_saves_something_else_than_Saved<std::tuple<xgrad::Tensor<double> ?>, std::tuple<xgrad::Tensor<float> ?>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;
#ifdef MISTAKE
using S = xgrad::Tensor<float>;
#else
using S = D;
#endif

struct Square : xgrad::Function<Square> {
    using Saved = std::tuple<S>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x;
    }
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return 2. * cast<double>(x) * g;
    }
};

int main() { D y = Square::apply(D({1., 2.})); }
