// A program of <xgrad/dual.hpp> and nothing else of xgrad has the bodies of all its functions.
#include <xgrad/dual.hpp>

int main() {
    auto const x = xgrad::Dual<double, 1>::variable(2.5, 0);
    // 0.70315664... is digamma(2.5)
    bool const right =
        std::abs(lgamma(x).tangent[0] - 0.7031566406452432) < 1e-15 &&
        std::abs(tgamma(x).tangent[0] - std::tgamma(2.5) * 0.7031566406452432) < 1e-14 &&
        std::abs(val(polygamma(1, x)) - 0.4903577561002348) < 1e-15;
    return right ? 0 : 1;
}
