// expect: a flag \(keepdims, descending, upper, training\) is true or false, and this is a number: several axes are a list
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., 2.}, {3., 4.}});
#ifdef MISTAKE
    sum(x, 0, 1);
#else
    sum(x, {0, 1});
    sum(x, 0, true);
    sum(x, 0, xgrad::keepdims);
#endif
}
