// expect: an index is a whole number, xg::slice
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const m({{1., 2.}, {3., 4.}});
#ifdef MISTAKE
    return m("all", 1).dim() != 1;
#else
    return m(xt::all(), 1).dim() != 1;
#endif
}
