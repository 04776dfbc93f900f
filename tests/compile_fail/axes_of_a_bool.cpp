// expect: a shape, a list of axes and a list of indices hold integers
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., 2.}, {3., 4.}});
#ifdef MISTAKE
    return sum(x, {true}).dim() != 1;
#else
    return sum(x, {1}, true).dim() != 2;
#endif
}
