// expect: verdict::Function<\s*Twice\s*>::forward_is_not_static
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
#ifdef MISTAKE
    D forward(Context&, D const& x) const { return 2. * x; }
#else
    static D forward(Context&, D const& x) { return 2. * x; }
#endif
    static D backward(Context&, D const& g) { return 2. * g; }
};

int main() { D y = Twice::apply(D({1., 2.})); }
