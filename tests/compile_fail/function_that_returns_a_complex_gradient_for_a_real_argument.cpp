// expect: verdict::Function<\s*Rotate\s*>::backward_returns_a_complex_gradient_for_a_real_argument<xgrad::verdict::argument<0>, xgrad::Tensor<std::complex<double> ?> ?, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;
using Z = xgrad::Tensor<std::complex<double>>;

struct Rotate : xgrad::Function<Rotate> {
    static constexpr std::complex<double> i{0, 1};
    static Z forward(Context&, D const& x) { return i * x; }
#ifdef MISTAKE
    static auto backward(Context&, Z const& g) { return -i * g; }
#else
    static auto backward(Context&, Z const& g) { return real(-i * g); }
#endif
};

int main() { Z y = Rotate::apply(D({1., 2.})); }
