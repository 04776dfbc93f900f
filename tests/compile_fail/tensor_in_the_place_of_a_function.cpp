// expect: the first argument is a function, and not a tensor: write \[&\]\(auto const& x\)
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const a({{2., 0.}, {0., 3.}}), b({1., 2.});
#ifdef MISTAKE
    xgrad::least_squares(a, b);
#else
    xgrad::least_squares([&](auto const& x) { return matmul(a, x) - b; }, b);
#endif
}
