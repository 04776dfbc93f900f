// expect: a shape, a list of axes and a list of indices hold integers
#include <xgrad/xgrad.hpp>

int main() {
    double const n = 2.;
#ifdef MISTAKE
    return xgrad::zeros({3, n}).dim() != 2;
#else
    return xgrad::zeros({3, static_cast<int>(n)}).dim() != 2;
#endif
}
