// expect: verdict::Function<\s*Twice\s*>::jvp_returns_something_else_than_a_tangent_for_each_result<.*Tensor<float>.*Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
    static D backward(Context&, D const& g) { return 2. * g; }
#ifdef MISTAKE
    static xgrad::Tensor<float> jvp(Context&, D const& t) { return cast<float>(2. * t); }
#else
    static auto jvp(Context&, D const& t) { return 2. * t; }
#endif
};

int main() { D y = Twice::apply(D({1., 2.})); }
