// expect: verdict::Function<\s*Widen\s*>::backward_returns_a_gradient_of_another_type<xgrad::verdict::argument<0>, xgrad::Tensor<double> ?, xgrad::Tensor<float>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;
using F = xgrad::Tensor<float>;

struct Widen : xgrad::Function<Widen> {
    static D forward(Context&, F const& x) { return cast<double>(x); }
#ifdef MISTAKE
    static auto backward(Context&, D const& g) { return g; }
#else
    static auto backward(Context&, D const& g) { return cast<float>(g); }
#endif
};

int main() { D y = Widen::apply(F({1.f, 2.f})); }
