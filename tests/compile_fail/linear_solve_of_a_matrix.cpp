// expect: the first argument is a function; of a matrix A, solve\(A, b\)
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const a({{2., 0.}, {0., 3.}}), b({1., 2.});
#ifdef MISTAKE
    xgrad::linear_solve(a, b);
#else
    xgrad::linear_solve([&](auto const& x) { return matmul(a, x); }, b);
#endif
}
