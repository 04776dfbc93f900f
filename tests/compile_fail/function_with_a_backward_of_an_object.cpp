// expect: verdict::Function<\s*Twice\s*>::backward_is_not_static
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
#ifdef MISTAKE
    D backward(Context&, D const& g) const { return 2. * g; }
#else
    static D backward(Context&, D const& g) { return 2. * g; }
#endif
};

int main() { D y = Twice::apply(D({1., 2.})); }
