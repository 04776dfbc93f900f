// expect: verdict::Function<\s*Twice\s*>::forward_takes_a_tensor_of_unknown_type<xgrad::verdict::argument<0>, xgrad::AnyTensor
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
#ifdef MISTAKE
    static D forward(Context&, xgrad::AnyTensor const& x) { return 2. * x.as<double>(); }
#else
    static D forward(Context&, D const& x) { return 2. * x; }
#endif
    static D backward(Context&, D const& g) { return 2. * g; }
};

int main() { D y = Twice::apply(D({3.})); }
