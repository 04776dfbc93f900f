// expect: is a number: .*a correction comes after the flag, "?\s*"?var\(x, 0, false, 0\)
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., 2.}, {3., 4.}});
#ifdef MISTAKE
    x.var(0, 0);
#else
    x.var(0, false, 0);
#endif
}
