// expect: dual numbers in one operation have equally many tangents and one precision at each level
#include <xgrad/dual.hpp>

int main() {
    auto const x = xgrad::Dual<double, 2>::variable(1., 0);
#ifdef MISTAKE
    auto const y = x * xgrad::Dual<double, 3>::variable(2., 1);
#else
    auto const y = x * xgrad::Dual<double, 2>::variable(2., 1);
#endif
    static_cast<void>(y);
}
