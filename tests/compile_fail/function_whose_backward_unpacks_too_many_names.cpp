// expect: (?s)\A(?!.*Function<\s*\w+\s*>::(?:has_no_|backward_(?!returns_nothing_or_has_an_error_told_above)))(?!.*error:.*error:.*error:)(?=.*(?:2 names (?:were )?provided|decomposes into 1 element))
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Square : xgrad::Function<Square> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x;
    }
    static auto backward(Context& ctx, D const& g) {
#ifdef MISTAKE
        auto const [x, y] = ctx.saved_tensors();
#else
        auto const [x] = ctx.saved_tensors();
#endif
        return D(2. * x * g);
    }
};

int main() { D y = Square::apply(D({1., 2.})); }
