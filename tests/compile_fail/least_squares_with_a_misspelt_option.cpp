// expect: deleted function.*no_such_option_or_wrong_arguments.*least_squares
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return y * y - 2.; };
#ifdef MISTAKE
    xgrad::least_squares(f, x, {.max_nfv = 9});
#else
    xgrad::least_squares(f, x, {.max_nfev = 9});
#endif
}
