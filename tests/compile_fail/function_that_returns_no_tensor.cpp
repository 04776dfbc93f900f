// expect: verdict::Function<\s*Total\s*>::forward_returns_no_tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Total : xgrad::Function<Total> {
#ifdef MISTAKE
    static double forward(Context&, D const& x) { return sum(x).item(); }
#else
    static D forward(Context&, D const& x) { return sum(x); }
#endif
    static D backward(Context&, D const& g) { return g.expand({2}); }
};

int main() { auto y = Total::apply(D({1., 2.})); }
