// expect: verdict::Function<\s*Twice\s*>::backward_returns_nothing_or_has_an_error_told_above
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
#ifdef MISTAKE
    static void backward(Context&, D const&) {}
#else
    static D backward(Context&, D const& g) { return 2. * g; }
#endif
};

int main() { D y = Twice::apply(D({1., 2.})); }
