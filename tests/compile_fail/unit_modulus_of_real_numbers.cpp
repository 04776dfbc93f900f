// expect: UnitModulus: its elements are complex
#include <xgrad/manifold.hpp>

using D = xgrad::Tensor<double>;

int main() {
#ifdef MISTAKE
    xgrad::UnitModulus().random(D({1., 2.}));
#else
    xgrad::UnitModulus().random(xgrad::zeros<std::complex<double>>({2}));
#endif
}
