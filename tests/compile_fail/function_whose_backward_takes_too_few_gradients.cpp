// expect: verdict::Function<\s*SinCos\s*>::backward_takes_the_wrong_number_of_gradients<xgrad::verdict::given<1>, xgrad::verdict::wanted<2>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct SinCos : xgrad::Function<SinCos> {
    using Saved = std::tuple<D>;
    static std::tuple<D, D> forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return {sin(x), cos(x)};
    }
#ifdef MISTAKE
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return g * cos(x);
    }
#else
    static D backward(Context& ctx, D const& g, D const& h) {
        auto const [x] = ctx.saved_tensors();
        return g * cos(x) - h * sin(x);
    }
#endif
};

int main() { auto const [s, c] = SinCos::apply(D({1., 2.})); }
