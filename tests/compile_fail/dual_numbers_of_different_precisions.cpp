// expect: dual numbers in one operation have equally many tangents and one precision at each level
#include <xgrad/dual.hpp>

int main() {
    auto const x = xgrad::Dual<double>::variable(1.);
#ifdef MISTAKE
    auto const y = x + xgrad::Dual<xgrad::Dual<float>>(2.f);
#else
    auto const y = x + xgrad::Dual<xgrad::Dual<double>>(2.);
#endif
    static_cast<void>(y);
}
