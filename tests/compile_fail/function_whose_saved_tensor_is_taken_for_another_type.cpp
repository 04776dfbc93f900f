// expect: (use of deleted function|invokes a deleted function|call to deleted)
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Square : xgrad::Function<Square> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x;
    }
    static D backward(Context& ctx, D const& g) {
#ifdef MISTAKE
        xgrad::Tensor<float> const x = std::get<0>(ctx.saved_tensors());
        return 2. * cast<double>(x) * g;
#else
        auto const x = std::get<0>(ctx.saved_tensors());
        return 2. * x * g;
#endif
    }
};

int main() { D y = Square::apply(D({1., 2.})); }
