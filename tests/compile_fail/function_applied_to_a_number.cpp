// expect: verdict::Function<\s*Twice\s*>::apply_has_an_argument_of_another_type<xgrad::verdict::argument<0>, double, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
    static D backward(Context&, D const& g) { return 2. * g; }
};

int main() {
#ifdef MISTAKE
    D y = Twice::apply(3.);
#else
    D y = Twice::apply(D({3.}));
#endif
}
