// expect: verdict::Function<\s*Twice\s*>::backward_takes_a_gradient_of_another_type<xgrad::verdict::output<0>, xgrad::Tensor<float>, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;
#ifdef MISTAKE
using G = xgrad::Tensor<float>;
#else
using G = D;
#endif

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
    static D backward(Context&, G const& g) { return 2. * cast<double>(g); }
};

int main() { D y = Twice::apply(D({1., 2.})); }
